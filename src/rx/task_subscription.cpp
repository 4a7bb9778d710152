// A task of a worker is
//   waiting     it has not begun; or it is periodic, and waits for the next run
//   running     its body runs
//   cancelled   its body runs, and it was cancelled meanwhile
//   ending      it was cancelled while waiting, and the canceller is destroying the callable
//   prevented   it was cancelled while waiting, and the callable is destroyed
//   ended       it has run for the last time
//
//   waiting -> running                 begin()
//   waiting -> ending -> prevented     end_early()
//   running -> waiting                 run(), if it is periodic
//   running -> cancelled               end_early()
//   running, cancelled -> ended        run()
//
// Invariants
//   1. The thread that makes a task prevented or ended destroys the callable before that.
//   2. A prevented or ended task is closed, or is about to be closed by that thread or its caller.
//   3. Stop is requested only of a task that is `cancelled`; completion never requests it.
#include <takt/rx/task_subscription.hpp>

#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/mutex.hpp>

#include "../sched/timer_math.hpp"
#include "worker_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

worker_task::~worker_task() {
  if (worker_ != nullptr) worker_->release();
}

cancel_result worker_task::cancel() {
  const cancel_result outcome = end_early();
  unsubscribe();
  return outcome;
}

cancel_result worker_task::cancel_and_join(clock::time_point deadline,
                                           const sync::stop_token& stop) {
  if (cancel() == cancel_result::prevented) return cancel_result::prevented;
  switch (phase_.load(std::memory_order_acquire)) {  // acquire: as in has_ended(); or who runs it
    case phase::prevented:
    case phase::ended:
      return cancel_result::done;
    case phase::ending:  // by another thread, or further up on this one
      // relaxed: a thread knows whether it was itself
      if (ender_.load(std::memory_order_relaxed) == sync::this_thread_id()) {
        return cancel_result::running;
      }
      break;
    default:
      if (runner_ == sync::this_thread_id()) return cancel_result::running;
      request_stop();
  }
  return worker_->await_end(*this, deadline, stop) ? cancel_result::done : cancel_result::running;
}

bool worker_task::has_ended() const noexcept {
  return phase_.load(std::memory_order_acquire) >= phase::prevented;  // acquire: what the body did
}

bool worker_task::is_ending() const noexcept {
  return phase_.load(std::memory_order_acquire) >= phase::ending;  // acquire: as in has_ended()
}

clock::time_point worker_task::now() const noexcept { return worker_->now(); }

std::uint64_t worker_task::run_count() const noexcept {
  // relaxed: a figure; acquire: as in has_ended()
  if (timing_ != nullptr) return timing_->runs.load(std::memory_order_relaxed);
  const phase now = phase_.load(std::memory_order_acquire);
  return now == phase::running || now == phase::cancelled || now == phase::ended ? 1 : 0;
}

std::uint64_t worker_task::missed_count() const noexcept {
  // relaxed: a figure
  return timing_ == nullptr ? 0 : timing_->missed.load(std::memory_order_relaxed);
}

void worker_task::on_unsubscribe() {
  end_early();
  worker_->forget(*this);
  if (timing_ == nullptr) return;
  timer_handle spent;
  const mutex_lock lock(timing_->mu);
  std::swap(spent, timing_->timer);
}

cancel_result worker_task::end_early() noexcept {
  phase now = phase_.load(std::memory_order_acquire);  // acquire: as in has_ended()
  // acq_rel: what the last run did with the callable happens before its end
  if (now == phase::waiting &&
      phase_.compare_exchange_strong(now, phase::ending, std::memory_order_acq_rel)) {
    ender_.store(sync::this_thread_id(), std::memory_order_relaxed);  // relaxed: for this thread
    if (timing_ != nullptr) {
      timer_handle timer;
      {
        const mutex_lock lock(timing_->mu);
        std::swap(timer, timing_->timer);
        if (timing_->sleeper != nullptr) timing_->sleeper->unpark();
      }
      timer.cancel();
    }
    worker_->wake();
    drop_closure();
    phase_.store(phase::prevented, std::memory_order_release);  // release: the callable is gone
    worker_->wake_joiners();
    return cancel_result::prevented;
  }
  // acq_rel: who runs it is known; and what was done before, to the body that sees the stop
  if (now != phase::running ||
      !phase_.compare_exchange_strong(now, phase::cancelled, std::memory_order_acq_rel)) {
    if (now == phase::waiting) return end_early();  // a run of a series has just ended
    return cancel_result::done;
  }
  if (worker_->stops_what_runs() && runner_ != sync::this_thread_id()) {
    request_stop();
  } else {
    worker_->keep_running(*this);
  }
  return cancel_result::running;
}

bool worker_task::begin() noexcept {
  runner_ = sync::this_thread_id();
  phase now = phase::waiting;
  // acq_rel: what the last run did; and runner_, to who cancels it
  if (!phase_.compare_exchange_strong(now, phase::running, std::memory_order_acq_rel)) return false;
  // relaxed: a figure
  if (timing_ != nullptr) timing_->runs.fetch_add(1, std::memory_order_relaxed);
  return true;
}

worker_task::result worker_task::run() {
  result came;
  bool last = !periodic_;
  try {
    call();
  } catch (const takt::cancelled&) {
    last = true;
  } catch (...) {
    came.error = std::current_exception();
    last = true;
  }
  if (!last) {
    // Before anybody else may run it.
    const auto [next, missed] = next_run(timing_->periods, timing_->due, worker_->now());
    timing_->due = next;
    timing_->missed.fetch_add(missed, std::memory_order_relaxed);  // relaxed: a figure
    phase now = phase::running;
    // acq_rel: what the run did, to the next one
    came.again = phase_.compare_exchange_strong(now, phase::waiting, std::memory_order_acq_rel);
  }
  if (!came.again) {
    drop_closure();
    // acq_rel: the callable is gone; and who waits for that has cancelled it
    if (phase_.exchange(phase::ended, std::memory_order_acq_rel) == phase::cancelled) {
      worker_->forget_running(*this);
    }
  }
  return came;
}

// A timer that comes to be known too late, because it was cancelled meanwhile, is cancelled here;
// one that has fired already, and been followed by another, is forgotten.
void worker_task::keep_timer(timer_handle timer, std::uint64_t run) noexcept {
  {
    const mutex_lock lock(timing_->mu);
    const phase now = phase_.load(std::memory_order_acquire);  // acquire: as in end_early()
    if (now == phase::waiting || now == phase::running) {
      if (run >= timing_->timer_run) {
        timing_->timer_run = run;
        std::swap(timing_->timer, timer);
      }
      return;
    }
  }
  timer.cancel();
  worker_->wake();  // who waits in the trampoline may have read its deadline
}

void worker_task::wait_until_due() noexcept {
  if (timing_ == nullptr) return;
  parker here;
  {
    const mutex_lock lock(timing_->mu);
    timing_->sleeper = &here;
  }
  const clock& time = worker_->time();
  // acquire: as in end_early()
  while (phase_.load(std::memory_order_acquire) == phase::waiting && time.now() < timing_->due) {
    if (!deferred_continuations::run()) time.park_until(here, timing_->due);
  }
  const mutex_lock lock(timing_->mu);
  timing_->sleeper = nullptr;
}

// The end of a callable may drop the last handle: hence the copies.
}  // namespace detail

namespace rx {

cancel_result task_subscription::cancel() const {
  const task_subscription kept = *this;
  return kept.task_ == nullptr ? cancel_result::done : kept.task_->cancel();
}

cancel_result task_subscription::cancel_and_join_until(clock::time_point deadline,
                                                       const sync::stop_token& stop) const {
  const task_subscription kept = *this;
  return kept.task_ == nullptr ? cancel_result::done : kept.task_->cancel_and_join(deadline, stop);
}

std::uint64_t task_subscription::run_count() const noexcept {
  return task_ == nullptr ? 0 : task_->run_count();
}

std::uint64_t task_subscription::missed_count() const noexcept {
  return task_ == nullptr ? 0 : task_->missed_count();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
