#include <atomic>

#include "observe.hpp"

namespace bench {
namespace {

// No histogram: the lower bound of a record's cost on one thread.
class bare_atomic {
 public:
  void record(std::chrono::nanoseconds /*duration*/) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t count() const { return count_.load(); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace

numbers observe_bare_atomic(const request& asked) { return observe_recording<bare_atomic>(asked); }

}  // namespace bench
