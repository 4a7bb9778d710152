/// What an executor is given by who has a queue of its own: serial_executor and log_service.
#pragma once

#include <utility>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Calls run_drain() of its owner, which is counted, or drain_dropped() if the executor drops it:
/// exactly one of them, once, and the owner lives until it has returned.
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
  Owner* of_;  // null: it was run, or has moved on
};

}  // namespace takt::inline TAKT_ABI
