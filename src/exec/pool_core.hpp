// One mutex guards the front of the queue and the workers' bookkeeping; tasks, hooks and observers
// run without it. While the queue is open, who submits adds to its back, which has a lock of its
// own. A pool that steals also has a ring of tasks for each worker, which needs no lock.
//
// A worker is
//   coming   called, or started without an on_start, and on its way to the lock; or searching the
//            others' rings
//   idle     in idle_, parked; one of them, the leader, until the next delayed task is due
//   free     coming, idle, or looking for a task: all that do not run one
//   active   runs a task, and then those of its own ring
//   gone     its slot is in vacant_, its thread ends
//
//   (none) -> coming           start_worker()
//   coming -> active           take() finds a task
//   active -> coming           take() finds none in the queue, and nobody else is coming: searches
//   coming, active -> idle     take() finds none
//   idle   -> coming           worker_to_wake(), by whoever finds a task queued, or a delayed one
//   that
//                              is earlier than the leader will look, or no leader
//   idle   -> looks again      wake_all_idle(), by whoever changes the rules
//   any free -> gone           take() finds that it is not needed: stop; shutdown and nothing
//                              queued; more than max; idle for too long, and more than core
//
// Invariants
//   1. A task that is queued has a worker: one that is free or will be. Workers leave only if
//      nothing is queued, or others remain, or the pool stops; and none leaves a task in its ring,
//      unless the pool stops.
//   2. If a task is queued, or in a ring, and a worker idle, some worker is coming, or its owner is
//      about to call one. Who is coming calls the next one when it has got a task, if more are
//      there. So a burst costs its producer one wake-up, no task waits while a worker sleeps, and
//      at most one searches at a time.
//   3. Of the queued tasks, at most `capacity` have no free worker to take them. So there is room
//      when a worker becomes free, and not when it takes a task. Rings do not count.
//   4. A slot is never freed before the pool: who calls a worker does so after unlocking, and may
//      be late; and others look into its ring.
//   5. Each worker that leaves joins the one that left before it; so at most one ended thread is
//      unjoined. It holds the lifecycle until then: when the pool terminates, all others have
//      ended.
//   6. If a delayed task waits and a worker is idle, one is the leader, or some worker is coming,
//      or about to be called. The last one that is free does not leave while one waits; who takes
//      a task and leaves none that is free starts one, if there are less than core.
//   7. shutdown_now() asks the slots to stop after it has changed the state: see running_task.
//
// No wake-up is lost (2), though tasks are added to an open queue without the lock:
//   - It is open only if a worker is coming, or all are at work; each of these looks into it before
//     it becomes idle or leaves, and closes it if it finds nothing, without letting go of the lock
//     until it is idle or gone. publish_wake_state() closes it when nobody is coming and one is
//     idle.
//   - Who closes it finds what was added before, and calls a worker for it. Who comes after that
//     takes the lock.
//
// Nor though a worker adds to its ring without the lock:
//   - wake_hint_ says whether nobody is coming though somebody sleeps or could be started, or
//   whether
//     the pool stops. It is written under the lock, whenever that changes.
//   - Who adds to its ring looks at wake_hint_ afterwards; if it is set, it takes the lock and
//   calls.
//   - Who sets it looks into all rings afterwards, and goes on, calls another, or empties them.
//   All four are seq_cst, so one of the two sees the other. While it is not set because somebody is
//   coming, that one will, when it has found a task or none, set it and look.
//
// Nor for delayed tasks, that are added without the lock: the pool's attention is the time before
// which somebody looks at them by himself. It is that of the leader, or any time if a worker is
// coming or none idle, or none if there are too few workers. Who becomes the leader sets it, under
// the lock of the delayed tasks, to the earliest deadline; who adds an earlier one than that sees
// it there, and calls.
//
//   - A worker that was called has its call in `called`, and is counted in searching_, until it has
//     the lock again, whatever woke it or whatever it finds: no call is left over.
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

/// How many tasks a worker has for itself at most. In the model build few, so that all is seen.
#if defined(TAKT_MODEL) && !defined(TAKT_MODEL_FULL_SIZE)
inline constexpr std::size_t local_capacity = 4;
#else
inline constexpr std::size_t local_capacity = 256;
#endif
using worker_queue = local_queue<local_capacity>;

/// What makes a pool more than threads with a queue.
struct pool_extras {
  bool steals = false;               ///< each worker has a ring
  delayed_tasks* delayed = nullptr;  ///< takes over a reference
  std::function<task(task)> decorate{};
};

/// The threads and the queues of thread_pool, stealing_pool and scheduled_pool. Lives until its
/// pool is destroyed and its last worker has ended.
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
  /// For the calling worker, whose runner it is. Gives a child to its ring, or runs it if there is
  /// no room or the pool is shut down.
  void spawn(executor_scope& here, task& t);
  /// The same in two steps, for a child that is made in its place: an empty task, and then, when
  /// the child is there. Null if it has to be spawn().
  task* place_for_child(executor_scope& here) noexcept;
  void child_is_placed(executor_scope& here) noexcept;
  /// Likewise. Runs the newest child in its ring. For who has children that have not ended: it is
  /// one of them, or of another fork_join of the same task; if it were not, they would have been
  /// stolen, and all that is older before. False if there is none.
  bool run_child(executor_scope& here) noexcept;

  // --- the end: pool_end.cpp
  void shutdown() noexcept;
  task_list stop(bool return_tasks) noexcept;
  void destroy(const char* component) noexcept;  // for the message if that is refused
  /// For ending_guard, and when no delayed task is left: ends the pool if nothing keeps it.
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
  /// Whether the calling thread runs a task of it, or is within a call that ends it: it cannot wait
  /// for the end.
  [[nodiscard]] bool is_own_task() const noexcept;
  /// \throws std::system_error if it is.
  void throw_if_own_task() const;
  [[nodiscard]] takt::future_options future_options() const noexcept {
    return {.time = options_.time, .unhandled = options_.unhandled};
  }
  [[nodiscard]] const lifecycle& life() const noexcept { return life_; }
  [[nodiscard]] lifecycle& life() noexcept { return life_; }
  [[nodiscard]] std::size_t queue_capacity() const noexcept { return options_.queue_capacity; }
  /// Whether this is the process that it was made in.
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
    bool searching = false;  // out of idle_, and counted in searching_

    // Written by the thread that has the slot.
    run_counts counts;
    delayed_tasks::ticket ticket;  // of the delayed task that it runs
    bool runs_delayed = false;
    clock::time_point time = clock::time_point::min();  // when it last looked
    std::uint64_t added = 0;                            // to the ring
    std::uint32_t since_queue = 0;                      // tasks since it looked at the queue

    running_task running;
  };

  // On the stack of a worker.
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

  // What a worker has to do after it has left.
  struct departure {
    sync::thread previous;      // to be joined
    worker* to_wake = nullptr;  // to be woken
  };

  // For wake_hint_.
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
    not_pushed,  // no room, or shut down; not counted
    taken_back,  // the pool stops, or there is no room for a child; counted as submitted
  };
  push_result push_local(worker& self, task& t, bool child);
  task after_push(std::uint32_t hint, worker& self) noexcept;
  // And takes any.
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
  // No submission is to start another.
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
  // Or will have: somebody is to look at the time.
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
  delayed_tasks* const delayed_;  // null if it has none; counted
  const bool has_open_queue_;     // at times
  const run_hooks hooks_{.before = options_.before ? &options_.before : nullptr,
                         .after = options_.after ? &options_.after : nullptr,
                         .decorate = decorate_ ? &decorate_ : nullptr};
  const fork_guard home_;
  const int nice_ = os::thread_nice() + options_.thread.nice;

  lifecycle life_;

  // Seldom written.
  std::size_t core_ TAKT_GUARDED_BY(mu_);
  std::size_t max_ TAKT_GUARDED_BY(mu_);
  std::size_t core_limit_ TAKT_GUARDED_BY(mu_) = core_;  // see set_limits()
  std::size_t max_limit_ TAKT_GUARDED_BY(mu_) = max_;
  std::chrono::nanoseconds keep_alive_ TAKT_GUARDED_BY(mu_);
  bool core_times_out_ TAKT_GUARDED_BY(mu_);
  bool orphaned_ TAKT_GUARDED_BY(mu_) = false;    // destroyed by the only worker left
  std::size_t waiting_ TAKT_GUARDED_BY(mu_) = 0;  // for futures of this pool
  intrusive_list<task_wait> waits_ TAKT_GUARDED_BY(mu_);
  std::size_t blocked_ TAKT_GUARDED_BY(mu_) = 0;  // in a blocking_region
  std::size_t largest_ TAKT_GUARDED_BY(mu_) = 0;
  // Atomic. Written under mu_; what it points to, and what is older, stays.
  sync::atomic<worker*> newest_{nullptr};
  intrusive_list<worker> vacant_ TAKT_GUARDED_BY(mu_);  // slots without a worker
  task_list reserved_for_stop_ TAKT_GUARDED_BY(mu_);  // for stop(), which does not allocate; empty
  sync::thread unjoined_ TAKT_GUARDED_BY(mu_);
  timed_condition workers_changed_
      TAKT_GUARDED_BY(mu_);                    // a worker has left, or has searched in stop
  timed_condition room_ TAKT_GUARDED_BY(mu_);  // producers that wait for it
  // Atomic. Written under mu_: see the top of the file.
  sync::atomic<std::uint32_t> wake_hint_{0};

  // Written with every task, and so side by side.
  alignas(cache_line) mutable mutex mu_;
  std::size_t free_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t searching_ TAKT_GUARDED_BY(mu_) = 0;
  bool stealing_ TAKT_GUARDED_BY(mu_) = false;        // one of those that are coming
  intrusive_list<worker> idle_ TAKT_GUARDED_BY(mu_);  // the last one first, but the leader last
  worker* leader_ TAKT_GUARDED_BY(mu_) = nullptr;
  clock::time_point leader_until_ TAKT_GUARDED_BY(mu_) = clock::time_point::max();
  task_harness harness_;  // its counts: guarded by mu_
  task_queue queue_;      // but for add(): guarded by mu_
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
