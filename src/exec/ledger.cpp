#include "ledger.hpp"

#include <optional>
#include <utility>

namespace takt::inline TAKT_ABI {

void ledger::tell(task_event::kind what, const task& t) const noexcept {
  if (observer_ == nullptr) return;
  observer_->on_event(
      {.what = what, .id = t.id(), .name = t.name(), .when = time_.now(), .due = t.deadline()});
}

void ledger::tell_submitted(task& t) const noexcept {
  if (observer_ == nullptr) return;
  t.set_deadline(time_.now());
  tell(task_event::kind::submitted, t);
}

run_result ledger::run_watched(task& t, const lifecycle& life, running_task* where,
                               const run_hooks& hooks, std::exception_ptr* caught) const noexcept {
  if (t.is_cancelled()) {
    tell(task_event::kind::cancelled, t);
    t = task();
    return run_result::cancelled_before;
  }
  future_core* const state = t.state();
  if (where != nullptr && state != nullptr) {
    where->enter(t);
    if (life.state() >= life_state::stop) state->request_stop();
  }
  std::optional<task_event> event;
  if (observer_ != nullptr) {
    const auto now = time_.now();
    event = {.what = task_event::kind::started,
             .id = t.id(),
             .name = t.name(),
             .when = now,
             .due = t.deadline(),
             .began = now};
    observer_->on_event(*event);
  }
  auto result = run_result::finished;
  std::exception_ptr uncaught;
  bool begun = false;
  try {
    if (hooks.before != nullptr) (*hooks.before)(t);
    begun = true;
    const task_outcome outcome = t.run();
    if (outcome == task_outcome::failed) result = run_result::failed;
    if (outcome == task_outcome::cancelled) result = run_result::cancelled_within;
  } catch (...) {
    result = run_result::failed;
    uncaught = std::current_exception();
  }
  if (!begun && t.has_future()) {
    state->fail(std::exchange(uncaught, nullptr));
  }
  if (hooks.after != nullptr) (*hooks.after)(t, uncaught);
  if (where != nullptr) where->leave(t);
  if (t) t = task();
  if (uncaught != nullptr) pass_on(uncaught, caught);
  if (event) {
    event->when = time_.now();
    event->failed = result == run_result::failed;
    const bool cancelled = result == run_result::cancelled_within;
    event->what = cancelled ? task_event::kind::ran : task_event::kind::finished;
    observer_->on_event(*event);
    event->what = task_event::kind::cancelled;
    if (cancelled) observer_->on_event(*event);
  }
  return result;
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

std::size_t ledger::end_unstarted(task_list& unstarted, bool give_back) const noexcept {
  std::size_t ended = 0;
  for (task& t : unstarted) {
    if (give_back && !t.is_cancelled()) {
      tell(task_event::kind::returned, t);
      if (future_core* state = t.state()) state->set_home(nullptr);
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
