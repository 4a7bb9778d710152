#include <mutex>

#include <algorithm>
#include <array>
#include <bit>

#include "observe.hpp"

namespace bench {
namespace {

// Powers of two under a lock, a quick implementation with an error of up to 100 %.
class mutex_histogram {
 public:
  void record(std::chrono::nanoseconds duration) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
    const std::lock_guard lock(mutex_);
    ++counts_[static_cast<std::size_t>(std::bit_width(value))];
    ++count_;
    longest_ = std::max(longest_, duration);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::mutex mutex_;
  std::array<std::uint64_t, 65> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds longest_{0};
};

}  // namespace

numbers observe_mutex(const request& asked) { return observe_recording<mutex_histogram>(asked); }

}  // namespace bench
