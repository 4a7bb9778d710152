// The timer of an action is
//   none    there is none
//   armed   a task of the loop is due at due_
//   fired   that task runs, and the action is running or about to. If the action is scheduled again
//           with the same delay meanwhile, the timer stays fired, and is armed again afterwards
//
// Unless the timer is `none`, the scheduler owns the action, because a loop that is shut down may
// drop the task.
#include <takt/rx/async_scheduler.hpp>

#include <stdexcept>
#include <utility>

#include <takt/task/errors.hpp>

#include "../sched/loop_intervals.hpp"
#include "../sched/timer_math.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

using std::chrono::nanoseconds;

struct async_scheduler::timer_task {
  action_ref action;
  void operator()() const {
    action_node& a = *action;
    if (a.is_unsubscribed()) {  // by another thread
      a.come_home();
    } else if (a.home_->scheduler != nullptr) {
      static_cast<async_scheduler*>(a.home_->scheduler)->fire(a);
    }
  }
};

void async_scheduler::request(action_node& a, nanoseconds delay) {
  a.due_ = deadline_after(now(), std::max(delay, nanoseconds(0)));
  arm(a);
}

bool async_scheduler::recycle(action_node& a, action_delay delay) noexcept {
  if (a.phase_ == action_node::timer_phase::none) return false;
  if (delay && *delay == a.delay() && !a.is_pending()) return true;
  a.phase_ = action_node::timer_phase::none;
  std::exchange(a.timer_, timer_handle()).cancel();
  a.disown();  // the caller owns it, too
  return false;
}

void async_scheduler::arm(action_node& a) {
  a.timer_ = detail::loop_intervals::execute(loop_, a.due_, timer_task{action_ref(a)});
  using phase = action_node::timer_phase;
  if (std::exchange(a.phase_, phase::armed) == phase::none) a.own();
}

void async_scheduler::fire(action_node& a) {
  using phase = action_node::timer_phase;
  a.phase_ = phase::fired;
  a.timer_ = timer_handle();
  const auto keep_interval = [&] {
    if (a.phase_ != phase::fired) return;
    if (a.is_unsubscribed()) {  // by another thread
      a.come_home();
      return;
    }
    if (a.delay() <= nanoseconds(0)) {
      a.due_ = now();
    } else {
      const detail::period_state grid{.period = a.delay(), .missed = missed_runs(nanoseconds(0))};
      a.due_ = next_run(grid, a.due_, now()).first;
    }
    try {
      arm(a);
    } catch (const rejected&) {
      refuse(a);
    } catch (...) {  // as if schedule() had thrown; queued entries will run
      async_scheduler::recycle(a, std::nullopt);
      if (!a.entry_.is_linked()) set_pending(a, false);
      throw;
    }
  };
  try {
    flush_from(a);
  } catch (...) {
    try {
      keep_interval();
    } catch (...) {  // only the first error leaves
    }
    throw;
  }
  keep_interval();
}

bool async_scheduler::is_elsewhere(action_node& closed) noexcept {
  if (loop_.running_in_this_thread()) return false;
  try {
    loop_.execute([kept = action_ref(closed)] { kept->come_home(); });
  } catch (...) {
    // The loop rejects it. If the action is pending, its timer finds it closed, or the scheduler's
    // destructor does; otherwise its work is destroyed with the last handle.
  }
  return true;
}

void async_scheduler::check_thread() const {
  if (loop_.running_in_this_thread() || !loop_.is_running()) return;
  throw std::logic_error(
      "takt::rx::action_scheduler: schedule() is for the thread that runs the loop; other threads "
      "post to the loop");
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
