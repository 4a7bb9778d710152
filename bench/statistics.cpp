#include "statistics.hpp"

#include <algorithm>

namespace bench {

double quantile(std::vector<double> samples, double part) {
  std::ranges::sort(samples);
  const double position = part * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  const double weight = position - static_cast<double>(below);
  return samples[below] + weight * (samples[above] - samples[below]);
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

double best(const std::vector<double>& samples, better direction) {
  const auto [low, high] = std::ranges::minmax(samples);
  return direction == better::lower ? low : high;
}

std::optional<spread> paired_ratio(const std::vector<double>& subject,
                                   const std::vector<double>& of, better direction) {
  const auto not_positive = [](double sample) { return sample <= 0; };
  if (subject.empty() || subject.size() != of.size() ||
      std::ranges::any_of(subject, not_positive) || std::ranges::any_of(of, not_positive)) {
    return std::nullopt;
  }
  std::vector<double> ratios;
  for (std::size_t round = 0; round < subject.size(); ++round) {
    ratios.push_back(direction == better::lower ? of[round] / subject[round]
                                                : subject[round] / of[round]);
  }
  return spread{quantile(ratios, 0.25), median(ratios), quantile(ratios, 0.75)};
}

}  // namespace bench
