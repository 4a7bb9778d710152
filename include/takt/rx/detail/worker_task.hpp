/// \file
/// The state of a worker's task.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/sched/detail/timer_driver.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

class worker_core;

/// The additional state of a delayed or periodic task.
struct worker_task_timing {
  // Belongs to who schedules the task, and then to who runs it.
  clock::time_point due{};
  period_state periods;

  // Atomic. Written by who runs it.
  sync::atomic<std::uint64_t> runs{0};
  sync::atomic<std::uint64_t> missed{0};

  mutex mu;
  timer_handle timer TAKT_GUARDED_BY(mu);           // of the last wait
  std::uint64_t timer_run TAKT_GUARDED_BY(mu) = 0;  // after how many runs that began
  parker* sleeper TAKT_GUARDED_BY(mu) = nullptr;    // of a thread that waits for it to be due
};

/// A task of a worker, without its callable. Its phases are described in task_subscription.cpp.
/// There may be millions of tasks, so rarely needed state is kept in worker_task_timing.
///
/// **Thread safety.** cancel() and the members of subscription_core may be called from any thread;
/// the comments of the other members name the threads that use them.
class worker_task : public subscription_core, public list_node<struct link_of_worker> {
 public:
  /// Ends it, and tells what that did.
  cancel_result cancel();
  /// The same, asks it to stop, and waits for the end of its body, the deadline or the stop
  /// request.
  cancel_result cancel_and_join(clock::time_point deadline, const sync::stop_token& stop);
  /// Whether it has run for the last time, or will never run, and its callable is gone. Until then
  /// its worker's clock is there.
  [[nodiscard]] bool has_ended() const noexcept;
  [[nodiscard]] clock::time_point now() const noexcept;
  [[nodiscard]] std::uint64_t run_count() const noexcept;
  [[nodiscard]] std::uint64_t missed_count() const noexcept;

 protected:
  worker_task() = default;
  ~worker_task() override;

  virtual void call() = 0;
  virtual void drop_closure() noexcept = 0;
  virtual void request_stop() noexcept {}

 private:
  friend class worker_core;
  enum class phase : std::uint8_t { waiting, running, cancelled, ending, prevented, ended };
  enum class submission : std::uint8_t { over, under_way, dropped };
  enum class list : std::uint8_t { none, tracked, cancelled };

  /// What came of a run.
  struct result {
    std::exception_ptr error;  ///< What it threw; null if nothing.
    bool again = false;        ///< It is to run once more, when it is due.
  };

  void on_unsubscribe() override;
  cancel_result end_early() noexcept;
  [[nodiscard]] bool is_ending() const noexcept;
  [[nodiscard]] bool begin() noexcept;
  [[nodiscard]] result run();
  void keep_timer(timer_handle timer, std::uint64_t run) noexcept;
  void wait_until_due() noexcept;

  // Constant once it is scheduled.
  worker_core* worker_ = nullptr;               // retained
  std::unique_ptr<worker_task_timing> timing_;  // null: it has no time to wait for
  std::uint64_t number_ = 0;  // its own, if it is tracked; or of the last one that is
  bool periodic_ = false;
  bool tracked_ = false;  // by its worker's list, until it closes; else by its strand's queue

  // Guarded by the worker's lock.
  list in_ = list::none;

  // Atomic. Written by who runs it and who cancels it.
  sync::atomic<phase> phase_{phase::waiting};
  // Atomic. Written by who makes it ending.
  sync::atomic<sync::thread::id> ender_{};
  // Atomic. Written by who schedules it, and who drops it meanwhile.
  sync::atomic<submission> submission_{submission::over};

  // Belongs to who runs it; also read by who cancels it while it runs.
  sync::thread::id runner_;
};

/// A task of a worker, with its callable.
template <class F, bool Periodic>
class worker_task_of final : public worker_task {
  using called = std::conditional_t<Periodic, F&, F>;
  static constexpr bool with_token = takes_stop_token<called>;

 public:
  template <class G>
  worker_task_of(std::in_place_t made_of, G&& f) : call_(made_of, std::forward<G>(f)) {}

 private:
  void call() override {
    if constexpr (Periodic && with_token) {
      static_cast<void>(std::invoke(*call_, stop_.get_token()));
    } else if constexpr (Periodic) {
      static_cast<void>(std::invoke(*call_));
    } else if constexpr (with_token) {
      static_cast<void>(
          std::invoke(static_cast<one_shot<F, sync::stop_token>>(*call_), stop_.get_token()));
    } else {
      static_cast<void>(std::invoke(static_cast<one_shot<F>>(*call_)));
    }
  }
  void drop_closure() noexcept override { call_.reset(); }
  void request_stop() noexcept override {
    if constexpr (with_token) stop_.request_stop();
  }

  struct no_source {};
  [[no_unique_address]] std::conditional_t<with_token, sync::stop_source, no_source> stop_;
  std::optional<F> call_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
