#include "ledger.hpp"

#include <optional>
#include <utility>

#include <takt/exec/executor.hpp>

namespace takt::inline TAKT_ABI {

void ledger::tell(task_event::kind what, const task& t) const noexcept {
  if (observer_ == nullptr) return;
  observer_->on_event(
      {.what = what, .id = t.id(), .name = t.name(), .when = time_.now(), .due = t.deadline()});
}

void ledger::tell_missed(const task& t, std::uint64_t runs) const noexcept {
  if (observer_ == nullptr) return;
  observer_->on_event({.what = task_event::kind::missed,
                       .id = t.id(),
                       .name = t.name(),
                       .when = time_.now(),
                       .due = t.deadline(),
                       .runs_missed = runs});
}

std::optional<task_event> ledger::tell_started(const task& t) const noexcept {
  if (observer_ == nullptr) return std::nullopt;
  const auto now = time_.now();
  const task_event event{.what = task_event::kind::started,
                         .id = t.id(),
                         .name = t.name(),
                         .when = now,
                         .due = t.deadline(),
                         .began = now};
  observer_->on_event(event);
  return event;
}

void ledger::tell_ended(std::optional<task_event>& begun, run_result result) const noexcept {
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

run_result ledger::run_watched(task& t, const lifecycle& life, running_task* where,
                               const run_hooks& hooks, std::exception_ptr* caught) const noexcept {
  if (t.is_cancelled()) {
    tell(task_event::kind::cancelled, t);
    t = task();
    return run_result::cancelled_before;
  }
  future_core* const state = t.state();
  // Who decorates it may let go of it.
  state_ref<future_core> kept;
  if (state != nullptr && hooks.decorate != nullptr) {
    state->retain();
    kept = state_ref<future_core>(state);
  }
  if (where != nullptr && state != nullptr) {
    where->enter(*state);
    if (life.state() >= life_state::stop) state->request_stop();
  }
  std::optional<task_event> event = tell_started(t);
  auto result = run_result::finished;
  std::exception_ptr uncaught;
  bool begun = false;
  try {
    if (hooks.before != nullptr) (*hooks.before)(t);
    begun = true;
    const task_outcome outcome =
        hooks.decorate == nullptr ? t.run() : run_decorated(t, *hooks.decorate);
    if (outcome == task_outcome::failed) result = run_result::failed;
    if (outcome == task_outcome::cancelled) result = run_result::cancelled_within;
    if (outcome == task_outcome::again) result = run_result::again;
  } catch (...) {
    result = run_result::failed;
    uncaught = std::current_exception();
  }
  if (!begun && t.has_future()) {
    state->fail(std::exchange(uncaught, nullptr));
  }
  if (hooks.after != nullptr) (*hooks.after)(t, uncaught);
  if (where != nullptr && state != nullptr) where->leave();
  if (t && result != run_result::again) t = task();
  if (uncaught != nullptr) pass_on(uncaught, caught);
  tell_ended(event, result);
  return result;
}

// Of a periodic one each run is decorated; it stays as it is.
task_outcome ledger::run_decorated(task& t, const std::function<task(task)>& decorate) {
  future_core* const state = t.state();
  if (t.is_periodic()) {
    state->retain();
    task run(
        [series = state_ref<future_core>(state)] { static_cast<void>(series->run_and_reset()); });
    run.describe_as(t);
    try {
      run = decorate(std::move(run));
      if (run) run.run();
    } catch (...) {
      state->fail(std::current_exception());
    }
    if (state->is_pending()) return task_outcome::again;
  } else {
    t = decorate(std::move(t));
    const task_outcome outcome = t ? t.run() : task_outcome::finished;
    if (state == nullptr) return outcome;
  }
  if (!state->is_ready() || state->is_cancelled()) return task_outcome::cancelled;
  return state->has_value() ? task_outcome::finished : task_outcome::failed;
}

run_result ledger::run_plain(task& t, std::exception_ptr* caught) const noexcept {
  try {
    return t.run() == task_outcome::cancelled ? run_result::cancelled_within : run_result::finished;
  } catch (...) {
    pass_on(std::current_exception(), caught);
    return run_result::failed;
  }
}

void ledger::pass_on(const std::exception_ptr& uncaught,
                     std::exception_ptr* caught) const noexcept {
  if (caught != nullptr) {
    *caught = uncaught;
  } else {
    unhandled_.on_unhandled(unhandled::uncaught, uncaught);
  }
}

std::size_t ledger::keep(task& t, task_list& unstarted) const noexcept {
  try {
    unstarted.push_back(std::move(t));
    return 0;
  } catch (...) {
    tell(task_event::kind::cancelled, t);
    t.cancel();
    return 1;
  }
}

void ledger::give_back(task& t) const noexcept {
  tell(task_event::kind::returned, t);
  if (future_core* state = t.state()) state->set_home(nullptr);
}

std::size_t ledger::end_unstarted(task_list& unstarted, bool give_back) const noexcept {
  std::size_t ended = 0;
  for (task& t : unstarted) {
    if (give_back && !t.is_cancelled() && !resume_point::is_in(t)) {
      this->give_back(t);
    } else {
      tell(task_event::kind::cancelled, t);
      t.cancel();
      ++ended;
    }
  }
  if (ended != 0) unstarted.remove_empty();
  return ended;
}

}  // namespace takt::inline TAKT_ABI
