// How a worker keeps track of its tasks; see worker_core.hpp.
#include <cstddef>
#include <cstdint>

#include <takt/base/detail/mutex.hpp>
#include <takt/rx/detail/error_collector.hpp>

#include "worker_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

// --- what is in the queue of a strand, or taken out of it

// It has run, or did not begin.
void worker_core::end_run(worker_task& a) noexcept {
  bool taken = false;  // by who cancelled it, or closed the worker, with what running_ owned
  if (kind_ == worker_place::kind::strand && !a.tracked_) {
    // acq_rel: what who took it has done with it
    taken = running_.exchange(nullptr, std::memory_order_acq_rel) != &a;
  }
  a.disown(taken ? 1 : 2);
}

// It has closed.
void worker_core::forget(worker_task& a) noexcept {
  if (a.tracked_) {
    untrack(a);
  } else if (kind_ == worker_place::kind::strand && a.timing_ == nullptr) {
    plain_ended_.fetch_add(1, std::memory_order_release);  // release: it was counted before
  }
}

// --- what is tracked

// \return whether it did; not, if this is closed.
bool worker_core::track(worker_task& a) noexcept {
  const mutex_lock lock(mu_);
  if (is_unsubscribed()) return false;
  a.own_unshared(1);
  a.tracked_ = true;
  a.in_ = worker_task::list::tracked;
  // relaxed: written under the lock
  a.number_ = last_number_.load(std::memory_order_relaxed) + 1;
  last_number_.store(a.number_, std::memory_order_relaxed);
  tracked_.push_back(a);
  ++tracked_size_;
  return true;
}

// The caller owns it, too.
void worker_core::untrack(worker_task& a) noexcept {
  {
    const mutex_lock lock(mu_);
    if (a.in_ != worker_task::list::tracked) return;
    a.in_ = worker_task::list::none;
    tracked_.erase(a);
    --tracked_size_;
  }
  a.disown();
}

// Closes those that are tracked, up to a number.
void worker_core::close_tracked(std::uint64_t until, error_collector& errors) noexcept {
  for (;;) {
    worker_task* next = nullptr;
    {
      const mutex_lock lock(mu_);
      if (tracked_.empty() || tracked_.front().number_ > until) return;
      next = tracked_.pop_front();
      next->in_ = worker_task::list::none;
      --tracked_size_;
    }
    errors.run([next] { next->unsubscribe(); });
    next->disown();
  }
}

std::size_t worker_core::tracked() const noexcept {
  // acquire: those that have ended are among those that were scheduled; relaxed: a figure
  const std::size_t ended = plain_ended_.load(std::memory_order_acquire);
  std::size_t plain = plain_scheduled_.load(std::memory_order_relaxed) - ended;
  if (is_unsubscribed()) plain = 0;  // they are closed, or about to be
  const mutex_lock lock(mu_);
  return tracked_size_ + plain;
}

// --- what runs although it was cancelled

bool worker_core::await_end(const worker_task& a, clock::time_point deadline,
                            const sync::stop_token& stop) {
  mutex_lock lock(mu_);
  bool waits = true;
  while (!a.has_ended()) {
    if (!waits) return false;
    waits = ended_.wait_until(lock, *time_, deadline, stop);
  }
  return true;
}

// Those that are cancelled by this worker's end are asked there.
void worker_core::stop_what_runs() noexcept {
  mutex_lock lock(mu_);
  going_ = true;
  while (worker_task* const a = cancelled_.pop_front()) {
    a->in_ = worker_task::list::none;
    a->own();  // it is still there, for it has not forgotten itself
    lock.unlock();
    a->request_stop();
    a->disown();
    lock.lock();
  }
}

void worker_core::keep_running(worker_task& a) noexcept {
  if (a.tracked_) untrack(a);
  {
    const mutex_lock lock(mu_);
    if (a.has_ended()) return;
    if (!going_) {
      a.in_ = worker_task::list::cancelled;
      cancelled_.push_back(a);
      return;
    }
  }
  a.request_stop();
}

void worker_core::wake_joiners() noexcept {
  const mutex_lock lock(mu_);
  ended_.notify_all();
}

void worker_core::forget_running(worker_task& a) noexcept {
  const mutex_lock lock(mu_);
  if (a.in_ == worker_task::list::cancelled) {
    a.in_ = worker_task::list::none;
    cancelled_.erase(a);
  }
  ended_.notify_all();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
