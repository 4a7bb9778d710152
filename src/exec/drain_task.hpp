/// The task by which a serial_executor or a log_service drains its queue on an executor.
#pragma once

#include <utility>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Calls the owner's run_drain() when it runs, or drain_dropped() if the executor destroys it
/// unrun: exactly one of them, once. Holds a reference to the owner until that call has returned.
template <class Owner>
class drain_task {
 public:
  explicit drain_task(Owner& of) noexcept : of_(&of) { of.retain(); }
  drain_task(drain_task&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  drain_task& operator=(drain_task&&) = delete;
  ~drain_task() {
    if (of_ == nullptr) return;
    of_->drain_dropped();
    of_->release();
  }
  void operator()() noexcept {
    Owner* const of = std::exchange(of_, nullptr);
    of->run_drain();
    of->release();
  }

 private:
  Owner* of_;  // null after it was run or moved from
};

}  // namespace takt::inline TAKT_ABI
