#include <takt/sched/scheduler.hpp>

#include <string>

#include <takt/exec/executor.hpp>

namespace takt::inline TAKT_ABI {

timer_handle scheduler::execute(when due, task t, const timer_options& more) {
  if (!t) throw std::invalid_argument("takt::scheduler: the task is empty");
  if (!more.name.empty()) t.set_name(more.name);
  return {add(due, t, more, nullptr, nullptr), {}};
}

void scheduler::check_slack(std::chrono::nanoseconds slack) {
  if (slack >= std::chrono::nanoseconds(0)) return;
  throw std::invalid_argument("takt::scheduler: the slack is negative (" +
                              std::to_string(slack.count()) + " ns)");
}

timer_place scheduler::add(const when& due, task& t, const timer_options& more, timer_place* place,
                           period_state* periods) {
  check_slack(more.slack);
  return source_.add(due, t,
                     {.where = where_ ? &*where_ : nullptr,
                      .slack = more.slack,
                      .place = place,
                      .periods = periods,
                      .run_at_close = more.run_at_close});
}

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
