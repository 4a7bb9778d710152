#include <takt/observe/histogram.hpp>

#include <charconv>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

namespace takt::inline TAKT_ABI {

namespace {

// The shortest text that reads back as this number; std::to_string rounds 100.0000001 to 100.
std::string to_text(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

}  // namespace

std::uint64_t histogram_snapshot::count() const noexcept {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::chrono::nanoseconds histogram_snapshot::min() const noexcept { return at_rank(1); }

std::chrono::nanoseconds histogram_snapshot::max() const noexcept { return at_rank(count()); }

std::chrono::nanoseconds histogram_snapshot::mean() const noexcept {
  // In double: a sum of nanoseconds can overflow every integer type.
  double sum = 0;
  double number = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    const auto here = static_cast<double>(counts_[i]);
    sum += here * static_cast<double>(middle_of(i));
    number += here;
  }
  return std::chrono::nanoseconds(number == 0 ? 0 : std::llround(sum / number));
}

std::chrono::nanoseconds histogram_snapshot::percentile(double p) const {
  if (!(p >= 0 && p <= 100)) {  // true for NaN, too
    throw std::invalid_argument("takt::histogram_snapshot::percentile: " + to_text(p) +
                                " is not between 0 and 100");
  }
  // 99.9 is not exact in double, and the ceiling of 999.0000000000001 is one rank too high.
  constexpr double rounding = 0x1p-50;
  const double rank = p / 100 * static_cast<double>(count());
  return at_rank(static_cast<std::uint64_t>(std::ceil(rank - rank * rounding)));
}

histogram_snapshot& histogram_snapshot::operator+=(const histogram_snapshot& other) noexcept {
  for (std::size_t i = 0; i < bucket_count; ++i) counts_[i] += other.counts_[i];
  return *this;
}

std::chrono::nanoseconds histogram_snapshot::at_rank(std::uint64_t rank) const noexcept {
  std::uint64_t passed = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < bucket_count; ++i) {
    if (counts_[i] == 0) continue;
    last = i;
    passed += counts_[i];
    if (passed >= rank) break;
  }
  return std::chrono::nanoseconds(middle_of(last));
}

histogram_snapshot histogram::snapshot() const noexcept {
  histogram_snapshot seen;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    // relaxed: buckets are independent; coherence alone keeps each count from decreasing
    seen.counts_[i] = counts_[i].load(std::memory_order_relaxed);
  }
  return seen;
}

}  // namespace takt::inline TAKT_ABI
