/// \file
/// The common interface of the timer heap and the timing wheels.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/fwd.hpp>
#include <takt/timer/detail/slot_map.hpp>
#include <takt/timer/detail/timer_key.hpp>

namespace takt::inline TAKT_ABI {

/// A set of timers, each with a deadline and a value, without threads, locks or callbacks:
/// advance_to() returns the expired timers. Use it as delay_heap<T>, timer_wheel<T> or
/// hashed_wheel<T>. These behave alike and differ in cost; see docs/timers.md.
///
/// \code
/// takt::timer_wheel<connection*> timeouts;
/// const takt::timer_id id = timeouts.insert(now + 30s, &c);
/// timeouts.reschedule(id, now + 30s);  // the connection is alive: 30 s more
///
/// std::array<takt::timer_id, 64> expired;
/// const std::size_t count = timeouts.advance_to(now, expired);
/// for (const takt::timer_id each : std::span(expired).first(count)) {
///   if (const auto c = timeouts.remove(each)) (*c)->close();
/// }
/// \endcode
///
/// **States.** A timer is pending after insert() and reschedule(), expired after advance_to() has
/// returned it, and gone after remove().
///
/// **Order.** Timers expire in the order of their deadlines, and never early. Timers with equal
/// deadlines expire in the order of insert() or reschedule(). A timer with a deadline of
/// time_point::max() never expires. Deadlines are steady time.
///
/// **Cost.** Only insert() allocates; the destructor frees the memory. T must move and be destroyed
/// without throwing. **Thread safety.** None: use a set from one thread, or guard it with a lock.
template <class T, class Order>
class timer_set {
 public:
  using time_point = detail::timer_deadline;
  using options_type = typename Order::options_type;

  /// Constructs an empty set. \throws std::invalid_argument, with the value and the limit, for
  /// invalid options.
  explicit timer_set(const options_type& options = {}) : order_(options) {}
  timer_set(const timer_set&) = delete;
  timer_set& operator=(const timer_set&) = delete;

  /// Adds a timer. A deadline in the past expires at the next advance_to().
  /// \throws std::bad_alloc; std::length_error beyond some 2^31 timers in a heap, 2^32 in a wheel.
  /// The set is then unchanged; the value is lost if it was moved in.
  timer_id insert(time_point deadline, T value) {
    if (table_.full()) [[unlikely]] {
      order_.reserve(table_.places() + table_.step);
      table_.grow();
    }
    const timer_id id = table_.add(std::move(value));
    order_.add(id.index, detail::timer_key(deadline));
    return id;
  }

  /// Removes a timer, pending or expired. \return its value, or nullopt if the timer is gone.
  std::optional<T> remove(timer_id id) noexcept {
    if (table_.find(id) == nullptr) return std::nullopt;
    order_.remove(id.index);
    return table_.take(id.index);
  }

  /// Sets a new deadline for a timer, pending or expired. \return false if the timer is gone.
  bool reschedule(timer_id id, time_point deadline) noexcept {
    if (table_.find(id) == nullptr) return false;
    order_.remove(id.index);
    order_.add(id.index, detail::timer_key(deadline));
    return true;
  }

  /// As reschedule(), but among equal deadlines the timer keeps the position that its insert() or
  /// last reschedule() gave it: periodic timers stay ahead of timers inserted later. Only
  /// delay_heap has this member.
  bool requeue(timer_id id, time_point deadline) noexcept
    requires requires(Order& order) { order.add_again(id.index, std::uint64_t{}); }
  {
    if (table_.find(id) == nullptr) return false;
    order_.remove(id.index);
    order_.add_again(id.index, detail::timer_key(deadline));
    return true;
  }

  /// Returns the value of a timer, pending or expired; nullptr if the timer is gone. The pointer is
  /// valid until the timer is removed.
  [[nodiscard]] T* find(timer_id id) noexcept { return table_.find(id); }

  /// Returns the first timer, pending or expired, whose index is at least `from`; an id of
  /// generation 0 if there is none. Iterates over all timers in no particular order. Timers may be
  /// removed during the iteration; timers inserted during it may or may not be visited.
  /// \code
  /// for (timer_id id = set.find_from(0); id.generation != 0; id = set.find_from(id.index + 1)) ...
  /// \endcode
  [[nodiscard]] timer_id find_from(std::uint32_t from) const noexcept {
    return table_.find_from(from);
  }

  /// Expires pending timers with deadlines `<= now` and writes their ids, in order, to the front of
  /// `expired`. The size of `expired` is the budget: if a call fills it, more timers may be due, so
  /// call again; an empty `expired` expires no timer. Expired timers stay until they are removed or
  /// rescheduled.
  ///
  /// A `now` before the `now` of an earlier call has no effect.
  /// \return the number of ids written.
  std::size_t advance_to(time_point now, std::span<timer_id> expired) noexcept {
    const std::uint64_t key =
        std::min(detail::timer_key(now), detail::timer_key(time_point::max()) - 1);
    if (key < now_) return 0;
    now_ = key;
    if (expired.empty()) return 0;
    const std::size_t count = order_.advance(key, expired);
    for (timer_id& each : expired.first(count)) {
      table_.prefetch(each.index);
      each.generation = table_.generation(each.index);
    }
    if constexpr (requires { order_.for_new_near([](std::uint32_t) {}); }) {
      order_.for_new_near([this](std::uint32_t index) { table_.prefetch(index); });
    }
    return count;
  }

  /// Returns a time `<=` the earliest pending deadline: no timer expires before it. In a delay_heap
  /// it is that deadline. In a wheel it may be the deadline of a timer that was removed or
  /// rescheduled.
  /// \return time_point::max() if no timer is pending.
  [[nodiscard]] time_point next_deadline() const noexcept {
    return detail::timer_time(order_.next());
  }

  /// Returns the number of pending timers. Expired timers do not count.
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

  /// Returns true if no timer is pending; expired timers may be left.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// For tests and fuzzers: checks the whole structure. \return true if its invariants hold.
  [[nodiscard]] bool check_invariants() const {
    return size() <= table_.size() && table_.check_invariants() && order_.check_invariants(now_);
  }

 private:
  detail::slot_map<T> table_;
  Order order_;
  std::uint64_t now_ = 0;
};

}  // namespace takt::inline TAKT_ABI
