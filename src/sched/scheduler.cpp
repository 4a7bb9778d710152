#include <takt/sched/scheduler.hpp>

#include <string>
#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {

timer_handle scheduler::execute(due_time due, task t, const timer_options& options) {
  if (!t) throw std::invalid_argument("takt::scheduler: the task is empty");
  if (!options.name.empty()) t.set_name(options.name);
  return {add(due, t, options, nullptr, nullptr), {}};
}

void scheduler::check_slack(std::chrono::nanoseconds slack) {
  if (slack >= std::chrono::nanoseconds(0)) return;
  throw std::invalid_argument("takt::scheduler: the slack is negative (" +
                              std::to_string(slack.count()) + " ns)");
}

detail::timer_ref scheduler::add(const due_time& due, task& t, const timer_options& options,
                                 detail::timer_ref* place, detail::period_state* periods) {
  check_slack(options.slack);
  return source_.add(due, t,
                     {.executor = executor_ ? &*executor_ : nullptr,
                      .slack = options.slack,
                      .place = place,
                      .periods = periods,
                      .run_at_close = options.run_at_close});
}

detail::timer_awaiter::~timer_awaiter() {
  on_stop_.reset();  // first: it uses the wait
  if (withdraw()) result().cancel();
}

bool detail::timer_awaiter::await_ready() const noexcept {
  if (timers_.executor_ && !timers_.executor_->defers_resumption()) deferred_continuations::run();
  return false;
}

void detail::timer_awaiter::await_suspend(std::coroutine_handle<> waiting) {
  detail::intrusive_ptr<detail::awaited_timer> wait(
      new detail::awaited_timer(timers_.future_options()));
  wait->retain();
  future<void> arrival{detail::intrusive_ptr<detail::future_state<void>>(wait.get())};
  if (timers_.executor_ && !timers_.executor_->defers_resumption()) wait->never_defer();
  if (stop_.stop_possible()) on_stop_.emplace(stop_, cancel_wait{*wait});
  task t(detail::intrusive_ptr<detail::future_core>(wait.share().detach()), task_options{}, false);
  suspend_and_arm(
      waiting, std::move(arrival),
      [&timers = timers_, due = due_, wait = std::move(wait), t = std::move(t)]() mutable {
        if (wait->is_stopped()) throw cancelled();
        timers.add(due, t, {}, &wait->place, nullptr);
        wait->open_gate();
      });
}

}  // namespace takt::inline TAKT_ABI
