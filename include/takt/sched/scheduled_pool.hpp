/// \file
/// Threads that run tasks now, later, and again and again.
#pragma once

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/base/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_options.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {

/// What a pool that is shut down still does with what waits for its time.
struct after_shutdown {
  /// Whether tasks that run once are waited for and run. If not, they are cancelled, except those
  /// that are due already.
  bool delayed = true;
  /// Whether periodic tasks go on; the pool then ends when they are cancelled.
  bool periodic = false;
};

/// How a scheduled_pool is made.
struct scheduled_pool_options {
  /// As many threads there are, once there was work for them. 0: one, while something waits.
  std::size_t core = default_pool_size();
  /// How long a thread waits for work before it ends, if core is 0 or core_time_out is set. The
  /// last one stays while something waits for its time.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(60);
  bool core_time_out = false;

  after_shutdown keep{};  ///< What goes on after shutdown().
  missed_runs missed{};   ///< What periodic tasks do when they are behind.

  /// As in thread_pool_options.
  std::string name = "takt";
  thread_options thread{};
  bool resizable = true;

  /// As in thread_pool_options; for a periodic task, around each run.
  std::function<void(const task&)> before{};
  std::function<void(const task&, const std::exception_ptr&)> after{};
  std::function<void()> terminated{};
  /// Given each task, or each run of a periodic one, when its turn has come; what it returns is run
  /// instead, on the same thread: something around the task, or something else. If it throws, or
  /// drops the task, that does not run.
  std::function<task(task)> decorate{};

  const clock* time = &steady;                ///< Of all deadlines. Outlives the pool.
  const unhandled_hook* unhandled = &strict;  ///< Outlives the pool and its futures.
  task_observer* observer = nullptr;          ///< Told of everything, if given. Outlives the pool.
};

/// What can be said of a task that is run once, later.
struct timer_options {
  task_name name{};
  /// How much later it may be, so that it shares a wake-up with others.
  std::chrono::nanoseconds slack{0};
};

/// What can be said of a periodic task.
struct periodic_options {
  task_name name{};
  /// As in timer_options, for each run.
  std::chrono::nanoseconds slack{0};
  /// If it is behind; empty: as the pool's options say.
  std::optional<missed_runs> missed{};
};

/// A moment: so long after now, or a time of takt::clock. Times of other clocks do not compile.
class when {
 public:
  template <class Rep, class Period>
  when(std::chrono::duration<Rep, Period> delay)  // NOLINT(google-explicit-constructor)
      : delay_(to_nanoseconds(delay)) {}
  when(clock::time_point time) noexcept  // NOLINT(google-explicit-constructor)
      : time_(time), absolute_(true) {}

  /// By that clock.
  [[nodiscard]] clock::time_point on(const clock& c) const noexcept {
    if (absolute_) return time_;
    return deadline_after(c.now(), std::max(delay_, std::chrono::nanoseconds(0)));
  }

 private:
  std::chrono::nanoseconds delay_{0};
  clock::time_point time_{};
  bool absolute_ = false;
};

/// What `co_await pool.after(d)` waits with.
class [[nodiscard]] timer_awaiter final : private continuation {
 public:
  timer_awaiter(scheduled_pool& pool, when due, sync::stop_token stop) noexcept
      : pool_(pool), due_(due), stop_(std::move(stop)) {}
  timer_awaiter(const timer_awaiter&) = delete;
  timer_awaiter& operator=(const timer_awaiter&) = delete;
  ~timer_awaiter();

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> waiting);
  void await_resume() { arrival_.get(); }

 private:
  struct cancel_arrival {
    timer_awaiter& self;
    void operator()() const noexcept { self.arrival_.cancel(); }
  };

  scheduled_pool& pool_;
  const when due_;
  const sync::stop_token stop_;
  scheduled_future<void> arrival_;
  std::optional<sync::stop_callback<cancel_arrival>> on_stop_;  // last: it uses the rest
};

/// Runs tasks on a set of threads: at once, at a time, or again and again. It is a thread_pool with
/// an unbounded queue that also knows the time, and what java.util.concurrent calls
/// ScheduledThreadPoolExecutor.
///
/// \code
/// takt::scheduled_pool pool{{.core = 4, .name = "work"}};
///
/// pool.execute([] { step(); });                                     // now, without a future
/// takt::future<int> sum = pool.submit([] { return 40 + 2; });       // now
/// auto guard  = pool.execute(30s, [] { drop_connection(); });       // later, without a future
/// auto report = pool.schedule(5s, [] { return make_report(); });    // later
/// auto poll   = pool.schedule_at_fixed_rate(0ms, 10ms, [] { read_sensor(); });
/// auto sync   = pool.schedule_with_fixed_delay(1s, 1min, [](std::stop_token stop) { ... });
///
/// guard.reschedule(30s);
/// guard.cancel();                                                   // prevented, running or done
/// poll.cancel_and_join();
/// co_await pool.after(10ms);                                        // goes on on the pool
///
/// pool.shutdown();                                                  // what waits is still run
/// if (!pool.await_termination(5s)) save(pool.shutdown_now());
/// \endcode
///
/// **When** is a duration, from now on, or a `clock::time_point`. Less than now is now; nothing is
/// early. `never`, and any duration beyond counting, is never.
///
/// **Order.** Tasks begin in the order of their deadlines, and of equal ones in the order of their
/// submission, where a periodic one keeps its turn; for a task without a delay that is when it was
/// submitted. (If the two are equal to the nanosecond, what was delayed goes first.)
///
/// **Periodic tasks.** At a fixed rate: due at first, first + period, first + 2 periods and so on;
/// if it is behind, see missed_runs. With a fixed delay: due that long after the last run has
/// ended. Runs of one task do not overlap; each happens before the next. The series ends when it is
/// cancelled or when the body throws, which is what its future then throws; its future never has a
/// value, but by a task that shutdown_now() gave back.
///
/// **Cancelling**, by the handle or the future, takes the task out at once.
///
/// **Waiting.** While nothing is due, one idle thread waits for the next deadline, the others just
/// for work. An idle pool uses no CPU and wakes for nothing but a deadline. On Linux its threads
/// have no timer slack: a wait within a task ends as sharply.
///
/// **Errors**, **waiting for futures** within tasks, **thread safety**: as for thread_pool.
///
/// **Shutdown.** shutdown(): takes no more; what is queued is run, and what waits for its time as
/// `keep` says: by default delayed tasks are waited for, and periodic ones cancelled, one that runs
/// when it has ended. shutdown_now(): gives back all that has not begun, periodic tasks included,
/// with their deadlines; what runs is asked to stop, and does not run again. Running one that was
/// given back fulfils its future; of a periodic one that is the last run. Coroutines that wait are
/// not given back, but see takt::cancelled. The destructor cancels all that, and never waits for a
/// deadline.
///
/// **Cost**: one lock, and O(log n) for n delayed tasks. execute(when, what) of a callable of up to
/// 32 bytes does not allocate by itself once there were as many before, schedule() once.
class scheduled_pool : public executor_interface<scheduled_pool>,
                       public lifecycle_interface<scheduled_pool> {
 public:
  using options = scheduled_pool_options;

  /// One thread, that cannot be made more: tasks run one after the other.
  [[nodiscard]] static options single();

  /// \throws std::invalid_argument if keep_alive is negative, or 0 while threads are to time out;
  /// if time or unhandled is null.
  explicit scheduled_pool(options how = {});
  ~scheduled_pool();
  scheduled_pool(const scheduled_pool&) = delete;
  scheduled_pool& operator=(const scheduled_pool&) = delete;

  /// Has a task run as soon as a thread is free. \throws takt::rejected if the pool is shut down or
  /// has no thread; std::invalid_argument if the task is empty; std::bad_alloc. If it throws, the
  /// task is not run. The same is true of all below.
  void execute(task t);
  /// Has a task run at some time. Without a future: what it throws is uncaught.
  timer_handle execute(when due, task t, const timer_options& more = {});

  using executor_interface<scheduled_pool>::schedule;

  /// Has `f` run at some time. \return the future of its result, and a handle.
  template <class F>
    requires(takes_stop_token<std::decay_t<F>> || callable_once<std::decay_t<F>>)
  auto schedule(when due, F&& f, const timer_options& more = {}) {
    using result = typename task_result<std::decay_t<F>>::type;
    using state = delayed_state<result, std::decay_t<F>>;
    require_callable(f);
    state_ref<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<result> filled{state_ref<future_state<result>>(made.get())};
    timer_place& place = made->place;
    timer_handle handle = add(due.on(time()), std::move(made), more, place, nullptr);
    return scheduled_future<result>(std::move(filled), std::move(handle));
  }

  /// Has `f` run at `first`, and then every `period`, whenever the last run has ended.
  /// \throws std::invalid_argument also if the period is not above 0.
  template <class Rep, class Period, class F>
    requires(takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_at_fixed_rate(when first, std::chrono::duration<Rep, Period> period,
                                         F&& f, const periodic_options& more = {}) {
    return add_periodic(first, to_nanoseconds(period), false, std::forward<F>(f), more);
  }

  /// Has `f` run at `first`, and then again `delay` after each run has ended.
  /// \throws std::invalid_argument also if the delay is not above 0.
  template <class Rep, class Period, class F>
    requires(takes_stop_token<std::decay_t<F>&> || std::is_invocable_v<std::decay_t<F>&>)
  periodic_future schedule_with_fixed_delay(when first, std::chrono::duration<Rep, Period> delay,
                                            F&& f, const periodic_options& more = {}) {
    return add_periodic(first, to_nanoseconds(delay), true, std::forward<F>(f), more);
  }

  /// `co_await pool.after(10ms)`: the coroutine goes on on the pool, that long from now, or at that
  /// time. \throws takt::rejected from the co_await if the pool takes no more; takt::cancelled,
  /// wherever that happens, if stop is requested or the pool is stopped first.
  ///
  /// If the frame is destroyed while it is suspended, the timer is cancelled; who destroys it has
  /// to know, as with any coroutine, that it is not being resumed at that moment.
  [[nodiscard]] timer_awaiter after(when delay, sync::stop_token stop = {}) noexcept {
    return {*this, delay, std::move(stop)};
  }
  [[nodiscard]] timer_awaiter at(clock::time_point time, sync::stop_token stop = {}) noexcept {
    return {*this, time, std::move(stop)};
  }

  /// Takes no more work; see above.
  void shutdown() noexcept;
  /// Takes no more work, asks what runs to stop, and gives back what has not begun: first what was
  /// queued, in order, then what waited for its time, in no order. Those that were cancelled are
  /// not among them.
  [[nodiscard]] task_list shutdown_now() noexcept;
  /// As shutdown_now(), but what has not begun is cancelled.
  void shutdown_and_cancel() noexcept;

  /// Changes what goes on after shutdown. If that has been, takes effect at once, as far as it
  /// means to cancel.
  void keep_after_shutdown(after_shutdown what) noexcept;
  [[nodiscard]] after_shutdown kept_after_shutdown() const noexcept;

  /// Starts threads in advance, up to `core`. \return how many.
  std::size_t prestart(std::size_t at_most = unbounded);

  /// Changes the number of threads: those beyond it end when they have no task; if it grows,
  /// threads are started for what is queued. \throws std::logic_error if not resizable.
  void resize(std::size_t core);

  /// What it is doing. Exact when nothing happens; counts never exceed what has happened.
  [[nodiscard]] pool_statistics statistics() const;
  [[nodiscard]] std::size_t core() const;

  /// For executor_interface and lifecycle_interface.
  [[nodiscard]] task_options future_options() const noexcept;
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  template <class T, class F>
  friend class retry_state;

  template <class F>
  static void require_callable(const F& f) {
    if constexpr (can_be_null<std::decay_t<F>> && !std::is_function_v<F>) {
      if (f == nullptr) {
        throw std::invalid_argument("takt::scheduled_pool: the callable is empty");
      }
    }
  }

  template <class F>
  periodic_future add_periodic(when first, std::chrono::nanoseconds period, bool after_end, F&& f,
                               const periodic_options& more) {
    using state = periodic_state<std::decay_t<F>>;
    require_callable(f);
    check_period(period);
    state_ref<state> made(new state(future_options(), std::forward<F>(f)));
    made->retain();
    future<void> filled{state_ref<future_state<void>>(made.get())};
    period_state& periods = made->periods;
    periods.period = period;
    periods.after_end = after_end;
    periods.missed = more.missed.value_or(missed_);
    timer_place& place = made->place;
    timer_handle handle = add(first.on(time()), std::move(made),
                              {.name = more.name, .slack = more.slack}, place, &periods);
    return {std::move(filled), std::move(handle), periods};
  }

  template <class State>
  timer_handle add(clock::time_point due, state_ref<State> state, const timer_options& more,
                   timer_place& place, period_state* periods) {
    state_ref<future_core> kept(state.share().detach());
    task t(state_ref<future_core>(state.detach()), task_attributes{.name = more.name},
           periods != nullptr);
    return {add(due, std::move(t), more.slack, &place, periods), std::move(kept)};
  }

  static void check_period(std::chrono::nanoseconds period);
  [[nodiscard]] const clock& time() const noexcept;
  timer_place add(clock::time_point due, task t, std::chrono::nanoseconds slack, timer_place* place,
                  period_state* periods);

  pool_core* core_;      // counted: each worker has a reference, too
  delay_queue* delays_;  // kept by core_
  missed_runs missed_;
};

}  // namespace takt::inline TAKT_ABI
