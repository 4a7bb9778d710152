#include <utility>

#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {

void pool_core::end() noexcept {
  if (how_.terminated != nullptr) how_.terminated();
  life_.terminate();
}

void pool_core::shutdown() noexcept {
  mutex_lock lock(mu_);
  if (!life_.advance_to(life_state::shutdown)) return;
  recall_idle();
  room_.notify_all();
  const bool last = life_.try_tidy(queue_.empty());
  lock.unlock();
  if (last) end();
}

// What is added later is taken back by who adds it. \return how many there was no memory for, which
// are cancelled.
std::size_t pool_core::empty_ring(worker_ring& ring, task_list& unstarted) const noexcept {
  std::size_t cancelled = 0;
  for (task t; ring.steal(t);) {
    try {
      unstarted.push_back(std::move(t));
    } catch (...) {
      book_.tell(task_event::kind::cancelled, t);
      t.cancel();
      ++cancelled;
    }
  }
  return cancelled;
}

// Gives back what has not begun, or cancels it and gives back nothing.
task_list pool_core::stop(bool give_back) noexcept {
  task_list unstarted;
  std::size_t cancelled = 0;
  bool holds = false;
  {
    mutex_lock lock(mu_);
    // Counts as a worker, so that the pool does not end before what was queued has ended.
    holds = life_.add_worker();
    holds_ += holds ? 1U : 0U;
    life_.advance_to(life_state::stop);
    unstarted = queue_.take_all();
    recall_idle();
    room_.notify_all();
    // What it has stolen is in its ring then.
    while (searching_) gone_.wait_until(lock, *how_.time, clock::time_point::max());
  }
  // acquire: the slots
  for (worker* w = newest_.load(std::memory_order_acquire); w != nullptr; w = w->older) {
    if (steals_) cancelled += empty_ring(*w->ring, unstarted);
    w->running.request_stop();
  }
  task_queue::sort(unstarted, how_.order);
  cancelled += book_.end_unstarted(unstarted, give_back);
  bool last = false;
  {
    const mutex_lock lock(mu_);
    book_.totals.cancelled += cancelled;
    book_.totals.returned += unstarted.size();
    if (holds) {
      --holds_;
      life_.remove_worker();
      gone_.notify_all();
    }
    last = life_.try_tidy(true);
  }
  if (last) end();
  return unstarted;
}

void pool_core::destroy() noexcept {
  static_cast<void>(stop(false));
  sync::thread last;
  if (task_runner::of(this) == nullptr) {
    life_.await(clock::time_point::max(), {});
    const mutex_lock lock(mu_);
    last = std::move(last_gone_);
  } else {
    mutex_lock lock(mu_);
    while (life_.workers() != 1) gone_.wait_until(lock, *how_.time, clock::time_point::max());
    last = std::move(last_gone_);
    orphaned_ = true;
  }
  if (last.joinable()) last.join();
  release();
}

}  // namespace takt::inline TAKT_ABI
