// Invariants
//   1. now_ never decreases and stays below time_point::max().
//   2. A thread is in waiters_ from before it parks until after it has woken. Its entry is on its
//      stack; other threads access the entry, and unpark through it, only under mu_.
//   3. An entry whose deadline is reached has been unparked by the call that moved now_ to or past
//      the deadline. park_until() does not list an entry whose deadline is already reached.
//   4. A listed thread takes its token and leaves the list under one lock of mu_. So a listed
//      thread without a token is asleep or about to sleep, and unpark() removes it from the count
//      at once.
#include <takt/clock/manual_clock.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace {

// The latest time of a manual clock.
template <class TimePoint>
constexpr TimePoint last = TimePoint::max() - std::chrono::nanoseconds(1);

}  // namespace

template <class Base>
basic_manual_clock<Base>::basic_manual_clock(time_point start) noexcept
    : now_(std::min(start, last<time_point>)) {}

template <class Base>
basic_manual_clock<Base>::~basic_manual_clock() {
  const detail::mutex_lock lock(mu_);
  TAKT_ASSERT(waiters_.empty());
}

template <class Base>
auto basic_manual_clock<Base>::now() const noexcept -> time_point {
  const detail::mutex_lock lock(mu_);
  return now_;
}

template <class Base>
void basic_manual_clock<Base>::park_until(parker& p, time_point deadline) const noexcept {
  waiter self(p, deadline);
  {
    const detail::mutex_lock lock(mu_);
    if (deadline <= now_) {
      static_cast<void>(p.take_token());  // like a real clock
      return;
    }
    waiters_.push_back(self);
    waiter_came_.notify_all();
  }
  p.await_token();
  const detail::mutex_lock lock(mu_);
  waiters_.erase(self);
  static_cast<void>(p.take_token());
}

template <class Base>
void basic_manual_clock<Base>::advance_by(std::chrono::nanoseconds d) {
  const detail::mutex_lock lock(mu_);
  const time_point t = deadline_after(now_, d);
  if (d.count() < 0) refuse_to_go_back(now_, t);
  move_to(t);
}

template <class Base>
void basic_manual_clock<Base>::advance_to(time_point t) {
  const detail::mutex_lock lock(mu_);
  if (t < now_) refuse_to_go_back(now_, t);
  move_to(t);
}

template <class Base>
bool basic_manual_clock<Base>::advance_to_next() {
  const detail::mutex_lock lock(mu_);
  time_point next = time_point::max();
  for (const waiter& w : waiters_) {
    if (!w.parked.has_token()) next = std::min(next, w.deadline);
  }
  if (next == time_point::max()) return false;
  move_to(next);
  return true;
}

template <class Base>
void basic_manual_clock<Base>::wait_for_waiters(std::size_t count) const {
  detail::mutex_lock lock(mu_);
  while (count_waiters() < count) waiter_came_.wait(lock);
}

template <class Base>
std::size_t basic_manual_clock<Base>::waiters() const {
  const detail::mutex_lock lock(mu_);
  return count_waiters();
}

template <class Base>
void basic_manual_clock<Base>::refuse_to_go_back(time_point now, time_point to) {
  const auto text = [](time_point t) { return std::to_string(t.time_since_epoch().count()); };
  throw std::invalid_argument("takt: a manual clock cannot go back from " + text(now) + " ns to " +
                              text(to) + " ns");
}

template <class Base>
void basic_manual_clock<Base>::move_to(time_point t) {
  now_ = std::min(t, last<time_point>);
  for (waiter& w : waiters_) {
    if (w.deadline <= now_) w.parked.unpark();
  }
}

template <class Base>
std::size_t basic_manual_clock<Base>::count_waiters() const {
  return static_cast<std::size_t>(std::count_if(
      waiters_.begin(), waiters_.end(), [](const waiter& w) { return !w.parked.has_token(); }));
}

template class basic_manual_clock<std::chrono::steady_clock>;
template class basic_manual_clock<std::chrono::system_clock>;

}  // namespace takt::inline TAKT_ABI
