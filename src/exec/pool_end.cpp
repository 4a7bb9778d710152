#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>

#include "ending_guard.hpp"
#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

void pool_core::end() noexcept {
  if (options_.terminated != nullptr) options_.terminated();
  life_.terminate();
}

void pool_core::end_if_over() noexcept {
  bool last = false;
  {
    const mutex_lock lock(mu_);
    const bool drained = is_drained();
    // Idle workers may have stayed for delayed tasks.
    if (drained && life_.state() == life_state::shutdown) wake_all_idle();
    last = life_.try_tidy(drained);
  }
  if (last) end();
}

void pool_core::shutdown() noexcept {
  const ending_guard ending(*this, life_);
  {
    const mutex_lock lock(mu_);
    if (!life_.advance_to(life_state::shutdown)) return;
    // Before any worker sees the new state, and leaves because nothing is left.
    if (delayed_ != nullptr) delayed_->close(false);
    wake_all_idle();
    room_.notify_all();
  }
  if (delayed_ != nullptr) delayed_->cancel_unwanted();
}

// Returns the tasks that have not begun, or cancels them and returns none.
task_list pool_core::stop(bool return_tasks) noexcept {
  deferred_continuations::run();  // first: they may wait for tasks that are removed below
  const ending_guard ending(*this, life_);
  if (!ending) return {};
  task_list unstarted;
  task_list added;  // behind those in `unstarted`
  task_list from_local;
  std::size_t cancelled = 0;
  bool first = false;
  {
    mutex_lock lock(mu_);
    first = life_.advance_to(life_state::stop);
    if (delayed_ != nullptr) delayed_->close(true);  // before stop is requested of running tasks
    wake_all_idle();                                 // also closes the queue
    room_.notify_all();
    unstarted = queue_.take_front();
    added = queue_.take_back();
    from_local = std::move(reserved_for_stop_);
    // When the search has ended, the stolen tasks are in the thief's local queue.
    while (stealing_) workers_changed_.wait_until(lock, *options_.time, clock::time_point::max());
  }
  task_queue::sort(unstarted, options_.order);
  unstarted.append(std::move(added));
  // acquire: the slots
  for (worker* w = newest_.load(std::memory_order_acquire); w != nullptr; w = w->older) {
    if (steals_ && first) {
      // A worker that pushes a task later sees wake_hint_, and takes the task back.
      for (task t; w->local->steal(t);) cancelled += harness_.keep_or_cancel(t, from_local);
    }
    w->running.request_stop();
  }
  unstarted.append(std::move(from_local));
  // A task without a deadline was due at once.
  for (task& t : unstarted) {
    if (t.deadline() == clock::time_point::min()) t.set_deadline(options_.time->now());
  }
  cancelled += harness_.end_unstarted(unstarted, return_tasks);
  const std::size_t returned = unstarted.size();
  if (delayed_ != nullptr) delayed_->stop(unstarted, return_tasks);  // counts its tasks itself
  const mutex_lock lock(mu_);
  harness_.totals.cancelled += cancelled;
  harness_.totals.returned += returned;
  return unstarted;
}

void pool_core::destroy(const char* component) noexcept {
  if (life_.is_used_here()) refuse_own_destruction(component);
  static_cast<void>(stop(false));
  if (delayed_ != nullptr) delayed_->await_reports();  // the observer may be destroyed afterwards
  sync::thread last;
  bool is_unused = false;
  const std::size_t own = executor_scope::of(this) != nullptr ? 1 : 0;
  if (own == 0 && !is_ending_here(life_)) {
    life_.await_unused();
    const mutex_lock lock(mu_);
    last = std::move(unjoined_);
    is_unused = true;
  } else {
    mutex_lock lock(mu_);
    while (life_.workers() != own) {
      workers_changed_.wait_until(lock, *options_.time, clock::time_point::max());
    }
    last = std::move(unjoined_);
    orphaned_ = true;
  }
  deferred_continuations::run();  // the thread's on_exit hook may wait for them
  if (last.joinable()) last.join();
  if (is_unused) release_functions();
  release();
}

// Destroys the user's functions before the destructor of the pool returns. The core itself may live
// longer: a call that has ended the pool, or a handle, may still have a reference.
void pool_core::release_functions() noexcept {
  options_.before = nullptr;
  options_.after = nullptr;
  options_.terminated = nullptr;
  options_.thread = {};
  options_.rejection = rejection_policy::fail();
  decorate_ = nullptr;
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
