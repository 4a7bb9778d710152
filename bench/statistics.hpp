/// \file
/// The few statistics that the harness reports.
#pragma once

#include <optional>
#include <vector>

#include "harness.hpp"

namespace bench {

/// The value that a share of `part` (0 to 1) of the samples does not exceed, interpolated. There is
/// at least one sample, as for the next two.
double quantile(std::vector<double> samples, double part);

double median(std::vector<double> samples);

/// The minimum where lower is better, else the maximum.
double best(const std::vector<double>& samples, better direction);

struct spread {
  double low;  ///< first quartile
  double median;
  double high;  ///< third quartile

  bool operator==(const spread&) const = default;
};

/// How many times `who` is ahead of `of` (below 1: behind). The ratio is taken within each round,
/// between runs that were neighbours in time, so that a drift of the machine cancels out; the
/// median over the rounds then drops those in which only one of the two was disturbed. Empty if
/// there is nothing to divide: no samples, or one that is not above 0.
std::optional<spread> paired_ratio(const std::vector<double>& who, const std::vector<double>& of,
                                   better direction);

}  // namespace bench
