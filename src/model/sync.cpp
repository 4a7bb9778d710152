// Threads, time, locks, futexes and stop requests.
#include <takt/model/sync.hpp>

#include <utility>
#include <vector>

#include "run.hpp"

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

run& current_run(const char* what) {
  run* const r = active_run();
  if (r == nullptr)
    fail(std::string(what) + ": in the model build it can be used only inside explore()");
  return *r;
}

}  // namespace

thread_state* spawn(void (*body)(void*), void* closure) noexcept {
  run& r = current_run("thread");
  const engine_scope scope;
  r.reach({op::spawn, true, r.objects + 1}, nullptr);
  thread_state& t = r.add_thread(body, closure);
  sanitizer::tsan_release(&t);
  r.leave();
  return &t;
}

void join(thread_state& target) noexcept {
  run& r = current_run("join");
  const engine_scope scope;
  r.self->joins = &target;
  r.reach({op::join, true, target.object_number}, nullptr);
  r.self->seen.join(target.seen);
  sanitizer::tsan_acquire(&target);
  r.leave();
}

thread::id this_thread_id() noexcept {
  const thread_state* const self = current_thread();
  return self == nullptr ? thread::id() : thread::id(self->number);
}

void yield() noexcept {
  run* const r = active_run();
  if (r == nullptr) return;
  const engine_scope scope;
  if (++r->self->yields > r->opts.unfair_yields) {
    r->self->yielded = true;
    r->chooser.yielded(r->self->number);
  }
  r->reach({op::yield, true, 0}, nullptr);
  r->self->yielded = false;
  r->self->fresh = std::exchange(r->self->next_fresh, r->stores);  // as of the previous yield
  r->leave();
}

time_point clock::now() noexcept {
  run* const r = active_run();
  if (r == nullptr) return std::chrono::steady_clock::now();
  const engine_scope scope;
  r->reach({op::now, false, 0}, nullptr);
  r->leave();
  return r->now;
}

void* thread_slot(const void* key, void* (*make)(), void (*destroy)(void*)) noexcept {
  thread_state* self = current_thread();
  if (self == nullptr) {
    static auto* const outside = new thread_state;  // for use outside of runs; never deleted
    self = outside;
  }
  for (const auto& s : self->slots) {
    if (s.key == key) return s.value;
  }
  void* const value = make();
  const engine_scope scope;
  self->slots.push_back({key, value, destroy});
  return value;
}

mutex::~mutex() {
  retire();
  if (owner_ != 0)
    fail(describe() + " is destroyed while thread " + std::to_string(owner_) + " holds it");
}

void mutex::lock() noexcept {
  thread_state* const self = current_thread();
  if (self == nullptr) return;
  if (owner_ == self->number) fail(describe() + " is locked again by the thread that holds it");
  self->wants = this;
  const step s(op::lock, *this, true);
  owner_ = self->number;
  self->seen.join(released_);
  sanitizer::tsan_acquire(this);
}

bool mutex::try_lock() noexcept {
  const step s(op::try_lock, *this, true);
  if (s.self() == nullptr) return true;
  if (owner_ == s.self()->number) fail(describe() + " is locked again by the thread that holds it");
  if (owner_ != 0) return false;
  owner_ = s.self()->number;
  s.self()->seen.join(released_);
  sanitizer::tsan_acquire(this);
  return true;
}

void mutex::unlock() noexcept {
  const step s(op::unlock, *this, true);
  if (s.self() == nullptr) return;
  if (owner_ != s.self()->number)
    fail(describe() + " is unlocked by a thread that does not hold it");
  sanitizer::tsan_release(this);
  released_ = s.self()->seen;
  owner_ = 0;
}

condition_variable::~condition_variable() {
  retire();
  if (!waiters_.empty()) fail(describe() + " is destroyed while a thread waits");
}

void condition_variable::enlist() noexcept {
  const step s(op::wait, *this, true);
  if (s.self() == nullptr) fail("a wait outside of a run never ends");
  waiters_.add(*s.self());
}

void condition_variable::delist() noexcept {
  const step s(op::wait, *this, true);
  waiters_.remove(*s.self());
  s.self()->notified = false;
}

bool condition_variable::sleep(time_point deadline) noexcept {
  const bool notified = wait_for_notification(*this, deadline);
  if (notified) return true;
  const engine_scope scope;
  waiters_.remove(*current_thread());
  return deadline > active_run()->now;  // a spurious wake-up counts as notified
}

void condition_variable::notify_one() noexcept {
  const step s(op::notify, *this, true);
  waiters_.notify_any();
}

void condition_variable::notify_all() noexcept {
  const step s(op::notify, *this, true);
  while (waiters_.notify_any()) {
  }
}

// Like the kernel, identifies waiters by address; a wake of a destroyed word is harmless.
bool futex_wait(atomic_core& word, std::uint64_t expected, time_point deadline) noexcept {
  run& r = current_run("futex_wait");
  {
    const step s(op::futex_wait, word, true);
    if (word.newest_for(*s.self()) != expected) return false;
    const engine_scope scope;
    r.futex_waiters.emplace_back(&word, s.self());
  }
  const bool notified = wait_for_notification(word, deadline);
  if (notified) return false;
  const engine_scope scope;
  std::erase_if(r.futex_waiters, [&](const auto& w) { return w.second == r.self; });
  return deadline <= r.now;
}

void futex_wake(const void* word, bool all) noexcept {
  run* const r = active_run();
  if (r == nullptr) return;
  const engine_scope scope;
  r->reach({op::futex_wake, true, 0}, nullptr);
  do {
    std::vector<std::size_t> asleep;
    for (std::size_t i = 0; i < r->futex_waiters.size(); ++i) {
      if (r->futex_waiters[i].first == word) asleep.push_back(i);
    }
    if (asleep.empty()) break;
    const std::size_t chosen = asleep[choose(static_cast<std::uint32_t>(asleep.size()))];
    r->futex_waiters[chosen].second->notified = true;
    r->futex_waiters.erase(r->futex_waiters.begin() + static_cast<std::ptrdiff_t>(chosen));
  } while (all);
  r->leave();
}

bool stop_state::request_stop() noexcept {
  mu_.lock();
  if (stopped_.load(std::memory_order_relaxed)) {  // relaxed: under mu_, like the store
    mu_.unlock();
    return false;
  }
  stopped_.store(true, std::memory_order_release);  // release: publishes what precedes the request
  const thread_state* const self = current_thread();
  runner_ = self == nullptr ? 0 : self->number;
  while (first_ != nullptr) {
    stop_callback_base& callback = *first_;
    unlink(callback);
    running_ = &callback;
    mu_.unlock();
    callback.run_(callback);  // may destroy itself
    mu_.lock();
    running_ = nullptr;
    finished_.fetch_add(1);
    futex_wake(&finished_.core(), true);
  }
  mu_.unlock();
  return true;
}

bool stop_state::add(stop_callback_base& callback) noexcept {
  const std::lock_guard lock(mu_);
  // relaxed: under mu_, like the store
  if (sources_ == 0 || stopped_.load(std::memory_order_relaxed)) return false;
  callback.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &callback;
  last_ = &callback;
  callback.listed_ = true;
  return true;
}

void stop_state::remove(stop_callback_base& callback) noexcept {
  mu_.lock();
  if (callback.listed_) {
    unlink(callback);
  } else if (running_ == &callback) {
    const thread_state* const self = current_thread();
    if (self == nullptr || runner_ == self->number) {
      running_ = nullptr;  // it destroys itself
    } else {
      while (running_ == &callback) {
        const std::uint32_t seen = finished_.load();
        mu_.unlock();
        futex_wait(finished_.core(), seen, time_point::max());
        mu_.lock();
      }
    }
  }
  mu_.unlock();
}

void stop_state::release() noexcept {
  thread_state* const self = current_thread();
  if (self != nullptr) {
    released_.join(self->seen);
    ++self->seen[self->number];
    sanitizer::tsan_release(this);
  }
  if (--references_ > 0) return;
  if (self != nullptr) {
    self->seen.join(released_);
    sanitizer::tsan_acquire(this);
  }
  delete this;
}

void stop_state::unlink(stop_callback_base& callback) noexcept {
  (callback.previous_ == nullptr ? first_ : callback.previous_->next_) = callback.next_;
  (callback.next_ == nullptr ? last_ : callback.next_->previous_) = callback.previous_;
  callback.previous_ = callback.next_ = nullptr;
  callback.listed_ = false;
}

}  // namespace model

namespace sync {

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                clock::time_point deadline) noexcept {
  return model::futex_wait(word.core(), expected, deadline);
}

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                wall_clock::time_point deadline) noexcept {
  return model::futex_wait(word.core(), expected, wall_clock::to_clock(deadline));
}

void futex_wake_one(const atomic<std::uint32_t>* word) noexcept { model::futex_wake(word, false); }

}  // namespace sync
}  // namespace takt::inline TAKT_ABI
