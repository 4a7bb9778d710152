#include <takt/sched/scheduler.hpp>

#include <string>

#include <takt/exec/executor.hpp>

#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

timer_handle scheduler::execute(when due, task t, const timer_options& more) {
  if (!t) throw std::invalid_argument("takt::scheduler: the task is empty");
  if (!more.name.view().empty()) t.set_name(more.name);
  return {add(due.on(time()), std::move(t), more.slack, nullptr, nullptr), {}};
}

timer_place scheduler::add(clock::time_point due, task t, std::chrono::nanoseconds slack,
                           timer_place* place, period_state* periods) {
  if (slack < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::scheduler: the slack is negative (" +
                                std::to_string(slack.count()) + " ns)");
  }
  return delays_.add(due, t, slack, place, periods);
}

void scheduler::check_period(std::chrono::nanoseconds period) { delay_queue::check_period(period); }

timer_awaiter::~timer_awaiter() {
  on_stop_.reset();
  if (!arrival_.valid()) return;  // it has been resumed
  arrival_.state().remove_continuation(*this);
  arrival_.cancel();
}

// Nothing resumes the coroutine before the last line, after which *this may be gone.
bool timer_awaiter::await_suspend(std::coroutine_handle<> waiting) {
  arrival_ = timers_.schedule(due_, resume_point());
  if (stop_.stop_possible()) on_stop_.emplace(stop_, cancel_arrival{*this});
  resumes = waiting;
  return arrival_.state().try_set_continuation(*this);
}

}  // namespace takt::inline TAKT_ABI
