// One mutex guards the front of the shared queue and the workers' bookkeeping. Tasks, hooks and
// observers run without it. While the queue is open, producers append to its back, which has a lock
// of its own. In a pool that steals, each worker also has a local queue, which needs no lock.
//
// States of a worker:
//   searching  on its way to the lock after it was woken, or after it was started without an
//              on_start hook; or stealing from the local queues of others
//   idle       parked, in idle_; one idle worker, the leader, parks until the next delayed task is
//              due
//   active     runs a task, and then the tasks of its local queue
//   gone       its slot is in vacant_, its thread ends
// Every worker that runs no task is free: searching, idle, in on_start, or in take() with the lock.
//
//   (none)            -> searching  start_worker()
//   searching         -> active     take() finds a task
//   active            -> searching  take() finds the queue empty and no other worker searching:
//                                   steals
//   searching, active -> idle       take() finds nothing
//   idle              -> searching  worker_to_wake(): a task is queued, or a delayed task is due
//                                   before the leader's deadline or has no leader
//   idle              -> take()     wake_all_idle(): limits or the state have changed
//   free              -> gone       take() finds that the worker is not needed: stop; shutdown and
//                                   nothing queued; more than max workers; idle for keep_alive, and
//                                   beyond core or core_times_out
//
// Invariants
//   1. Every queued task has a worker that is free or will become free. A worker leaves only if
//      nothing is queued, if other workers remain, or if the pool stops. It leaves no task in its
//      local queue, unless the pool stops.
//   2. While a task is in the shared queue or in a local one, and a worker is idle, some worker is
//      searching, or the thread that queued the task is about to call worker_to_wake(). A searching
//      worker that has got a task wakes the next one if there are more. So a burst costs its
//      producer one wake-up, no task waits while every free worker sleeps, and at most one worker
//      steals at a time.
//   3. At most `capacity` queued tasks have no free worker to take them. So a producer gets room
//      when a worker becomes free, not when a worker takes a task. Local queues do not count.
//   4. A slot is not freed before the pool is: workers are unparked after the lock is released,
//      possibly late, and other workers steal from its local queue.
//   5. A worker that leaves joins the thread of the worker that left before it; so at most one
//      ended thread is unjoined. It holds the lifecycle until then: when the pool terminates, all
//      threads but the last one have ended.
//   6. While a delayed task waits and a worker is idle, an idle worker is the leader, or some
//      worker is searching or about to be woken. The last free worker does not leave while a
//      delayed task waits. A worker that takes a task and leaves no free worker behind starts one,
//      if there are fewer than core.
//   7. shutdown_now() requests stop of the running tasks after it has changed the state: see
//      running_task.
//
// Why no wake-up is lost (2), although producers append to an open queue without the lock:
//   - The queue is open only if a worker is searching or none is idle. Each of these workers looks
//     into the queue before it becomes idle or leaves. If it finds nothing, it closes the queue and
//     keeps the lock until it is idle or gone. publish_wake_state() closes the queue when a worker
//     is idle and none is searching.
//   - Whichever thread closes the queue sees the tasks that were added before, and wakes a worker
//     for them. Later producers take the lock.
//
// Why none is lost although a worker pushes to its local queue without the lock:
//   - wake_hint_ is set while no worker is searching although one is idle or could be started, and
//     when the pool stops. It is written under the lock, whenever one of these changes.
//   - A worker that has pushed loads wake_hint_ afterwards. If it is set, the worker takes the lock
//     and wakes another one.
//   - The thread that sets wake_hint_ looks into all local queues afterwards, and then continues,
//     wakes a worker, or empties them.
//   All four operations are seq_cst, so at least one of the two threads sees the other. While the
//   hint is clear because a worker is searching, that worker sets it and looks when its search has
//   ended.
//
// Why none is lost for delayed tasks, which are added without the lock: some worker will check the
// delayed tasks by the wakeup deadline, even if no producer wakes it. A producer that adds an
// earlier task wakes a worker. The wakeup deadline is the leader's deadline; min(), so that no
// insertion wakes a worker, while one is searching or none is idle; max(), so that each insertion
// does, while there is no leader or there are fewer than core workers. A worker that becomes the
// leader sets it to the earliest deadline under the lock of the delayed tasks; so a producer that
// adds an earlier task later sees it there.
//
// A woken worker has `searching` set and is counted in searching_ until it holds the lock again,
// whatever woke it and whatever it finds. So no wake-up stays counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../base/os.hpp"
#include "delayed_tasks.hpp"
#include "local_queue.hpp"
#include "running_task.hpp"
#include "task_harness.hpp"
#include "task_queue.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

/// Capacity of a worker's local queue. Small in the model build, so that the checker also reaches
/// full queues and the reuse of slots.
#if defined(TAKT_MODEL) && !defined(TAKT_MODEL_FULL_SIZE)
inline constexpr std::size_t local_capacity = 4;
#else
inline constexpr std::size_t local_capacity = 256;
#endif
using worker_queue = local_queue<local_capacity>;

/// Options of pools other than thread_pool.
struct pool_extras {
  bool steals = false;                   ///< Each worker has a local queue.
  delayed_tasks* delayed = nullptr;      ///< The pool takes over a reference.
  std::function<task(task)> decorate{};  ///< Returns the task that runs in place of its argument.
};

/// The threads and the queues of thread_pool, stealing_pool and scheduled_pool. Reference counted:
/// lives until its pool is destroyed and its last worker has ended.
class pool_core final : public delayed_tasks_owner {
 public:
  explicit pool_core(thread_pool_options options, pool_extras extras = {});

  // --- submission: pool_submit.cpp
  void execute(task&& t);
  std::size_t try_execute(std::span<task> tasks) noexcept;

  // --- delayed tasks: pool_submit.cpp
  bool wake_for_delayed() noexcept override;
  void on_delayed_empty() noexcept override;
  [[nodiscard]] const task_harness& harness() const noexcept override { return harness_; }

  // --- children: pool_submit.cpp
  /// Pushes a child to the local queue of the calling worker, whose scope `here` is. Runs it at
  /// once if the queue is full or the pool is shut down.
  void spawn(executor_scope& here, task& t);
  /// spawn() in two steps, for a child that is constructed in its slot: returns the slot, with an
  /// empty task, or null if spawn() must be used.
  task* slot_for_child(executor_scope& here) noexcept;
  /// The second step: the caller has filled the slot.
  void push_child_slot(executor_scope& here) noexcept;
  /// Runs the newest child in the local queue of the calling worker. The caller has children that
  /// have not ended. The child that runs is one of them, or of another fork_join of the same task:
  /// thieves take the oldest task first, so a child of an older task is there only if none of the
  /// caller's was stolen. \return false if there is no child.
  bool run_child(executor_scope& here) noexcept;

  // --- the end: pool_end.cpp
  void shutdown() noexcept;
  task_list stop(bool return_tasks) noexcept;
  void destroy(const char* component) noexcept;  // the name is for refuse_own_destruction()
  /// Terminates the pool if it is shut down and no task, worker or hold is left. For ending_guard,
  /// and for the moment when no delayed task is left.
  void end_if_over() noexcept;

  // --- the rest: pool_work.cpp
  std::size_t prestart(std::size_t at_most);
  void resize(std::size_t core, std::size_t max);
  void change_keep_alive(std::chrono::nanoseconds time, bool core_times_out);
  task take_back(const future_core& state);
  std::size_t purge();
  task_totals totals() const;
  pool_statistics statistics() const;
  std::pair<std::size_t, std::size_t> sizes() const;
  /// Returns whether the calling thread runs a task of the pool, or is within a call that ends it.
  /// Such a thread cannot wait for the pool's end.
  [[nodiscard]] bool is_own_task() const noexcept;
  /// \throws std::system_error (resource_deadlock_would_occur) if is_own_task().
  void throw_if_own_task() const;
  [[nodiscard]] takt::future_options future_options() const noexcept {
    return {.time = options_.time, .unhandled = options_.unhandled};
  }
  [[nodiscard]] const lifecycle& life() const noexcept { return life_; }
  [[nodiscard]] lifecycle& life() noexcept { return life_; }
  [[nodiscard]] std::size_t queue_capacity() const noexcept { return options_.queue_capacity; }
  /// False in a child process after fork().
  [[nodiscard]] bool is_here() const noexcept { return home_.is_here(); }

 private:
  using kind = rejection_policy::kind;

  struct alignas(cache_line) worker : list_node<> {
    worker(std::size_t n, worker* before, bool steals)
        : number(n), older(before), local(steals ? std::make_unique<worker_queue>() : nullptr) {}

    // Constant after construction.
    const std::size_t number;
    worker* const older;
    const std::unique_ptr<worker_queue> local;  // null if the pool does not steal
    parker wake;

    // Guarded by the pool's mutex.
    sync::thread thread;
    bool searching = false;  // woken or just started, not in idle_, counted in searching_

    // Written by the slot's worker.
    run_counts counts;
    delayed_tasks::ticket ticket;  // of the delayed task that runs
    bool runs_delayed = false;
    clock::time_point time = clock::time_point::min();  // the last reading of the clock
    std::uint64_t added = 0;                            // pushed to the local queue, ever
    std::uint32_t since_queue = 0;                      // local tasks since take_oldest()

    running_task running;
  };

  // On the stack of each worker thread.
  class worker_scope final : public executor_scope {
   public:
    worker_scope(pool_core& pool, worker& self) noexcept
        : executor_scope(&pool), pool_(pool), self_(self) {}
    [[nodiscard]] bool begin_wait(task_wait& w) noexcept override { return pool_.begin_wait(w); }
    void end_wait(task_wait& w) noexcept override { pool_.end_wait(w); }
    void begin_blocking() noexcept override { pool_.begin_blocking(); }
    void end_blocking() noexcept override { pool_.end_blocking(); }
    [[nodiscard]] worker& self() const noexcept { return self_; }

   private:
    pool_core& pool_;
    worker& self_;
  };

  // What a worker that has left does without the lock.
  struct departure {
    sync::thread previous;      // to join
    worker* to_wake = nullptr;  // to unpark
  };

  // The bits of wake_hint_.
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t stopping = 2;

  ~pool_core() override;

  [[nodiscard]] worker* own_worker() const noexcept {
    auto* const found = executor_scope::of(this);
    return found == nullptr ? nullptr : &static_cast<worker_scope*>(found)->self();
  }

  void set_limits() noexcept TAKT_REQUIRES(mu_);
  std::optional<rejection> offer(task& t) TAKT_REQUIRES(mu_);
  std::optional<rejection> offer_when_there_is_room(mutex_lock& lock, task& t) TAKT_REQUIRES(mu_);
  std::optional<rejection> offer_instead_of_oldest(task& t) TAKT_REQUIRES(mu_);
  void refuse(task t, rejection why);
  void run_here(task t);

  enum class push_result : std::uint8_t {
    pushed,
    not_pushed,  // the local queue is full, or the pool is shut down; not counted as submitted
    taken_back,  // the pool stops, or there is no slot left for a child; counted as submitted
  };
  push_result push_local(worker& self, task& t, bool child);
  task after_push(std::uint32_t hint, worker& self) noexcept;
  // And the pool accepts tasks.
  [[nodiscard]] bool has_local_room(const worker& self) const noexcept {
    return life_.state() == life_state::running && self.local->has_room();
  }
  void begin_local_submission(worker& self, task& t);
  void move_to_queue(worker& self, task& t) noexcept;

  bool start_worker() noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] worker* worker_to_wake() noexcept TAKT_REQUIRES(mu_);
  void wake_all_idle() noexcept TAKT_REQUIRES(mu_);
  void leave_idle(worker& w) noexcept TAKT_REQUIRES(mu_);
  void become_leader(worker& self) noexcept TAKT_REQUIRES(mu_);
  void become_idle(worker& self, clock::time_point& deadline) noexcept TAKT_REQUIRES(mu_);
  void publish_wake_state() noexcept TAKT_REQUIRES(mu_);
  // No submission has to start another worker.
  [[nodiscard]] bool has_core_threads() const noexcept TAKT_REQUIRES(mu_) {
    return life_.workers() != 0 && life_.workers() >= core_limit_;
  }
  [[nodiscard]] bool local_queues_are_empty() const noexcept;

  void work(worker& self) noexcept;
  bool take(worker& self, task& t) TAKT_REQUIRES(mu_);
  bool take_delayed(worker& self, task& t, bool found) noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] bool has_delayed() const noexcept TAKT_REQUIRES(mu_) {
    return delayed_ != nullptr && !delayed_->empty();
  }
  // A delayed task is due or will be, so some worker must watch the clock.
  [[nodiscard]] bool has_due() const noexcept TAKT_REQUIRES(mu_) {
    return delayed_ != nullptr && delayed_->next() != clock::time_point::max();
  }
  [[nodiscard]] bool is_drained() const noexcept TAKT_REQUIRES(mu_) {
    return queue_.empty() && !has_delayed();
  }
  void run_one(worker& self, task& t) noexcept;
  void take_from_queue(worker& self, task& t) noexcept TAKT_REQUIRES(mu_);
  bool take_local(worker& self, task& t) noexcept;
  bool take_oldest(worker& self, task& t) noexcept;
  bool steal_from_others(worker& self, task& t) noexcept;
  departure depart(worker& self) noexcept TAKT_REQUIRES(mu_);
  void end() noexcept;

  run_result run(task& t, running_task* running) const noexcept {
    return harness_.run(t, life_, running, hooks_);
  }

  void release_functions() noexcept;
  bool begin_wait(task_wait& w) noexcept;
  void end_wait(task_wait& w) noexcept;
  void begin_blocking() noexcept;
  void end_blocking() noexcept;

  // Constant after construction, until release_functions().
  thread_pool_options options_;
  std::function<task(task)> decorate_;

  // Constant after construction.
  const bool steals_;
  delayed_tasks* const delayed_;  // null if the pool has none; with a reference
  const bool has_open_queue_;     // the queue may be opened
  const run_hooks hooks_{.before = options_.before ? &options_.before : nullptr,
                         .after = options_.after ? &options_.after : nullptr,
                         .decorate = decorate_ ? &decorate_ : nullptr};
  const fork_guard home_;
  const int nice_ = os::thread_nice() + options_.thread.nice;

  lifecycle life_;

  // Rarely written.
  std::size_t core_ TAKT_GUARDED_BY(mu_);
  std::size_t max_ TAKT_GUARDED_BY(mu_);
  std::size_t core_limit_ TAKT_GUARDED_BY(mu_) = core_;  // see set_limits()
  std::size_t max_limit_ TAKT_GUARDED_BY(mu_) = max_;
  std::chrono::nanoseconds keep_alive_ TAKT_GUARDED_BY(mu_);
  bool core_times_out_ TAKT_GUARDED_BY(mu_);
  bool orphaned_ TAKT_GUARDED_BY(mu_) = false;    // destroyed by its last worker, which detaches
  std::size_t waiting_ TAKT_GUARDED_BY(mu_) = 0;  // workers that wait for futures of this pool
  intrusive_list<task_wait> waits_ TAKT_GUARDED_BY(mu_);
  std::size_t blocked_ TAKT_GUARDED_BY(mu_) = 0;  // workers in a blocking_region
  std::size_t largest_ TAKT_GUARDED_BY(mu_) = 0;
  // Atomic. Written under mu_. The slot and all older ones live as long as the pool.
  sync::atomic<worker*> newest_{nullptr};
  intrusive_list<worker> vacant_ TAKT_GUARDED_BY(mu_);  // slots without a worker
  task_list reserved_for_stop_ TAKT_GUARDED_BY(mu_);    // empty; lets stop() not allocate
  sync::thread unjoined_ TAKT_GUARDED_BY(mu_);          // the worker that left last: see 5
  // A worker has left, or has ended its search after the pool was stopped.
  timed_condition workers_changed_ TAKT_GUARDED_BY(mu_);
  timed_condition room_ TAKT_GUARDED_BY(mu_);  // for producers that wait for room in the queue
  // Atomic. Written under mu_: see the top of the file.
  sync::atomic<std::uint32_t> wake_hint_{0};

  // Written with every task, and therefore on the same cache lines.
  alignas(cache_line) mutable mutex mu_;
  std::size_t free_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t searching_ TAKT_GUARDED_BY(mu_) = 0;
  bool stealing_ TAKT_GUARDED_BY(mu_) = false;        // one of the searching workers steals
  intrusive_list<worker> idle_ TAKT_GUARDED_BY(mu_);  // LIFO, with the leader at the back
  worker* leader_ TAKT_GUARDED_BY(mu_) = nullptr;
  clock::time_point leader_until_ TAKT_GUARDED_BY(mu_) = clock::time_point::max();
  task_harness harness_;  // `totals` is guarded by mu_
  task_queue queue_;      // add(), add_all(), add_counts_to(): any thread; the rest: guarded by mu_
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
