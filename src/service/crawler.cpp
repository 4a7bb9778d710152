// States and invariants: see crawler_impl.hpp.
#include <takt/service/crawler.hpp>

#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/base/detail/assert.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>

#include "../exec/ending_guard.hpp"
#include "crawler_impl.hpp"

namespace takt::inline TAKT_ABI {

void crawler::impl::start() {
  {
    const detail::mutex_lock lock(mu_);
    if (life_.state() != life_state::running) throw rejected(rejection::shut_down);
    started_ = true;
  }
  pump();
}

std::size_t crawler::impl::add(std::span<const work_item> items) {
  struct worker {  // keeps the crawler from ending before it has seen the items
    impl& of;
    ~worker() { of.remove_worker(); }
  };
  {
    const detail::mutex_lock lock(mu_);
    if (life_.state() != life_state::running || !life_.add_worker()) {
      throw rejected(rejection::shut_down);
    }
  }
  const worker here{*this};
  const std::size_t added = list_.enqueue(items);
  if (added != 0) pump();
  return added;
}

void crawler::impl::pump() noexcept {
  detail::mutex_lock lock(mu_);
  pump_again_ = pumping_;
  if (!started_ || pumping_ || !life_.add_worker()) return;
  pumping_ = true;
  do {
    pump_again_ = false;
    while (visits_ < options_.visits && life_.state() < life_state::stop) {
      claimed_item* next = ready_.pop_front();
      if (next == nullptr) {
        if (waiting_count_ == options_.waiting) break;
        lock.unlock();
        next = claim();
        const bool waits = next != nullptr && delay(*next);
        lock.lock();
        if (next == nullptr) break;
        if (waits) continue;
      }
      if (life_.state() >= life_state::stop) {  // stopped during the claim
        release_unstarted(*next, lock);
      } else {
        next->retain();  // the visit may end before execute() returns
        next->is_submitted = true;
        ++visits_;
        submitted_.push_back(*next);
        lock.unlock();
        submit_visit(*next);
        next->release();
      }
      lock.lock();
    }
  } while (pump_again_);
  pumping_ = false;
  lock.unlock();
  remove_worker();
}

// Claims an item and counts it as a worker. Null if there is none, or the crawler is ending.
crawler::impl::claimed_item* crawler::impl::claim() noexcept {
  std::optional<work_item> item;
  claimed_item* claimed = nullptr;
  try {
    item = list_.claim();
    if (!item) return nullptr;
    claimed = new claimed_item(std::move(*item));
  } catch (...) {
    fail(std::current_exception());
    try {
      if (item) list_.release(item->key);
    } catch (...) {  // the first error is reported
    }
    return nullptr;
  }
  detail::mutex_lock lock(mu_);
  ++totals_.submitted;
  if (life_.add_worker()) return claimed;
  ++totals_.returned;
  lock.unlock();
  release_item(*claimed);
  return nullptr;
}

// Passes the item to the timers, unless it may begin now. \return true if the caller no longer has
// it: it was passed on or released.
bool crawler::impl::delay(claimed_item& claimed) {
  if (!options_.not_before) return false;
  const clock::time_point time = options_.not_before(claimed.item);
  if (time <= options_.timers->now()) return false;
  detail::mutex_lock lock(mu_);
  if (life_.state() >= life_state::stop) {
    release_unstarted(claimed, lock);
    return true;
  }
  claimed.retain();  // the timer_task may end before execute() returns
  waiting_.push_back(claimed);
  ++waiting_count_;
  lock.unlock();
  timer_handle timer;  // stored under the lock, below
  try {
    timer =
        options_.timers->execute(time, task(timer_task(*this, claimed), {.name = "visit later"}));
  } catch (...) {
    note_rejection(std::current_exception());  // the task was dropped and has released the item
  }
  lock.lock();
  claimed.timer = timer;
  const bool too_late = life_.state() >= life_state::stop;  // stop() has not seen the timer
  lock.unlock();
  if (too_late) timer.cancel();
  claimed.release();
  return true;
}

void crawler::impl::submit_visit(claimed_item& claimed) noexcept {
  try {
    executor_.execute(task(visit_task(*this, claimed), {.name = "visit"}));
  } catch (...) {
    note_rejection(std::current_exception());  // as in delay()
  }
}

// Called by a task that runs or is dropped. \return true if it owns the item now; see invariant 4.
bool crawler::impl::unlink(claimed_item& claimed) noexcept {
  const detail::mutex_lock lock(mu_);
  if (!claimed.is_linked()) return false;
  if (claimed.is_submitted) {
    submitted_.erase(claimed);
  } else {
    waiting_.erase(claimed);
    --waiting_count_;
  }
  return true;
}

// A timer_task runs: the item may be visited.
void crawler::impl::due(claimed_item& claimed) {
  detail::mutex_lock lock(mu_);
  if (life_.state() >= life_state::stop) {
    release_unstarted(claimed, lock);
    return;
  }
  ready_.push_back(claimed);
  lock.unlock();
  pump();  // the item still counts as a worker
}

// The executor or the timers have dropped a task.
void crawler::impl::dropped(claimed_item& claimed) {
  detail::mutex_lock lock(mu_);
  if (claimed.is_submitted) --visits_;
  const bool is_stopped = life_.state() >= life_state::stop;
  ++(is_stopped ? totals_.returned : totals_.rejected);
  life_.advance_to(life_state::stop);
  lock.unlock();
  release_item(claimed);
  if (!is_stopped) set_error(std::make_exception_ptr(rejected(rejection::dropped)), true);
  remove_worker();
  if (!is_stopped) stop();
}

// A visit_task runs.
void crawler::impl::run(claimed_item& claimed, const sync::stop_token& executor_stops) {
  detail::mutex_lock lock(mu_);
  if (life_.state() >= life_state::stop) {
    --visits_;
    release_unstarted(claimed, lock);
    return;
  }
  ++totals_.started;
  lock.unlock();
  const outcome result = call_visit(claimed.item, executor_stops);
  lock.lock();
  --visits_;
  if (result == outcome::cut_off) {
    ++totals_.ran;
    ++totals_.cancelled;
  } else {
    ++totals_.finished;
    if (result == outcome::failed) ++totals_.failed;
  }
  if (result != outcome::done) set_aside_.push_back(claimed);
  lock.unlock();
  if (result == outcome::done) claimed.release();
  pump();
  remove_worker();
}

crawler::impl::outcome crawler::impl::call_visit(const work_item& item,
                                                 const sync::stop_token& executor_stops) noexcept {
  std::vector<work_item> found;
  try {
    const visit_scope here(*this);
    // An executor that stops its tasks stops all visits of the crawler.
    const sync::stop_callback on_stop(executor_stops, [this] { stop_.request_stop(); });
    found = visit_(item, stop_.get_token());
  } catch (const cancelled&) {
    return outcome::cut_off;
  } catch (...) {
    const visit_scope here(*this);
    const std::exception_ptr error = std::current_exception();
    if (options_.failed) {
      options_.failed(item, error);
    } else {
      options_.unhandled->on_unhandled(unhandled::uncaught, error);
    }
    return outcome::failed;
  }
  try {
    const visit_scope here(*this);
    list_.complete(item.key, found);
  } catch (...) {
    fail(std::current_exception());
    return outcome::failed;
  }
  return outcome::done;
}

// Releases an item to the queue and drops the crawler's reference.
void crawler::impl::release_item(claimed_item& claimed) noexcept {
  try {
    list_.release(claimed.item.key);
  } catch (...) {
    const detail::mutex_lock lock(mu_);
    if (error_ == nullptr) error_ = std::current_exception();
  }
  claimed.release();
}

// Ends an unlinked item in stop. Unlocks.
void crawler::impl::release_unstarted(claimed_item& claimed, detail::mutex_lock& lock) noexcept
    TAKT_NO_THREAD_SAFETY_ANALYSIS {
  ++totals_.returned;
  lock.unlock();
  release_item(claimed);
  remove_worker();
}

// Releases all items of a list that have not begun, in stop.
void crawler::impl::release_all(detail::intrusive_list<claimed_item>& from,
                                detail::mutex_lock& lock) noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
  while (claimed_item* const next = from.pop_front()) {
    if (next->is_submitted) --visits_;
    if (&from == &waiting_) --waiting_count_;
    ++totals_.returned;
    const timer_handle timer = next->timer;  // if still empty: delay() will see the state
    lock.unlock();
    release_item(*next);
    timer.cancel();
    remove_worker();
    lock.lock();
  }
}

// Sets the cause of the stop. A cause from a dropped task may be replaced by any other.
void crawler::impl::set_error(const std::exception_ptr& why, bool by_drop) noexcept {
  const detail::mutex_lock lock(mu_);
  if (error_ != nullptr && !by_drop_) return;
  error_ = why;
  by_drop_ = by_drop;
}

void crawler::impl::fail(const std::exception_ptr& why) noexcept {
  set_error(why, false);
  stop();
}

// The exception by which an executor or the timers rejected a task replaces the one of its drop.
void crawler::impl::note_rejection(const std::exception_ptr& why) noexcept {
  const detail::mutex_lock lock(mu_);
  if (by_drop_) error_ = why;
  by_drop_ = false;
}

void crawler::impl::remove_worker() noexcept {
  life_.remove_worker();
  end_if_over();
}

// The last worker or ending call releases the items that were set aside and ends the crawler.
void crawler::impl::end_if_over() noexcept {
  detail::mutex_lock lock(mu_);
  if (!life_.try_tidy(true)) return;
  while (claimed_item* const next = set_aside_.pop_front()) {
    lock.unlock();
    release_item(*next);
    lock.lock();
  }
  lock.unlock();
  visit_ = nullptr;
  options_.not_before = nullptr;
  options_.failed = nullptr;
  life_.terminate();
}

void crawler::impl::shutdown() noexcept {
  const ending_guard guard(*this, life_);
  {
    const detail::mutex_lock lock(mu_);
    life_.advance_to(life_state::shutdown);
  }
  pump();
}

void crawler::impl::stop() noexcept {
  {
    const ending_guard guard(*this, life_);
    detail::mutex_lock lock(mu_);
    life_.advance_to(life_state::stop);
    release_all(ready_, lock);
    release_all(submitted_, lock);
    release_all(waiting_, lock);
  }
  call_guard* const here = call_guard::innermost_of(*this);
  TAKT_ASSERT(here != nullptr);
  here->note_stop();
  if (detail::executor_scope::of(this) != nullptr) stop_.request_stop();
}

void crawler::impl::destroy() noexcept {
  call_guard(*this)->stop();
  if (detail::executor_scope::of(this) == nullptr) life_.await_unused();
  release();
}

std::exception_ptr crawler::impl::error() const {
  const detail::mutex_lock lock(mu_);
  return error_;
}

task_totals crawler::impl::totals() const {
  const detail::mutex_lock lock(mu_);
  return totals_;
}

crawler::crawler(any_executor executor, work_queue& list, visit handler, options_type options) {
  const auto refuse = [](const char* why) { throw std::invalid_argument(why); };
  if (!handler) refuse("takt::crawler: the visit is empty");
  if (options.visits == 0) refuse("takt::crawler: visits is 0");
  if (options.waiting == 0) refuse("takt::crawler: waiting is 0");
  if (options.time == nullptr) refuse("takt::crawler: time is null");
  if (options.unhandled == nullptr) refuse("takt::crawler: unhandled is null");
  if (options.not_before && options.timers == nullptr)
    refuse("takt::crawler: not_before without timers");
  if (!options.not_before && options.timers != nullptr)
    refuse("takt::crawler: timers without not_before");
  impl_ = new impl(executor, list, std::move(handler), std::move(options));
}

crawler::~crawler() {
  // After fork() the threads are not in this process, and the mutex is in an unknown state.
  if (impl_->home_.is_here()) impl_->destroy();
}

void crawler::start() { impl::call_guard(*impl_)->start(); }
std::size_t crawler::add(std::span<const work_item> items) {
  return impl::call_guard(*impl_)->add(items);
}
void crawler::shutdown() noexcept { impl::call_guard(*impl_)->shutdown(); }
void crawler::shutdown_and_cancel() noexcept { impl::call_guard(*impl_)->stop(); }
std::exception_ptr crawler::error() const { return impl_->error(); }
task_totals crawler::totals() const { return impl_->totals(); }
const lifecycle& crawler::life() const noexcept { return impl_->life_; }

void crawler::throw_if_own_task() const {
  if (detail::executor_scope::of(impl_) == nullptr) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::crawler: a visit cannot wait for the end of its own crawler");
}

}  // namespace takt::inline TAKT_ABI
