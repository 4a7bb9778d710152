// How a wheel_scheduler ends, and what becomes of the timers that wait.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../exec/ending_guard.hpp"
#include "wheel_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

// Takes the task out of its place. A paused one gets the deadline that it would have now.
task wheel_core::take_task(timer_node& n, std::uint32_t index, bool is_paused) noexcept {
  task t = task::unpack(nodes_.closure(index), n.packed);
  time_point deadline = deadline_of(n);
  if (is_paused || n.begins_with != 0) {
    deadline = deadline_after(time_.now(), deadline.time_since_epoch());
  }
  t.set_deadline(deadline);
  t.set_id(std::uint64_t{index} + 1);
  if (n.has_more) {
    const timer_details& d = nodes_.details(index);
    t.set_name(d.name);
    if (d.id != 0) t.set_id(d.id);
  }
  return t;
}

// Ends one, if it is in one of these phases, and gives its task.
bool wheel_core::take(std::uint32_t index, std::uint32_t phases, task& t, bool* marked) noexcept {
  timer_node& n = nodes_[index];
  if (!n.try_lock(phases)) return false;
  t = take_task(n, index, n.locked_phase() == node::paused);
  if (marked != nullptr) *marked = n.run_at_close;
  end_locked(n, index);
  return true;
}

// All that wait. After stage_ is no longer open.
template <class End>
void wheel_core::take_all(End end) noexcept {
  {
    const mutex_lock lock(mu_);
    while (!take_in()) sync::yield();  // what was accepted before that is seen below
  }
  task t;
  bool marked = false;
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    if (take(i, waits, t, &marked)) end(t, marked);
  }
}

// The same, the earliest first; what is paused comes last.
template <class End>
void wheel_core::take_all_in_order(End end) noexcept {
  std::array<timer_id, most_due> found;
  std::size_t count = 0;
  task t;
  bool marked = false;
  // What was found, and is not due later: it was moved then, or is another one in its place.
  const auto take_found = [&](std::uint64_t key) {
    for (std::size_t i = 0; i < count; ++i) nodes_.prefetch(found[i].index);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t index = found[i].index;
      if (key_of(hand_over_time(nodes_[index])) > key) {
        const mutex_lock lock(mu_);
        place(index, 0, nullptr);
      } else if (take(index, node::in(node::armed), t, &marked)) {
        end(t, marked);
      }
    }
  };
  {
    const mutex_lock lock(mu_);
    while (!take_in()) sync::yield();  // else what is in a place may be a delay, and no time
    count = due_count_;
    std::copy_n(due_.begin(), count, found.begin());
  }
  take_found(key_at(time_.now()));  // what the timer thread has not come to
  for (;;) {
    std::uint64_t key = 0;
    {
      const mutex_lock lock(mu_);
      while (!take_in()) sync::yield();
      if (order_.size() == 0) break;
      key = order_.next();
      count = order_.advance(key, found);
    }
    take_found(key);
  }
  take_all(end);
}

void wheel_core::cancel_taken(task& t) noexcept {
  cancelled_.add();
  harness_.report(task_event::kind::cancelled, t);
  t.cancel();
}

// After one has ended: it may have been the last.
void wheel_core::wake_if_closing() noexcept {
  // seq_cst: see invariant 5
  if (stage_.load(std::memory_order_seq_cst) != stage::open) wake();
}

bool wheel_core::set_stage(stage to) noexcept {
  stage from = stage_.load(std::memory_order_seq_cst);  // seq_cst, both: see invariant 5
  while (from < to) {
    if (stage_.compare_exchange_weak(from, to, std::memory_order_seq_cst)) return true;
  }
  return false;
}

// After shutdown.
void wheel_core::end_series_and_paused() noexcept {
  {
    const mutex_lock lock(mu_);
    while (!take_in()) sync::yield();  // as in take_all()
  }
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    timer_node& n = nodes_[i];
    if (!n.try_lock(waits)) continue;
    const node::phase phase = n.locked_phase();
    const bool series = n.has_more && nodes_.details(i).periods != nullptr;
    if (phase == node::armed && !series) {
      n.unlock(phase);
      continue;
    }
    task t = take_task(n, i, phase == node::paused);
    end_locked(n, i);
    cancel_taken(t);
  }
  wake();
}

void wheel_core::shutdown() noexcept {
  const ending_guard ending(*this, life_);
  life_.advance_to(life_state::shutdown);
  if (set_stage(stage::closed)) end_series_and_paused();
}

void wheel_core::ask_series_to_stop() noexcept {
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    timer_node& n = nodes_[i];
    if (!n.try_lock(node::in(node::running))) continue;
    future_core* const found = nodes_.details(i).series;
    if (found != nullptr) found->retain();
    const intrusive_ptr<future_core> series(found);
    n.unlock(node::running);
    if (series) series->request_stop();
  }
}

// By a call that holds it, and ends what waits.
void wheel_core::begin_stop() noexcept {
  life_.advance_to(life_state::stop);
  set_stage(stage::stopped);
  wake();
}

// By such a call, when nothing waits any more.
void wheel_core::end_stop() noexcept {
  const mutex_lock lock(mu_);
  none_waits_ = true;
  for (; left_holds_ != 0; --left_holds_) life_.release_hold();
}

task_list wheel_core::stop(bool give_back) noexcept {
  deferred_continuations::run();  // now: they may wait for what this call is about to take
  const ending_guard ending(*this, life_);
  task_list rest;
  begin_stop();
  ask_series_to_stop();
  take_all([&](task& t, bool /*marked*/) {
    t.end_periods();
    if (!give_back || t.is_cancelled() || resume_point::is_in(t)) {
      cancel_taken(t);
    } else if (harness_.keep_or_cancel(t, rest) == 0) {
      harness_.mark_returned(rest.back());
      returned_.add();
    } else {
      cancelled_.add();
    }
  });
  end_stop();
  return rest;
}

task_list wheel_core::close(nanoseconds timeout, at_close policy) {
  throw_if_timer_thread();
  const time_point until = deadline_after(time_.now(), timeout);
  deferred_continuations::run();  // as in stop()
  const ending_guard ending(*this, life_);
  begin_stop();
  ask_series_to_stop();  // one may be with the timer thread
  if (!thread_ended_.wait_until(until)) {
    const mutex_lock lock(mu_);
    if (!none_waits_ && life_.hold()) ++left_holds_;
    throw std::system_error(std::make_error_code(std::errc::timed_out),
                            "takt::wheel_scheduler: the timer thread has not ended within " +
                                std::to_string(timeout.count()) + " ns");
  }
  task_list rest;
  ask_series_to_stop();
  take_all_in_order([&](task& t, bool marked) {
    t.end_periods();
    const bool unwanted = t.is_cancelled() || resume_point::is_in(t);
    const bool runs = policy == at_close::run_all || (policy == at_close::run_marked && marked);
    if (!unwanted && runs) {
      const run_result result = run_task(t);
      if (result == run_result::failed) failed_.add();
      if (result == run_result::cancelled_within) ran_.add();
      (result < run_result::cancelled_before ? finished_ : cancelled_).add();
    } else if (!unwanted && policy == at_close::give_back &&
               harness_.keep_or_cancel(t, rest) == 0) {
      harness_.mark_returned(rest.back());
      returned_.add();
    } else if (t) {
      cancel_taken(t);
    } else {
      cancelled_.add();
    }
  });
  end_stop();
  return rest;
}

void wheel_core::throw_if_timer_thread() const {
  if (!is_timer_thread()) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::wheel_scheduler: the timer thread would wait for itself");
}

void wheel_core::throw_if_own_task() const {
  throw_if_timer_thread();
  if (executor_scope::of(this) == nullptr && !is_ending_here(life_)) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::wheel_scheduler: one of its own tasks waits for its termination");
}

// One that has not come to its end when its executor has it: a run of a series, or by close().
run_result wheel_core::run_task(task& t) noexcept {
  const runner here(this);
  return harness_.run(t, life_, nullptr);
}

void wheel_core::destroy() noexcept {
  // After fork() the thread is not in this process, and the mutex is in no known state.
  if (!home_.is_here()) return;
  if (is_timer_thread() || executor_scope::of(this) != nullptr ||
      executor_scope::of(&harness_) != nullptr || is_ending_here(life_)) {
    refuse_own_destruction("takt::wheel_scheduler");
  }
  static_cast<void>(stop(false));
  deferred_continuations::run();  // before it waits for its thread
  // acquire: those who have cancelled tasks have told the observer, which may go after that
  while (telling_.load(std::memory_order_acquire) != 0) sync::yield();
  life_.await_unused();
  thread_.join();
  options_.thread = {};  // a call that has ended the wheel may keep the core for longer
  release();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
