// What handles do to their timers.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "timer_math.hpp"
#include "wheel_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

using std::chrono::nanoseconds;

}  // namespace

void wheel_core::hold(timer_id id) noexcept { node_of(id).hold(); }

void wheel_core::let_go(timer_id id) noexcept {
  timer_node& n = node_of(id);
  const node::phase left = n.let_go();
  if (left != node::is_free) recycle(n, id.index, left == node::cancelled);
}

cancel_result wheel_core::cancel(timer_id id) noexcept {
  timer_node& n = node_of(id);
  const bool observed = harness_.observed();
  if (observed) telling_.fetch_add(1, std::memory_order_relaxed);  // relaxed: before the exchange
  const auto done = [&](cancel_result result) {
    if (observed) telling_.fetch_sub(1, std::memory_order_release);  // release: it was told
    return result;
  };
  const node::phase phase = n.cancel();
  if (phase != node::armed && phase != node::paused) {
    return done(phase == node::running ? cancel_result::running : cancel_result::done);
  }
  if (!observed && task::is_plain(n.packed)) {
    wake_if_closing();
    return cancel_result::prevented;
  }
  task t = observed ? take_task(n, id.index, phase == node::paused)
                    : task::unpack(nodes_.closure(id.index), n.packed);
  if (observed) {
    harness_.report(task_event::kind::cancelled, t);
    done(cancel_result::prevented);
  }
  wake_if_closing();
  t.cancel();  // which may let go of the last handle
  return cancel_result::prevented;
}

// Locks it, and sees to it that it has a deadline if it is armed.
timer_node::phase wheel_core::lock_stamped(timer_node& n) noexcept {
  for (;;) {
    const node::phase phase = n.lock();
    if (phase != node::armed || n.begins_with == 0) return phase;
    n.unlock(phase);
    const mutex_lock lock(mu_);
    if (!take_in()) sync::yield();
  }
}

// Whether a series that is running has a next run, unless its body ends it. By who has locked it.
bool wheel_core::runs_again(const timer_details& d) const noexcept {
  // seq_cst: see invariant 5
  return d.series != nullptr && !d.series->is_cancelled() &&
         stage_.load(std::memory_order_seq_cst) == stage::open;
}

bool wheel_core::reschedule(timer_id id, const due_time& due) noexcept {
  const time_point now = time_.now();
  const time_point next =
      due.is_delay() ? deadline_after(now, std::max(due.delay(), nanoseconds(0))) : due.on(time_);
  if (time_between(now, next) > max_delay()) return false;
  timer_node& n = node_of(id);
  const node::phase phase = n.lock();
  if (phase == node::running) {
    timer_details& d = nodes_.details(id.index);
    const bool goes_on = runs_again(d);
    if (goes_on) {
      d.paused = false;
      d.periods->moved_to = next;
    }
    n.unlock(phase);
    return goes_on;
  }
  if (phase != node::armed && phase != node::paused) {
    n.unlock(phase);
    return false;
  }
  const bool earlier =
      phase == node::paused || std::exchange(n.begins_with, 0) != 0 || next < deadline_of(n);
  n.deadline.store(count_of(next), std::memory_order_relaxed);  // relaxed: locked
  const time_point due_then = hand_over_time(n);
  n.unlock(node::armed);
  if (earlier) {
    enqueue(id.index, due_then);
    wake_if_closing();  // it may have found a gap
  }
  return true;
}

bool wheel_core::pause(timer_id id) noexcept {
  timer_node& n = node_of(id);
  const node::phase phase = lock_stamped(n);
  if (phase == node::running) {
    timer_details& d = nodes_.details(id.index);
    const bool paused = runs_again(d) && !std::exchange(d.paused, true);
    n.unlock(phase);
    return paused;
  }
  // Under the lock: who closes it looks at all timers afterwards, and waits for that.
  if (phase != node::armed || stage_.load(std::memory_order_seq_cst) != stage::open) {
    n.unlock(phase);
    return false;
  }
  // The clock last: its delay may only just have begun.
  const nanoseconds left = std::max(time_between(time_.now(), deadline_of(n)), nanoseconds(0));
  n.deadline.store(left.count(), std::memory_order_relaxed);  // relaxed: locked
  n.unlock(node::paused);
  return true;
}

bool wheel_core::resume(timer_id id) noexcept {
  timer_node& n = node_of(id);
  const node::phase phase = n.lock();
  if (phase == node::running) {
    timer_details& d = nodes_.details(id.index);
    const bool resumed = runs_again(d) && std::exchange(d.paused, false);
    n.unlock(phase);
    return resumed;
  }
  if (phase != node::paused) {
    n.unlock(phase);
    return false;
  }
  const nanoseconds left(n.deadline.load(std::memory_order_relaxed));  // relaxed: locked
  // The clock last: it may have been paused only now.
  n.deadline.store(count_of(deadline_after(time_.now(), left)), std::memory_order_relaxed);
  const time_point due = hand_over_time(n);
  n.unlock(node::armed);
  enqueue(id.index, due);
  wake_if_closing();  // as above
  return true;
}

clock::time_point wheel_core::next_time(timer_id id) noexcept {
  timer_node& n = node_of(id);
  const node::phase phase = lock_stamped(n);
  const time_point next = phase == node::armed ? deadline_of(n) : time_point::max();
  n.unlock(phase);
  return next;
}

nanoseconds wheel_core::time_left(timer_id id) noexcept {
  const time_point next = next_time(id);
  return next == time_point::max() ? never : time_between(time_.now(), next);
}

period_state wheel_core::look_at(timer_id id, const period_state& periods) noexcept {
  timer_node& n = node_of(id);
  const node::phase phase = n.lock();
  const period_state seen = periods;
  n.unlock(phase);
  return seen;
}

void wheel_core::change_period(timer_id id, period_state& periods, nanoseconds period) noexcept {
  timer_node& n = node_of(id);
  const node::phase phase = n.lock();
  periods.period = period;
  n.unlock(phase);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
