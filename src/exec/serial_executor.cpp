// A queue, and at most one drain: a task that the underlying executor runs, and that runs the
// queued tasks. While a drain runs tasks, hands over to the next drain, or rejects queued tasks
// because it was dropped, the lifecycle counts it as a worker.
//
//   idle      nothing is queued, or the executor was stopped; there is no drain
//   draining  a drain is queued in the underlying executor, or runs
//
//   idle     -> draining   execute(), which then submits a drain
//   draining -> idle       the drain finds nothing queued, or finds the state stop; the drain was
//                          rejected or dropped
//
// Invariants
//   1. In draining there is exactly one drain, and only the drain takes tasks out to run them. So
//      tasks never overlap, and each happens before the next one, by the lock or by the queue of
//      the underlying executor.
//   2. If a task is queued, the state is draining. The queue is open only then.
//   3. Tasks, observers and the underlying executor are called without the lock. Drains do not call
//      the underlying executor after termination. Nor do they after a destructor that a task has
//      called has returned: such a destructor cannot wait for termination, but waits until its own
//      drain is the only active one, since the one before may still be handing over. A thread in
//      execute() may still be in the underlying executor's execute() after either.
#include <takt/exec/serial_executor.hpp>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "drain_task.hpp"
#include "ending_guard.hpp"
#include "running_task.hpp"
#include "task_harness.hpp"
#include "task_queue.hpp"

namespace takt::inline TAKT_ABI {

class serial_executor::impl : public detail::ref_counted<impl> {
 public:
  impl(any_executor executor, const options_type& options, void (*taken)(task& t) noexcept)
      : options_(options),
        taken_(taken),
        life_(*options.time),
        executor_(executor),
        harness_(*options.time, *options.unhandled, options.observer) {}

  void execute(task&& t);
  void shutdown() noexcept;
  task_list stop(bool return_tasks) noexcept;
  void destroy() noexcept;
  void end_if_over() noexcept;  // see ending_guard
  std::size_t queued() const;
  task_totals totals() const;

  // Constant after construction.
  const options_type options_;
  void (*const taken_)(task& t) noexcept;  // see watched_strand; null otherwise
  const detail::fork_guard home_;

  lifecycle life_;

 private:
  // On the stack of the draining thread.
  class drain_scope final : public detail::executor_scope {
   public:
    explicit drain_scope(const impl& of) noexcept : detail::executor_scope(&of), of_(&of) {}
    [[nodiscard]] bool begin_wait(detail::task_wait& w) noexcept override {
      return !w.depends_on(of_);
    }
    bool run_again = false;  // the executor ran the next drain within this one

   private:
    const impl* of_;
  };

  friend class ref_counted<impl>;
  friend class drain_task<impl>;
  ~impl() = default;

  void run_drain() noexcept;
  void end_hand_over() noexcept;
  void drain_dropped() noexcept;
  bool try_tidy() noexcept TAKT_REQUIRES(mu_);

  any_executor executor_;
  running_task running_;

  mutable detail::mutex mu_;
  task_harness harness_;                                 // `totals` is guarded by mu_
  std::uint64_t drains_ TAKT_GUARDED_BY(mu_) = 0;        // submitted by execute()
  std::uint64_t last_dropped_ TAKT_GUARDED_BY(mu_) = 0;  // the last one dropped with queued tasks
  bool draining_ TAKT_GUARDED_BY(mu_) = false;
  // A drain has ended, or the state has changed.
  detail::timed_condition drain_ended_ TAKT_GUARDED_BY(mu_);
  task_queue queue_{queue_order::fifo, false};  // guarded by mu_, but for add()
};

void serial_executor::impl::execute(task&& t) {
  if (!t) throw std::invalid_argument("takt::serial_executor: the task is empty");
  if (detail::future_core* state = t.state()) state->set_home(this);
  if (queue_.add(t)) return;
  harness_.report_submitted(t);
  detail::mutex_lock lock(mu_);
  if (life_.state() != life_state::running) {
    ++harness_.totals.rejected;
    lock.unlock();
    harness_.report(task_event::kind::rejected, t);
    t.reject(rejection::shut_down);
    throw rejected(rejection::shut_down);
  }
  try {
    queue_.push(std::move(t));
  } catch (...) {
    ++harness_.totals.rejected;
    lock.unlock();
    harness_.report(task_event::kind::rejected, t);
    throw;
  }
  queue_.set_open(!harness_.observed());  // there is a drain, or will be
  if (std::exchange(draining_, true)) return;
  const std::uint64_t drain_number = ++drains_;
  lock.unlock();
  any_executor executor = executor_;  // the task may destroy *this
  retain();
  try {
    executor.execute(task(drain_task(*this)));
  } catch (...) {
    // The drain was dropped, and has rejected the queued tasks, unless shutdown_now() had taken
    // them before.
    lock.lock();
    const bool dropped = drain_number <= last_dropped_;
    lock.unlock();
    release();
    if (dropped) throw;
    return;
  }
  release();
}

void serial_executor::impl::run_drain() noexcept {
  if (detail::executor_scope* outer = detail::executor_scope::of(this)) {
    static_cast<drain_scope*>(outer)->run_again = true;
    return;
  }
  drain_scope here(*this);
  task t;
  std::size_t ran = 0;
  detail::mutex_lock lock(mu_);
  const bool is_worker = life_.add_worker();
  while (is_worker && queue_.find()) {
    if (ran++ == options_.batch) {
      lock.unlock();
      here.run_again = false;
      try {
        executor_.execute(task(drain_task(*this)));
      } catch (...) {  // the drain was dropped, and has set run_again
      }
      if (!here.run_again) {
        end_hand_over();
        return;
      }
      lock.lock();
      ran = 0;
      continue;
    }
    queue_.pop(t);
    if (taken_ != nullptr) taken_(t);
    lock.unlock();
    const run_result result = harness_.run(t, life_, &running_);
    lock.lock();
    count(result, harness_.totals);
  }
  draining_ = false;
  if (is_worker) life_.remove_worker();
  const bool last = try_tidy();
  lock.unlock();
  if (last) life_.terminate();
}

// The next drain continues. It may have ended already; then this one may be the last.
void serial_executor::impl::end_hand_over() noexcept {
  life_.remove_worker();
  if (life_.state() != life_state::running) end_if_over();  // otherwise the ending call does it
}

// A drain was dropped without being run. If this thread is within another drain, that one
// continues. Otherwise this call rejects the queued tasks. It counts as a worker, so that
// termination follows the destruction of these tasks, which may destroy *this or submit tasks. If
// such a task's drain is dropped on this thread as well, the loop rejects it too.
void serial_executor::impl::drain_dropped() noexcept {
  if (detail::executor_scope* outer = detail::executor_scope::of(this)) {
    static_cast<drain_scope*>(outer)->run_again = true;
    return;
  }
  drain_scope here(*this);
  detail::mutex_lock lock(mu_);
  const bool is_worker = life_.add_worker();
  do {
    here.run_again = false;
    draining_ = false;
    queue_.set_open(false);
    std::array<task_list, 2> dropped{queue_.take_front(), queue_.take_back()};
    for (const task_list& tasks : dropped) {
      harness_.totals.rejected += tasks.size();
      if (!tasks.empty()) last_dropped_ = drains_;
    }
    lock.unlock();
    for (task_list& tasks : dropped) {
      for (task& t : tasks) {
        harness_.report(task_event::kind::rejected, t);
        t.reject(rejection::dropped);
      }
    }
    lock.lock();
  } while (here.run_again);
  if (is_worker) life_.remove_worker();
  const bool last = try_tidy();
  lock.unlock();
  if (last) life_.terminate();
}

// Called after a worker has left, or the state has changed. \return true once; then the caller
// terminates the lifecycle, without the lock.
bool serial_executor::impl::try_tidy() noexcept {
  drain_ended_.notify_all();
  return life_.try_tidy(queue_.empty());
}

void serial_executor::impl::end_if_over() noexcept {
  detail::mutex_lock lock(mu_);
  const bool last = try_tidy();
  lock.unlock();
  if (last) life_.terminate();
}

void serial_executor::impl::shutdown() noexcept {
  const ending_guard ending(*this, life_);
  const detail::mutex_lock lock(mu_);
  life_.advance_to(life_state::shutdown);
  queue_.set_open(false);
}

task_list serial_executor::impl::stop(bool return_tasks) noexcept {
  const ending_guard ending(*this, life_);
  detail::mutex_lock lock(mu_);
  life_.advance_to(life_state::stop);
  queue_.set_open(false);
  task_list unstarted = queue_.take_front();
  task_list added = queue_.take_back();
  lock.unlock();
  running_.request_stop();
  unstarted.append(std::move(added));
  const std::size_t cancelled = harness_.end_unstarted(unstarted, return_tasks);
  lock.lock();
  harness_.totals.cancelled += cancelled;
  harness_.totals.returned += unstarted.size();
  return unstarted;
}

void serial_executor::impl::destroy() noexcept {
  if (life_.is_used_here()) refuse_own_destruction("takt::serial_executor");
  static_cast<void>(stop(false));
  const std::size_t own = detail::executor_scope::of(this) != nullptr ? 1 : 0;
  if (own == 0 && !is_ending_here(life_)) {
    life_.await_unused();
  } else {
    detail::mutex_lock lock(mu_);
    while (life_.workers() != own) {
      drain_ended_.wait_until(lock, *options_.time, clock::time_point::max());
    }
  }
  release();
}

std::size_t serial_executor::impl::queued() const {
  const detail::mutex_lock lock(mu_);
  return queue_.size();
}

task_totals serial_executor::impl::totals() const {
  const detail::mutex_lock lock(mu_);
  task_totals totals = harness_.totals;
  queue_.add_counts_to(totals);
  return totals;
}

serial_executor::serial_executor(any_executor executor, const options_type& options)
    : serial_executor(executor, options, nullptr) {}

serial_executor::serial_executor(any_executor executor, const options_type& options,
                                 void (*taken)(task& t) noexcept) {
  if (options.batch == 0) throw std::invalid_argument("takt::serial_executor: batch is 0");
  if (options.time == nullptr) throw std::invalid_argument("takt::serial_executor: time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt::serial_executor: unhandled is null");
  }
  impl_ = new impl(executor, options, taken);
}

serial_executor::~serial_executor() {
  // After fork() the threads are not in this process, and the mutex is in an unknown state.
  if (impl_->home_.is_here()) impl_->destroy();
}

void serial_executor::execute(task t) { impl_->execute(std::move(t)); }
void serial_executor::shutdown() noexcept { impl_->shutdown(); }
task_list serial_executor::shutdown_now() noexcept { return impl_->stop(true); }
void serial_executor::shutdown_and_cancel() noexcept { static_cast<void>(impl_->stop(false)); }
std::size_t serial_executor::queued() const { return impl_->queued(); }
task_totals serial_executor::totals() const { return impl_->totals(); }
const lifecycle& serial_executor::life() const noexcept { return impl_->life_; }

future_options serial_executor::future_options() const noexcept {
  return {.time = impl_->options_.time, .unhandled = impl_->options_.unhandled};
}

void serial_executor::throw_if_own_task() const {
  if (detail::executor_scope::of(impl_) == nullptr && !is_ending_here(impl_->life_)) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::serial_executor: one of its own tasks waits for its termination");
}

}  // namespace takt::inline TAKT_ABI
