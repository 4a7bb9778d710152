// A timer is in one of these phases:
//
//   free      nobody has its place
//   armed     it waits; its task is in the place
//   paused    it waits, and its time stands still
//   running   a series whose run is with its executor: its task is there
//   ended     it has no task; the place is there for its handles. If it was a handle that has
//             cancelled it, that is a phase of its own, for counting
//
//   free    -> armed            add()
//   free    -> running          add(), of a series that is due at once
//   armed   -> ended            cancel(); take(): it is due, or collected in the end
//   armed   -> running          fire(), of a series
//   armed   <-> paused          pause(); resume(), reschedule()
//   paused  -> ended            cancel(), take()
//   running -> armed, paused    end_run(), if it is to run again; back, if it is closed then
//   running -> ended            end_run() otherwise, drop_run()
//   ended   -> free             who ends it without handles, or lets go of the last one
//
// Invariants
//   1. Who has locked a timer may change all of it. Without the lock: the number of handles changes
//      by adding; cancel() makes an armed or paused one ended, and has its task then: it is the
//      task's end. So each task comes to one end.
//   2. While a timer has handles, its place is not given back. Handles come from handles; so if an
//      ended one has a single handle, nobody else can come to it.
//   3. An armed timer is in the inbox; or order_ has it, with a key that is not after its deadline;
//      or a thread is about to add it: who armed it or made it earlier, or the timer thread, that
//      has just taken it out of order_. To make it later needs nothing: when its former time comes,
//      the timer thread finds that it is not due. order_ and the inbox may name places that have no
//      armed timer, or another one: nothing comes of it.
//   4. Timers stay in the inbox until one of them may be due, or it is full: what is cancelled
//      before that is never sorted. No timer in the inbox is due before least_, unless who has
//      added it is about to lower that. Afterwards he looks at attention_: if the timer thread
//      sleeps beyond the deadline, he wakes it. It sets attention_ before it looks at least_ for
//      the last time. Who takes in the inbox raises least_ first. All of that is seq_cst, see
//      timer_inbox. While the timer thread is awake, attention_ is the least number.
//   5. Who arms a timer looks at stage_ afterwards, and takes it back if that is not open, unless
//      somebody else has it by then. Who closes it sets stage_ first and takes in the inbox then,
//      with the gaps that it has. So a timer is rejected to its caller, or seen to.
//   6. mu_ is taken before a timer's lock, and never while one is held.
//   7. What is due for an executor that takes several at once is ended, and its task in batch_,
//      before that executor has it. The timer thread gives all of batch_ away before it calls
//      another executor, and before it looks at the clock again: so the order is kept, and what
//      runs on this thread finds all that come after it as they were.
//   8. If the timer thread stamps, a delay has no deadline yet while it is in the inbox: it begins
//      when its part has ended, or when it is taken in, whichever comes first. It knows that part
//      (begins_with), since others may have left its place in earlier ones, and in the same one:
//      what is taken out of an open part begins when it is locked for that. The timer thread ends
//      the open part once in a tick, if there is something in it. Until then least_ counts the
//      delay from a time that has passed, and so not too late.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/inline_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/observe/counter.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/sched/wheel_scheduler.hpp>
#include <takt/task/detail/executor_scope.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>
#include <takt/timer/hashed_wheel.hpp>

#include "../exec/task_harness.hpp"
#include "timer_inbox.hpp"
#include "timer_nodes.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

/// The inside of a wheel_scheduler. Lives as long as that, its timer thread, or an entry that is
/// not free.
class wheel_core final : public timer_driver {
 public:
  using time_point = clock::time_point;

  /// With its thread. \throws as wheel_scheduler.
  static wheel_core& make(const wheel_scheduler_options& options);

  // --- for handles: see timer_driver
  timer_ref add(const due_time& due, task& t, const timer_request& options) override;
  void hold(timer_id id) noexcept override;
  void let_go(timer_id id) noexcept override;
  cancel_result cancel(timer_id id) noexcept override;
  bool reschedule(timer_id id, const due_time& due) noexcept override;
  bool pause(timer_id id) noexcept override;
  bool resume(timer_id id) noexcept override;
  [[nodiscard]] time_point next_time(timer_id id) noexcept override;
  [[nodiscard]] std::chrono::nanoseconds time_left(timer_id id) noexcept override;
  [[nodiscard]] period_state look_at(timer_id id, const period_state& periods) noexcept override;
  void change_period(timer_id id, period_state& periods,
                     std::chrono::nanoseconds period) noexcept override;
  void check_period(std::chrono::nanoseconds period) const override;

  /// The same, without a handle for it, of which there is one. \return its place; that is at `none`
  /// if it is with the executor already.
  timer_id insert(due_time due, task& t, any_executor executor, const timer_request& options);

  // --- for runs of series
  void run_series(std::uint32_t index) noexcept;
  void drop_run(std::uint32_t index) noexcept;

  // --- for the scheduler
  void shutdown() noexcept;
  task_list stop(bool give_back) noexcept;
  task_list close(std::chrono::nanoseconds timeout, at_close policy);
  void destroy() noexcept;
  /// For ending_guard.
  void retain() noexcept {
    references_.fetch_add(1, std::memory_order_relaxed);  // relaxed: the caller has a reference
  }
  void release() noexcept;
  void end_if_over() noexcept {
    if (life_.try_tidy(true)) life_.terminate();
  }
  [[nodiscard]] const lifecycle& life() const noexcept { return life_; }
  /// \throws std::system_error if the calling thread is the timer thread, or runs a task of it.
  void throw_if_own_task() const;
  [[nodiscard]] std::chrono::nanoseconds max_delay() const noexcept;
  [[nodiscard]] task_totals totals() const noexcept;
  [[nodiscard]] histogram_snapshot lateness() const noexcept { return lateness_.snapshot(); }
  [[nodiscard]] const wheel_scheduler_options& options() const noexcept { return options_; }

 private:
  enum class stage : std::uint8_t { open, closed, stopped };
  using nanoseconds = std::chrono::nanoseconds;

  // On the stack of a thread that runs a task of `this`, which cannot wait for its end; or, of
  // `harness_`, that hands over what is due at once, to an executor that may run it inline.
  class runner final : public executor_scope {
   public:
    using executor_scope::executor_scope;
    [[nodiscard]] bool begin_wait(task_wait& /*w*/) noexcept override { return true; }
  };

  explicit wheel_core(wheel_scheduler_options options);
  ~wheel_core() = default;

  using node = timer_node;
  static constexpr std::uint32_t waits = node::in(node::armed) | node::in(node::paused);
  // The attention of one who is awake.
  static constexpr std::int64_t awake = std::numeric_limits<std::int64_t>::min();
  // How many are handed over in one step: enough that calling a thread for them does not count.
  static constexpr std::size_t most_due = 128;
  static constexpr std::int64_t never_due = std::numeric_limits<std::int64_t>::max();
  // The deadline of a delay that has not begun: wakes who sleeps for ever.
  static constexpr std::int64_t some_time = std::numeric_limits<std::int64_t>::max() - 1;

  // Handles know where the place is in memory, which saves looking for it.
  static timer_id id_of(timer_node& n, std::uint32_t index) noexcept {
    return {reinterpret_cast<std::uintptr_t>(&n), index};
  }
  static timer_node& node_of(timer_id id) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
    return *reinterpret_cast<timer_node*>(static_cast<std::uintptr_t>(id.generation));
  }

  static std::int64_t count_of(time_point t) noexcept { return t.time_since_epoch().count(); }

  // Places.
  void end_locked(timer_node& n, std::uint32_t index) noexcept;
  void recycle(timer_node& n, std::uint32_t index, bool was_cancelled) noexcept;

  // Times.
  [[nodiscard]] time_point deadline_of(const timer_node& n) const noexcept;
  [[nodiscard]] time_point hand_over_time(const timer_node& n) const noexcept;
  [[nodiscard]] std::uint64_t key_of(time_point due) const noexcept;
  [[nodiscard]] std::uint64_t key_at(time_point now) const noexcept;
  [[nodiscard]] time_point time_of(std::uint64_t key) const noexcept;

  // Adding.
  void refuse(task& t, rejection why);
  // relaxed: a count
  std::uint64_t next_id() noexcept { return ids_.fetch_add(1, std::memory_order_relaxed) + 1; }
  void add_at_once(task& t, any_executor executor);
  timer_nodes::place claim();
  void fill(timer_nodes::place at, task& t, any_executor executor,
            const timer_request& options) noexcept;
  void enqueue(std::uint32_t index, time_point due) noexcept;
  timer_inbox::turn take_turn() noexcept;
  void call(std::int64_t deadline) noexcept;
  void lower_least(std::int64_t deadline) noexcept;
  [[nodiscard]] time_point stamp() const noexcept;
  bool take_in() noexcept TAKT_REQUIRES(mu_);
  bool take_in(timer_inbox::how_far until) noexcept TAKT_REQUIRES(mu_);
  timer_node::phase lock_stamped(timer_node& n) noexcept;
  void place(std::uint32_t index, timer_inbox::part_name part, const time_point* ended) noexcept
      TAKT_REQUIRES(mu_);

  // The timer thread.
  void run() noexcept;
  bool hand_over_due() noexcept;
  void fire(std::uint32_t index, time_point now, std::uint64_t key) noexcept;
  void hand_over_batch() noexcept;
  void hand_over(task& t, any_executor& executor);
  void give(task& t, any_executor& executor);
  void give_reporting(task& t, any_executor& executor, bool seen) noexcept;
  [[nodiscard]] std::uint64_t next_key() const noexcept TAKT_REQUIRES(mu_);
  void sleep() noexcept;
  void spin(time_point from, time_point until) const noexcept;
  [[nodiscard]] bool has_ended() noexcept;
  void wake() noexcept { wake_.unpark(); }

  // Ends.
  run_result run_task(task& t) noexcept;
  [[nodiscard]] bool is_timer_thread() const noexcept {
    return thread_.get_id() == sync::this_thread_id();
  }
  void throw_if_timer_thread() const;
  [[nodiscard]] task take_task(timer_node& n, std::uint32_t index, bool paused) noexcept;
  bool take(std::uint32_t index, std::uint32_t phases, task& t, bool* marked) noexcept;
  template <class End>
  void take_all(End end) noexcept;
  template <class End>
  void take_all_in_order(End end) noexcept;
  void end_series_and_paused() noexcept;
  void cancel_taken(task& t) noexcept;
  [[nodiscard]] task run_of(std::uint32_t index) noexcept;
  void end_run(std::uint32_t index, task& t, run_result result,
               intrusive_ptr<future_core> state) noexcept;
  void end_running(timer_node& n) noexcept;
  [[nodiscard]] bool runs_again(const timer_details& d) const noexcept;
  void ask_series_to_stop() noexcept;
  void wake_if_closing() noexcept;
  bool set_stage(stage to) noexcept;
  void begin_stop() noexcept;
  void end_stop() noexcept;

  // Constant after construction.
  wheel_scheduler_options options_;  // constant until destroy() releases the functions of the user
  const clock& time_;
  const time_point start_;
  const std::int64_t tick_;  // ns
  const fork_guard home_;

  task_harness harness_;  // its counts are not used
  lifecycle life_;
  promise<void> thread_end_;
  future<void> thread_ended_;
  sync::thread thread_;  // belongs to make() and destroy()

  timer_inbox inbox_;
  timer_nodes nodes_;
  parker wake_;

  // Atomic, seq_cst. Written by who sleeps, and by who wakes him. Timers before it are told.
  alignas(cache_line) sync::atomic<std::int64_t> attention_;
  // Atomic, seq_cst. Lowered by who adds; raised by who takes in, under mu_.
  sync::atomic<std::int64_t> least_;
  // Atomic. A time that has passed, when the timer thread looked last.
  sync::atomic<std::int64_t> passed_;
  // Atomic, seq_cst. Only grows.
  sync::atomic<stage> stage_{stage::open};
  // Atomic. The scheduler, the timer thread, and calls that end it.
  sync::atomic<std::uint32_t> references_{2};

  mutable mutex mu_;
  // In ticks since start_, or in ns if exact.
  hashed_order order_ TAKT_GUARDED_BY(mu_);

  // After stop: all timers that waited have ended, and no other will wait.
  bool none_waits_ TAKT_GUARDED_BY(mu_) = false;
  // Holds of life_ that close() has left when it timed out: the scheduler does not terminate before
  // somebody has ended what waits.
  std::size_t left_holds_ TAKT_GUARDED_BY(mu_) = 0;

  // Written by the timer thread, under mu_. What it has taken out of order_, and hands over.
  std::array<timer_id, most_due> due_{};
  std::size_t due_count_ = 0;

  // Of the timer thread.
  time_point stamps_from_;  // when what is in the inbox gets a time next, if this thread stamps
  bool was_asked_ = false;  // there was something, the last time
  std::uint32_t pending_at_ = 0;  // where the last one was seen that is not ended
  std::array<task, most_due>
      batch_{};  // what it has taken, and will give to batch_for_ in one step
  std::size_t batch_count_ = 0;
  any_executor batch_for_{inline_executor()};

  // Atomic. The ids of tasks, if there is an observer.
  sync::atomic<std::uint64_t> ids_{0};
  // Atomic. Who cancels, and tells the observer.
  sync::atomic<std::uint32_t> telling_{0};

  counter more_submitted_;  // without a place
  counter handed_over_;     // what runs once; and of these
  counter refused_;         //   by the executor
  // All others.
  counter rejected_;
  counter finished_;
  counter failed_;
  counter cancelled_;  // not by a handle
  counter returned_;
  counter ran_;
  counter missed_;
#if defined(TAKT_MODEL)
  struct {  // a run of the checker has better things to do than to make two thousand atomics
    void record(nanoseconds) noexcept {}
    [[nodiscard]] histogram_snapshot snapshot() const noexcept { return {}; }
  } lateness_;
#else
  histogram lateness_;
#endif
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
