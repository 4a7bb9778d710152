// A delayed task is
//
//   arriving  in arrivals_, with its entry; not in order yet
//   waiting   in order_, with a deadline; its task is in the entry
//   paused    out of time: its deadline in order_ is never; the entry knows what was left
//   running   its task is with a worker; the entry stays, for its handles
//   gone      the entry is removed, and its id is stale
//
//   (none)  -> arriving         add()
//   arriving -> waiting         take_in(), by whoever needs the order, or finds no room
//   waiting -> running          take_due()
//   waiting -> paused           pause();   back: resume(), reschedule()
//   running -> waiting, paused  after_run(), if it is to run again
//   running -> gone             after_run() otherwise; or if it must not be queued again
//   waiting, paused -> gone     cancel(), cancel_unwanted(); or stop(), which leaves the entry,
//                               without its task
//
// There are two locks, so that those who add and those who take out do not wait for each other:
// mu_ for the order and for all that happens to a task later, adding_ for those who add. Who has
// mu_ may take adding_, and not the other way round.
//
// Invariants
//   1. Who makes an entry gone that is not running has its task, and ends it: without the lock,
//      since that runs code of others, unless nothing is left to do: see task::is_plain(). So each
//      task comes to one end.
//   2. Of a running one only after_run() removes the entry.
//   3. After close() nothing is added and nothing paused. What is due, but not to be run then, is
//      left out by take_due(): cancel_unwanted() will come to it, and cancels it, or brings it back
//      if it is to be run after all. After close(true) nothing is taken or queued again.
//   4. Whenever the locks are free, next() is the earliest deadline of what arrives or waits, and
//      any() is true exactly if one arrives, waits or runs.
//   5. Who makes next() earlier than attention_ calls the pool's wake_for_delayed() afterwards,
//      unless it is a worker of the pool, that is about to look itself.
//   6. Who adds takes a free place of table_ and makes an entry there, under adding_. Who looks for
//      an id has mu_, and takes in first what arrives: so he comes upon an entry only after who has
//      made it. He makes it gone under mu_, but a place becomes free under adding_, later: until
//      then it is in retired_. table_ and order_ grow under both.
//   7. What arrives comes after all that is in order_ among equal deadlines: it is taken in before
//      another one gets a turn there. So a task that is in order, and not later than what arrives,
//      is the next one, and take_due() takes in only what is earlier.
//   8. Nothing arrives after close(), which takes in the last ones.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/scheduled_pool.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>
#include <takt/timer/delay_heap.hpp>
#include <takt/timer/detail/slot_map.hpp>

#include "../exec/delayed_tasks.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

/// The delayed tasks of a scheduled_pool. Lives as long as the pool or a handle.
///
/// Thread safety: all members from any thread; those of delayed_tasks as it says.
class delay_queue final : public delayed_tasks, public timer_driver {
 public:
  delay_queue(after_shutdown keep, const clock& time) noexcept : time_(time), keep_(keep) {}

  /// Tells it whose it is, before anything else.
  void attach(delayed_tasks_owner& owner) noexcept;

  void keep_after_shutdown(after_shutdown keep) noexcept;
  [[nodiscard]] after_shutdown kept_after_shutdown() const noexcept;

  // --- for handles: see timer_driver. If add() throws, the task is counted, and rejected.
  timer_ref add(const due_time& asked, task& t, const timer_request& options) override;
  void hold(timer_id /*id*/) noexcept override { retain(); }
  void let_go(timer_id /*id*/) noexcept override { release(); }
  cancel_result cancel(timer_id id) noexcept override;
  bool reschedule(timer_id id, const due_time& due) noexcept override;
  bool pause(timer_id id) noexcept override;
  bool resume(timer_id id) noexcept override;
  [[nodiscard]] time_point next_time(timer_id id) noexcept override;
  [[nodiscard]] std::chrono::nanoseconds time_left(timer_id id) noexcept override;
  [[nodiscard]] period_state look_at(timer_id id, const period_state& periods) noexcept override;
  void change_period(timer_id id, period_state& periods,
                     std::chrono::nanoseconds period) noexcept override;

  // --- for the pool: see delayed_tasks
  bool take_due(time_point now, task& t, ticket& which) noexcept override;
  void set_wakeup_deadline(time_point until) noexcept override;
  time_point watch_next(bool wakes_for_all) noexcept override;
  bool report_empty() noexcept override;
  [[nodiscard]] bool empty() const noexcept override;
  [[nodiscard]] std::size_t size() const noexcept override;
  void add_counts_to(task_totals& totals) const noexcept override;
  void close(bool stops) noexcept override;
  void after_run(const ticket& which, task& t, run_result result,
                 const task_harness& harness) noexcept override;
  void cancel_unwanted() noexcept override;
  void stop(task_list& unstarted, bool give_back) noexcept override;
  void await_reports() noexcept override;

 private:
  enum class stage : std::uint8_t { open, closed, stopped };

  struct entry {
    task work;                        // empty if it is not waiting
    period_state* periods = nullptr;  // null: it runs once; else part of the state of `work`
    std::uint8_t slack_bits = 0;      // its deadline in order_ is rounded up to 2^slack_bits ns
    bool running = false;
    bool left_out = false;  // it was due, but not to be run after shutdown
    bool paused = false;    // the deadline of `work` is what was left
  };

  // A place of table_, and its deadline, rounded.
  struct arrival {
    time_point key;
    std::uint32_t index = 0;
  };
  // How many arrive before they have to be taken in, and how many places are given back at once:
  // the more, the less often one needs the lock of the other side.
  // Holds for handles to come are taken many at once, too.
#if defined(TAKT_MODEL)
  static constexpr std::size_t most_arrivals = 2;
  static constexpr std::size_t most_retired = 2;
  static constexpr std::size_t most_holds = 2;
#else
  static constexpr std::size_t most_arrivals = 1024;
  static constexpr std::size_t most_retired = 512;
  static constexpr std::size_t most_holds = 1024;
#endif

  // Tasks that were taken out under the lock, to be ended without it.
  static constexpr std::size_t batch_size = 32;
  using batch = std::array<task, batch_size>;

  ~delay_queue() override;

  [[nodiscard]] static time_point key_of(const entry& e) noexcept;
  bool move(timer_id id, entry& e, time_point due) noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] intrusive_ptr<delayed_tasks_owner> owner() const noexcept;
  void take_out(entry& e, task& t) noexcept TAKT_REQUIRES(mu_);
  void changed() noexcept TAKT_REQUIRES(mu_);
  void number(task& t) noexcept TAKT_REQUIRES(adding_);
  void take_hold() noexcept TAKT_REQUIRES(adding_);
  void make_room();
  void settle() noexcept TAKT_REQUIRES(mu_);
  void take_in() noexcept TAKT_REQUIRES(mu_, adding_);
  void remove(std::uint32_t index) noexcept TAKT_REQUIRES(mu_);
  void reuse_retired() noexcept TAKT_REQUIRES(mu_, adding_);
  bool must_report_empty() noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] time_point next_in_order() const noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] bool is_attended(time_point due) const noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] bool may_wait(const entry& e, time_point due) const noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] bool goes_on(const entry& e, time_point now) const noexcept TAKT_REQUIRES(mu_);
  template <class Wanted>
  std::size_t take_some(std::uint32_t& from, batch& taken, Wanted wanted) noexcept
      TAKT_REQUIRES(mu_);

  // Above those of the pool's own tasks.
  static constexpr std::uint64_t first_id = std::uint64_t{1} << 47;

  // Constant after attach(). The owner, and its clock, is there as long as a task waits or runs.
  const clock& time_;
  delayed_tasks_owner* owner_ = nullptr;
  bool observed_ = false;

  // Of who holds the pool's lock.
  alignas(cache_line) time_point last_attention_ = time_point::max();  // the same as attention_

  mutable mutex mu_;
  stage stage_ TAKT_GUARDED_BY(mu_) = stage::open;
  after_shutdown keep_ TAKT_GUARDED_BY(mu_);
  heap_order order_ TAKT_GUARDED_BY(mu_){{}};
  time_point reached_ TAKT_GUARDED_BY(mu_) = time_point::min();  // nothing is due later than that
  std::size_t waiting_ TAKT_GUARDED_BY(mu_) = 0;                 // paused ones included
  std::size_t running_ TAKT_GUARDED_BY(mu_) = 0;
  bool reports_empty_ TAKT_GUARDED_BY(mu_) = false;
  std::size_t telling_ TAKT_GUARDED_BY(mu_) = 0;  // who cancels, and is with the observer
  timed_condition told_ TAKT_GUARDED_BY(mu_);     // one less
  // Ends that no worker counts.
  std::uint64_t cancelled_ TAKT_GUARDED_BY(mu_) = 0;
  std::uint64_t returned_ TAKT_GUARDED_BY(mu_) = 0;
  std::uint64_t missed_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t retired_count_ TAKT_GUARDED_BY(mu_) = 0;
  std::array<std::uint32_t, most_retired> retired_ TAKT_GUARDED_BY(mu_){};

  // Of both: see 6.
  alignas(cache_line) slot_map<entry> table_;

  // Of those who add.
  alignas(cache_line) mutable mutex adding_;
  bool open_ TAKT_GUARDED_BY(adding_) = true;  // stage_ is open
  time_point attention_ TAKT_GUARDED_BY(adding_) = time_point::max();
  std::vector<arrival> arrivals_ TAKT_GUARDED_BY(adding_);  // has room for more
  std::size_t holds_ TAKT_GUARDED_BY(adding_) = 0;          // of *this, for handles to come
  std::uint64_t submitted_ TAKT_GUARDED_BY(adding_) = 0;
  std::uint64_t rejected_ TAKT_GUARDED_BY(adding_) = 0;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
