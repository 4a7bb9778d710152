/// \file
/// The awaiter of timers.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/executor.hpp>
#include <takt/fwd.hpp>
#include <takt/sched/detail/timer_driver.hpp>
#include <takt/sched/due_time.hpp>
#include <takt/task/detail/awaiter_base.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The state of a coroutine that waits for a timer. A stop request may arrive before the timer is
/// armed, while the task is still being added and cannot be cancelled. The gate keeps the request
/// until then.
class awaited_timer final : public delayed_state<void, resume_point> {
 public:
  explicit awaited_timer(const future_options& options)
      : delayed_state<void, resume_point>(options, resume_point()) {}

  /// Cancels the wait if the timer is armed. Otherwise open_gate() cancels it.
  void request_cancel() noexcept {
    // acq_rel: orders the requester and the arming thread, whichever comes second
    if (gate_.exchange(gate::stopped, std::memory_order_acq_rel) == gate::armed) cancel();
  }
  /// Called when the timer is armed. Cancels the wait if stop was requested before.
  void open_gate() noexcept {
    auto expected = gate::closed;
    // acq_rel, acquire: as above
    if (!gate_.compare_exchange_strong(expected, gate::armed, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      cancel();
    }
  }
  [[nodiscard]] bool is_stopped() const noexcept {
    return gate_.load(std::memory_order_acquire) == gate::stopped;  // acquire: as above
  }

 private:
  enum class gate : std::uint8_t { closed, armed, stopped };

  sync::atomic<gate> gate_{gate::closed};
};

/// Awaiter of `co_await timers.after(d)`.
class [[nodiscard]] timer_awaiter final : public awaiter_base<void> {
 public:
  timer_awaiter(scheduler& timers, due_time due, sync::stop_token stop) noexcept
      : timers_(timers), due_(due), stop_(std::move(stop)) {}
  timer_awaiter(const timer_awaiter&) = delete;
  timer_awaiter& operator=(const timer_awaiter&) = delete;
  ~timer_awaiter();

  /// As that of resume_on(). \return false
  [[nodiscard]] bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<> waiting);
  void await_resume() {
    on_stop_.reset();  // first: it uses the wait
    awaiter_base::await_resume();
  }

 private:
  // The awaiter keeps the wait alive until the callback has been destroyed, or resumes the
  // coroutine.
  struct cancel_wait {
    awaited_timer& wait;
    void operator()() const noexcept { wait.request_cancel(); }
  };

  scheduler& timers_;
  const due_time due_;
  const sync::stop_token stop_;
  std::optional<sync::stop_callback<cancel_wait>> on_stop_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
