#include <exception>
#include <optional>
#include <utility>

#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

void pool_core::execute(task&& t) {
  if (future_core* state = t.state()) state->set_home(this);
  if (steals_) {
    if (worker* const self = own_worker()) {
      const push_result result = push_local(*self, t, false);
      if (result == push_result::pushed) return;
      if (result == push_result::taken_back) {
        self->counts.count_rejected();
        refuse(std::move(t), rejection::shut_down);
        return;
      }
    }
  }
  if (delayed_ != nullptr) {
    // Its place among the delayed tasks: behind those that are due now, if there are any.
    t.set_deadline(delayed_->any() ? options_.time->now() : clock::time_point::min());
  }
  if (queue_.add(t)) return;
  harness_.report_submitted(t);
  mutex_lock lock(mu_);
  std::optional<rejection> refused;
  try {
    refused = offer(t);
    if (refused == rejection::saturated) {
      if (options_.rejection.kind_ == kind::wait) refused = offer_when_there_is_room(lock, t);
      if (options_.rejection.kind_ == kind::drop_oldest) refused = offer_instead_of_oldest(t);
    }
  } catch (...) {  // out of memory
    ++harness_.totals.rejected;
    room_.notify_one();  // this call may have been notified of room that it does not use
    lock.unlock();
    harness_.report(task_event::kind::rejected, t);
    throw;
  }
  worker* const to_wake = worker_to_wake();
  if (!refused) {
    if (to_wake == nullptr) return;
    retain();  // the task may destroy the pool before its worker has been woken
    lock.unlock();
    to_wake->wake.unpark();
    release();
    return;
  }
  const bool runs_here =
      refused != rejection::shut_down && options_.rejection.kind_ == kind::caller_runs;
  if (!runs_here) ++harness_.totals.rejected;
  lock.unlock();
  if (to_wake != nullptr) to_wake->wake.unpark();
  if (runs_here) {
    run_here(std::move(t));
  } else {
    refuse(std::move(t), *refused);
  }
}

std::size_t pool_core::try_execute(std::span<task> tasks) noexcept {
  if (delayed_ != nullptr || (steals_ && own_worker() != nullptr)) return 0;
  for (const task& t : tasks) {
    if (future_core* state = t.state()) state->set_home(this);
  }
  return queue_.add_all(tasks);
}

// Queues the task, and starts a worker if one is wanted. \return why it was not queued, if so.
std::optional<rejection> pool_core::offer(task& t) {
  if (life_.state() != life_state::running) return rejection::shut_down;
  const std::size_t workers = life_.workers();
  const bool room = options_.queue_capacity == unbounded ||
                    queue_.size() < saturating_sum(options_.queue_capacity, free_);
  const bool wanted = workers < core_limit_ || workers == 0 || (!room && workers < max_limit_);
  if (!wanted || !start_worker()) {
    if (workers == 0) return rejection::no_thread;
    if (!room) return rejection::saturated;
  }
  queue_.push(std::move(t));
  return std::nullopt;
}

std::optional<rejection> pool_core::offer_when_there_is_room(mutex_lock& lock, task& t) {
  if (executor_scope::of(this) != nullptr)
    return rejection::saturated;  // its own tasks do not wait
  const auto deadline = deadline_after(options_.time->now(), options_.rejection.timeout_);
  for (;;) {
    const bool notified = room_.wait_until(lock, *options_.time, deadline);
    const auto refused = offer(t);
    if (refused != rejection::saturated) {
      // This producer was notified, but cannot use the room. The next one has to find out as well.
      if (refused) room_.notify_one();
      return refused;
    }
    if (!notified) return rejection::timed_out;
  }
}

std::optional<rejection> pool_core::offer_instead_of_oldest(task& t) {
  std::optional<rejection> refused = rejection::saturated;
  std::exception_ptr no_memory;
  while (refused == rejection::saturated && no_memory == nullptr && queue_.find()) {
    task oldest;
    queue_.pop(oldest);
    ++harness_.totals.rejected;
    try {
      refused = offer(t);
    } catch (...) {
      no_memory = std::current_exception();
    }
    // Even if there is no memory for the new one. Without the lock: this destroys a user's closure.
    mu_.unlock();
    harness_.report(task_event::kind::rejected, oldest);
    oldest.reject(rejection::dropped);
    mu_.lock();
    if (refused == rejection::saturated && no_memory == nullptr) refused = offer(t);
  }
  if (no_memory != nullptr) std::rethrow_exception(no_memory);
  return refused;
}

void pool_core::run_here(task t) {
  if (future_core* state = t.state()) state->set_home(nullptr);
  retain();  // the task may destroy the pool
  const run_result result = run(t, nullptr);
  {
    const mutex_lock lock(mu_);
    count(result, harness_.totals);
  }
  release();
}

// Applies the rejection policy to a task that has been counted as rejected.
void pool_core::refuse(task t, rejection why) {
  const kind policy = options_.rejection.kind_;
  harness_.report(task_event::kind::rejected, t);
  if (policy == kind::call) {
    if (future_core* state = t.state()) state->set_home(nullptr);
    options_.rejection.own_(std::move(t), why);
    return;
  }
  if (policy == kind::drop || policy == kind::drop_oldest) {
    t.reject(why == rejection::saturated ? rejection::dropped : why);
    return;
  }
  t.reject(why);
  throw rejected(why);
}

// --- delayed tasks

bool pool_core::wake_for_delayed() noexcept {
  worker* to_wake = nullptr;
  {
    const mutex_lock lock(mu_);
    const std::size_t workers = life_.workers();
    if (workers < core_limit_ || workers == 0) {
      if (!start_worker() && workers == 0) return life_.state() >= life_state::stop;
    }
    to_wake = worker_to_wake();
  }
  if (to_wake != nullptr) to_wake->wake.unpark();
  return true;
}

// keep_alive begins now for an idle worker that has stayed for the delayed tasks.
void pool_core::on_delayed_empty() noexcept {
  {
    const mutex_lock lock(mu_);
    if (life_.state() == life_state::running) wake_all_idle();
  }
  end_if_over();
}

// --- local queues

pool_core::push_result pool_core::push_local(worker& self, task& t, bool child) {
  if (!has_local_room(self)) return push_result::not_pushed;
  begin_local_submission(self, t);
  if (harness_.observed() && !self.local->has_room()) {  // the observer has submitted tasks itself
    if (child) return push_result::taken_back;
    move_to_queue(self, t);
    return push_result::pushed;
  }
  self.local->push(std::move(t), child);
  const std::uint32_t hint = wake_hint_.load();  // seq_cst: after the push; see pool_core.hpp
  if (hint == 0) return push_result::pushed;
  t = after_push(hint, self);
  return t ? push_result::taken_back : push_result::pushed;
}

// Wakes a worker for the task that was pushed. If the pool stops, takes the task back instead, and
// returns it, unless stop() has found it.
task pool_core::after_push(std::uint32_t hint, worker& self) noexcept {
  if ((hint & stopping) != 0) return self.local->pop();
  worker* to_wake = nullptr;
  {
    const mutex_lock lock(mu_);
    to_wake = worker_to_wake();
  }
  if (to_wake != nullptr) to_wake->wake.unpark();
  return {};
}

// Numbers, counts and reports a task that a worker submits without the lock.
void pool_core::begin_local_submission(worker& self, task& t) {
  t.set_id(static_cast<std::uint64_t>(self.number) << 36 | ++self.added);
  self.counts.count_submitted();
  harness_.report_submitted(t);
}

// --- children

void pool_core::spawn(executor_scope& here, task& t) {
  worker& self = static_cast<worker_scope&>(here).self();
  const push_result result = push_local(self, t, true);
  if (result == push_result::pushed) return;
  if (result == push_result::not_pushed) begin_local_submission(self, t);
  self.counts.count(run(t, nullptr));
}

task* pool_core::slot_for_child(executor_scope& here) noexcept {
  worker& self = static_cast<worker_scope&>(here).self();
  if (harness_.observed()) return nullptr;  // the observer may fill the slot with a task of its own
  return has_local_room(self) ? &self.local->next_slot() : nullptr;
}

void pool_core::push_child_slot(executor_scope& here) noexcept {
  worker& self = static_cast<worker_scope&>(here).self();
  begin_local_submission(self, self.local->next_slot());
  self.local->push_next(true);
  const std::uint32_t hint = wake_hint_.load();  // seq_cst: after the push; see pool_core.hpp
  if (hint == 0) return;
  if (task back = after_push(hint, self)) self.counts.count(run(back, nullptr));
}

bool pool_core::run_child(executor_scope& here) noexcept {
  worker& self = static_cast<worker_scope&>(here).self();
  bool child = false;
  while (task t = self.local->pop(&child)) {
    if (child) {
      self.counts.count(run(t, nullptr));
      return true;
    }
    move_to_queue(self, t);
  }
  return false;
}

// Moves a task of the calling worker to the shared queue. If the pool stops, and has emptied that
// queue already, or there is no memory, cancels the task.
void pool_core::move_to_queue(worker& self, task& t) noexcept {
  worker* to_wake = nullptr;
  {
    const mutex_lock lock(mu_);
    if (life_.state() < life_state::stop) {
      try {
        queue_.push(std::move(t));
      } catch (...) {  // out of memory: `t` is unchanged, and is cancelled below
      }
    }
    to_wake = worker_to_wake();
  }
  if (to_wake != nullptr) to_wake->wake.unpark();
  if (!t) return;  // NOLINT(bugprone-use-after-move): a moved-from task is empty
  harness_.report(task_event::kind::cancelled, t);
  t.cancel();
  self.counts.count(run_result::cancelled_before);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
