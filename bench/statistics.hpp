/// \file
/// The statistics that the harness reports.
#pragma once

#include <optional>
#include <vector>

#include "harness.hpp"

namespace bench {

/// Returns the quantile `part` (0 to 1) of the samples, interpolated. Requires at least one sample,
/// as do the next two functions.
double quantile(std::vector<double> samples, double part);

double median(std::vector<double> samples);

/// The minimum where lower is better, otherwise the maximum.
double best(const std::vector<double>& samples, better direction);

struct spread {
  double low;  ///< first quartile
  double median;
  double high;  ///< third quartile

  bool operator==(const spread&) const = default;
};

/// Factor by which `subject` is ahead of `of` (below 1: behind). The ratio is computed within each
/// round, between runs that were close in time, so that drift of the machine cancels out; the
/// median over the rounds then ignores rounds in which only one of the two was disturbed. Empty if
/// no ratio is defined: no samples, or a sample that is not above 0.
std::optional<spread> paired_ratio(const std::vector<double>& subject,
                                   const std::vector<double>& of, better direction);

}  // namespace bench
