// An action is
//   idle      open and not scheduled
//   pending   request() has arranged for it to run: it is in the queue, or has a timer, or an entry
//             in virtual time
//   running   its work is being called; it may be pending again meanwhile
//   closed    permanently
//
//   idle, pending, running -> pending   start(): schedule()
//   pending -> running                  execute()
//   running -> idle                     it was not scheduled again
//   any -> closed                       unsubscribe(), or an error of its work
//
// Invariants
//   1. A pending action is in pending_, so close() finds every action that would run. Its queue
//      entries, its timer or its entry in virtual time own it: objects that belong to the
//      scheduler.
//   2. A closed action has no queue entry, timer or entry in virtual time. An action that another
//      thread has closed may have them until come_home(), or until the scheduler finds it closed
//      and removes it.
//   3. Work is destroyed when its action is closed and not running.
#include <takt/rx/action_scheduler.hpp>

#include <stdexcept>

#include <takt/rx/detail/error_collector.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

// --- action_node

action_node::~action_node() { home_->release(); }

bool action_node::may_schedule() const {
  if (is_unsubscribed() || home_->scheduler == nullptr) return false;
  home_->scheduler->check_thread();
  return true;
}

void action_node::schedule(std::chrono::nanoseconds delay) {
  home_->scheduler->start(*this, delay);
}

void action_node::come_home() noexcept {
  if (home_->scheduler != nullptr) {
    home_->scheduler->remove_action(*this);
  } else if (runs_ == 0) {
    drop_work();
  }
}

void action_node::on_unsubscribe() {
  if (home_->scheduler == nullptr || !home_->scheduler->is_elsewhere(*this)) come_home();
}

// --- action_scheduler

action_scheduler::action_scheduler() : home_(new detail::action_home(*this)) {}

action_scheduler::~action_scheduler() {
  home_->scheduler = nullptr;
  while (detail::action_entry* const e = queue_.pop_front()) {
    action_ref dropped(e->action, std::in_place);
    if (e != &dropped->entry_) delete e;
  }
  while (pending_.pop_front() != nullptr) {
  }
  home_->release();
}

void action_scheduler::close() noexcept {
  while (!pending_.empty()) {
    const action_ref a(pending_.front());
    remove_action(*a);
    a->unsubscribe(terminate_on_unhandled);
  }
}

void action_scheduler::start(action_node& a, std::chrono::nanoseconds delay) {
  const action_ref kept(a);  // recycle() may release its last owner
  const bool requested = recycle(a, delay);
  a.delay_ = delay;
  set_pending(a, false);
  set_pending(a, true);  // behind all other actions
  if (requested) return;
  const std::uint64_t begun = a.begun_;
  try {
    request(a, delay);
  } catch (const rejected&) {
    if (a.begun_ != begun) throw;  // it has run, and this is an error of its work
    refuse(a);
  } catch (...) {
    if (a.begun_ == begun) set_pending(a, false);
    throw;
  }
}

// The loop of the scheduler rejects it.
void action_scheduler::refuse(action_node& a) {
  a.mark_rejected();
  a.unsubscribe();
  remove_action(a);  // if another thread has closed it, and could not post that either
}

// Removes an action that is closed, or about to be. Does nothing a second time.
void action_scheduler::remove_action(action_node& a) noexcept {
  const action_ref kept(a);
  set_pending(a, false);
  dequeue(a);
  static_cast<void>(recycle(a, std::nullopt));
  a.removed_ = true;
  if (a.runs_ == 0) a.drop_work();
}

void action_scheduler::set_pending(action_node& a, bool pending) noexcept {
  if (a.pending_ == pending) return;
  a.pending_ = pending;
  if (pending) {
    pending_.push_back(a);
  } else {
    pending_.erase(a);
  }
}

std::vector<action_ref> action_scheduler::pending() {
  std::vector<action_ref> all;
  for (action_node& a : pending_) all.emplace_back(a);
  return all;
}

action_ref action_scheduler::first_pending() noexcept {
  return pending_.empty() ? action_ref() : action_ref(pending_.front());
}

// --- the queue

void action_scheduler::enqueue(action_node& a, std::uint64_t batch) {
  detail::action_entry* entry = &a.entry_;
  if (entry->is_linked()) {
    entry = new detail::action_entry;
    ++a.extra_entries_;
  }
  entry->action = &a;
  entry->batch = batch;
  queue_.push_back(*entry);
  a.own();
}

void action_scheduler::dequeue(action_node& a) noexcept {
  if (!a.entry_.is_linked() && a.extra_entries_ == 0) return;
  const action_ref kept(a);
  if (a.entry_.is_linked()) {
    queue_.erase(a.entry_);
    a.disown();
  }
  for (auto at = queue_.begin(); a.extra_entries_ != 0;) {
    detail::action_entry& e = *at++;
    if (e.action != &a) continue;
    queue_.erase(e);
    delete &e;
    --a.extra_entries_;
    a.disown();
  }
}

bool action_scheduler::has_queued(std::uint64_t batch) const noexcept {
  return !queue_.empty() && queue_.back().batch == batch;
}

action_ref action_scheduler::take(std::uint64_t batch) noexcept {
  while (!queue_.empty() && queue_.front().batch == batch) {
    detail::action_entry* const e = queue_.pop_front();
    action_ref a(e->action, std::in_place);
    if (e != &a->entry_) {
      delete e;
      --a->extra_entries_;
    }
    if (!a->is_unsubscribed()) return a;
    remove_action(*a);
  }
  return {};
}

// --- running

std::exception_ptr action_scheduler::execute(action_node& a) noexcept {
  if (a.is_unsubscribed()) {
    if (!a.removed_) {  // closed by another thread, which cannot always post that to the loop
      remove_action(a);
      return nullptr;
    }
    return std::make_exception_ptr(
        std::logic_error("takt::rx::action_scheduler: executing a cancelled action"));
  }
  set_pending(a, false);
  std::exception_ptr error;
  ++a.begun_;
  ++a.runs_;
  try {
    a.call();
  } catch (...) {
    error = std::current_exception();
  }
  --a.runs_;
  if (error != nullptr) {
    try {
      detail::error_collector errors;
      errors.run([&] { std::rethrow_exception(error); });
      errors.run([&] { a.unsubscribe(); });
      errors.throw_if_any();
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (a.is_unsubscribed()) {
    remove_action(a);
  } else if (!a.pending_) {
    static_cast<void>(recycle(a, std::nullopt));
  }
  return error;
}

void action_scheduler::flush_from(action_node& due) {
  if (draining_) {
    enqueue(due);
    return;
  }
  draining_ = true;
  const std::exception_ptr error = run_all(action_ref(due), 0);
  draining_ = false;
  if (error != nullptr) abandon(error, 0);
}

void action_scheduler::drain(std::uint64_t batch) {
  if (const std::exception_ptr error = run_all(take(batch), batch)) abandon(error, batch);
}

// Runs an action, and then those at the front of the queue, until one throws.
std::exception_ptr action_scheduler::run_all(action_ref first, std::uint64_t batch) noexcept {
  for (action_ref a = std::move(first); a; a = take(batch)) {
    if (std::exception_ptr error = execute(*a)) return error;
  }
  return nullptr;
}

void action_scheduler::abandon(const std::exception_ptr& error, std::uint64_t batch) {
  detail::error_collector errors;
  errors.run([&] { std::rethrow_exception(error); });
  while (const action_ref rest = take(batch)) {
    errors.run([&] { rest->unsubscribe(); });
    remove_action(*rest);  // as in refuse()
  }
  errors.throw_if_any();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
