#include "task_harness.hpp"

#include <optional>
#include <utility>

#include <takt/exec/executor.hpp>

namespace takt::inline TAKT_ABI {

void task_harness::report(task_event::kind what, const task& t) const noexcept {
  if (observer_ == nullptr) return;
  observer_->on_event(
      {.what = what, .id = t.id(), .name = t.name(), .when = time_.now(), .due = t.deadline()});
}

void task_harness::report_missed(const task& t, std::uint64_t runs) const noexcept {
  if (observer_ == nullptr) return;
  observer_->on_event({.what = task_event::kind::missed,
                       .id = t.id(),
                       .name = t.name(),
                       .when = time_.now(),
                       .due = t.deadline(),
                       .runs_missed = runs});
}

std::optional<task_event> task_harness::started_event(const task& t) const noexcept {
  if (observer_ == nullptr) return std::nullopt;
  const auto now = time_.now();
  return task_event{.what = task_event::kind::started,
                    .id = t.id(),
                    .name = t.name(),
                    .when = now,
                    .due = t.deadline(),
                    .began = now};
}

std::optional<task_event> task_harness::report_started(const task& t) const noexcept {
  std::optional<task_event> event = started_event(t);
  if (event) observer_->on_event(*event);
  return event;
}

void task_harness::report_ended(std::optional<task_event>& begun,
                                run_result result) const noexcept {
  if (!begun) return;
  begun->when = time_.now();
  begun->failed = result == run_result::failed;
  const bool cancelled = result == run_result::cancelled_within;
  const bool goes_on = cancelled || result == run_result::again;
  begun->what = goes_on ? task_event::kind::ran : task_event::kind::finished;
  observer_->on_event(*begun);
  begun->what = task_event::kind::cancelled;
  if (cancelled) observer_->on_event(*begun);
}

run_result task_harness::run_observed(task& t, const lifecycle& life, running_task* running,
                                      const run_hooks& hooks,
                                      std::exception_ptr* caught) const noexcept {
  if (t.is_cancelled()) {
    report(task_event::kind::cancelled, t);
    t = task();
    return run_result::cancelled_before;
  }
  detail::future_core* const state = t.state();
  detail::intrusive_ptr<detail::future_core> kept;  // decorate() may move the task away
  if (state != nullptr && hooks.decorate != nullptr) {
    state->retain();
    kept = detail::intrusive_ptr<detail::future_core>(state);
  }
  if (running != nullptr && state != nullptr) {
    running->enter(*state);
    if (life.state() >= life_state::stop) state->request_stop();
  }
  std::optional<task_event> event = started_event(t);
  auto result = run_result::finished;
  std::exception_ptr uncaught;
  bool begun = false;     // `before` has returned
  bool reported = false;  // the observer has got the event
  try {
    if (hooks.before != nullptr) (*hooks.before)(t);
    begun = true;
    task instead;
    if (hooks.decorate != nullptr) {
      instead = decorate(t, *hooks.decorate);
      if (!instead) result = end_dropped(t, event);
    }
    if (result == run_result::finished) {
      reported = true;
      if (event) observer_->on_event(*event);
      result = hooks.decorate == nullptr ? result_of(t.run()) : run_instead(instead, t);
    } else {
      event.reset();
    }
  } catch (...) {
    result = run_result::failed;
    uncaught = std::current_exception();
    if (event && !reported) observer_->on_event(*event);
    if (t.has_future() && state->is_pending()) state->fail(std::exchange(uncaught, nullptr));
  }
  if (hooks.after != nullptr && begun) (*hooks.after)(t, uncaught);
  if (running != nullptr && state != nullptr) running->leave();
  if (t && result < run_result::again) t = task();
  if (uncaught != nullptr) report_uncaught(uncaught, caught);
  report_ended(event, result);
  return result;
}

run_result task_harness::result_of(task_outcome outcome) noexcept {
  switch (outcome) {
    case task_outcome::failed:
      return run_result::failed;
    case task_outcome::cancelled:
      return run_result::cancelled_within;
    case task_outcome::again:
      return run_result::again;
    default:
      return run_result::finished;
  }
}

// Calls the hook with a task that runs `t`. A task with a future stays in `t`: so its future gets
// the error if the hook throws, and a periodic task can run again. Any other task is moved.
task task_harness::decorate(task& t, const std::function<task(task)>& hook) {
  if (!t.has_future()) return hook(std::move(t));
  detail::future_core* const state = t.state();
  state->retain();
  detail::intrusive_ptr<detail::future_core> own(state);
  task run;
  if (t.is_periodic()) {
    run = task([own = std::move(own)] { static_cast<void>(own->run_and_reset()); });
  } else {
    run = task([own = std::move(own)] { own->run(); });
  }
  run.describe_as(t);
  return hook(std::move(run));
}

// The hook has dropped the task. A periodic task skips this run; any other task is cancelled.
run_result task_harness::end_dropped(const task& t,
                                     const std::optional<task_event>& event) const noexcept {
  if (t.is_periodic() && t.state()->is_pending()) return run_result::skipped;
  if (event) {  // not report(): `t` may have been moved
    task_event ended = *event;
    ended.what = task_event::kind::cancelled;
    ended.began = {};
    observer_->on_event(ended);
  }
  return run_result::cancelled_before;
}

run_result task_harness::run_instead(task& instead, const task& t) {
  const task_outcome outcome = instead.run();
  const detail::future_core* const state = t.state();
  if (state == nullptr) return result_of(outcome);
  if (t.is_periodic() && state->is_pending()) return run_result::again;
  if (!state->is_ready() || state->is_cancelled()) return run_result::cancelled_within;
  return state->has_value() ? run_result::finished : run_result::failed;
}

run_result task_harness::run_plain(task& t, std::exception_ptr* caught) const noexcept {
  try {
    return t.run() == task_outcome::cancelled ? run_result::cancelled_within : run_result::finished;
  } catch (...) {
    report_uncaught(std::current_exception(), caught);
    return run_result::failed;
  }
}

void task_harness::report_uncaught(const std::exception_ptr& uncaught,
                                   std::exception_ptr* caught) const noexcept {
  if (caught != nullptr) {
    *caught = uncaught;
  } else {
    unhandled_.on_unhandled(unhandled::uncaught, uncaught);
  }
}

std::size_t task_harness::keep_or_cancel(task& t, task_list& unstarted) const noexcept {
  try {
    unstarted.push_back(std::move(t));
    return 0;
  } catch (...) {
    report(task_event::kind::cancelled, t);
    t.cancel();
    return 1;
  }
}

void task_harness::mark_returned(task& t) const noexcept {
  report(task_event::kind::returned, t);
  if (detail::future_core* state = t.state()) state->set_home(nullptr);
}

std::size_t task_harness::end_unstarted(task_list& unstarted, bool return_tasks) const noexcept {
  std::size_t ended = 0;
  for (task& t : unstarted) {
    if (return_tasks && !t.is_cancelled() && !detail::resume_point::is_in(t)) {
      mark_returned(t);
    } else {
      report(task_event::kind::cancelled, t);
      t.cancel();
      ++ended;
    }
  }
  if (ended != 0) unstarted.remove_empty();
  return ended;
}

}  // namespace takt::inline TAKT_ABI
