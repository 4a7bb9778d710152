/// \file
/// What the heap and the wheels have in common: timers with values, handed back when they expire.
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

/// Timers, each with a deadline and a value, without threads, locks and callbacks: advance_to()
/// tells which of them have expired. It is used by the name of one of its orders: delay_heap<T>,
/// timer_wheel<T>, hashed_wheel<T>. They do the same and differ in cost; see docs/timers.md.
///
/// \code
/// takt::timer_wheel<connection*> timeouts;
/// const takt::timer_id id = timeouts.insert(now + 30s, &c);
/// ...
/// timeouts.reschedule(id, now + 30s);             // it is alive: 30 s more
/// ...
/// std::array<takt::timer_id, 64> expired;
/// std::size_t count = 0;
/// do {
///   count = timeouts.advance_to(now, expired);
///   for (const takt::timer_id each : std::span(expired).first(count)) {
///     if (const auto c = timeouts.remove(each)) (*c)->close();
///   }
/// } while (count == expired.size());
/// sleep_until(timeouts.next_deadline());
/// \endcode
///
/// **A timer is** pending, from insert() on; expired, once advance_to() has handed it back; gone,
/// once remove() has taken it. reschedule() makes a pending or an expired one pending again.
///
/// **Order.** Timers are handed back by deadline, and those of equal deadlines in the order in
/// which they were inserted; reschedule() counts as a new insertion, requeue() does not. None is
/// handed back before its deadline. One that is inserted with a deadline in the past is handed back
/// by the next call, in its place among those that are left.
///
/// **Never.** A deadline of time_point::max() is never reached, not even by advance_to(max()).
///
/// **Memory.** Only insert() allocates; what it gets is kept until destruction.
///
/// **Thread safety**: none; guard it with a lock, or let it belong to one thread.
///
/// **Destruction** destroys the values of the timers that are not gone. T moves, and is destroyed,
/// without throwing.
template <class T, class Order>
class timer_set {
 public:
  using time_point = detail::timer_deadline;
  using options = typename Order::options;

  /// Empty. \throws std::invalid_argument for options that do not fit, with the value and the
  /// limit.
  explicit timer_set(const options& chosen = {}) : order_(chosen) {}
  timer_set(const timer_set&) = delete;
  timer_set& operator=(const timer_set&) = delete;

  /// Adds a timer. \throws std::bad_alloc; std::length_error beyond some 2^31 timers in a heap,
  /// 2^32 in a wheel. If it throws, it has changed nothing; a value that was moved here is gone.
  timer_id insert(time_point deadline, T value) {
    if (table_.full()) [[unlikely]] {
      order_.reserve(table_.places() + table_.step);
      table_.grow();
    }
    const timer_id id = table_.add(std::move(value));
    order_.add(id.index, detail::timer_key(deadline));
    return id;
  }

  /// Takes a timer out, pending or expired. \return its value; empty if it is gone already.
  std::optional<T> remove(timer_id id) noexcept {
    if (table_.find(id) == nullptr) return std::nullopt;
    order_.remove(id.index);
    return table_.take(id.index);
  }

  /// Gives a timer, pending or expired, another deadline. \return false if it is gone.
  bool reschedule(timer_id id, time_point deadline) noexcept {
    if (table_.find(id) == nullptr) return false;
    order_.remove(id.index);
    order_.add(id.index, detail::timer_key(deadline));
    return true;
  }

  /// As reschedule(), but the timer keeps its turn among equal deadlines, that of its insertion or
  /// of the last reschedule(): periodic work stays ahead of what came after it. Of delay_heap only.
  bool requeue(timer_id id, time_point deadline) noexcept
    requires requires(Order& order) { order.add_again(id.index, std::uint64_t{}); }
  {
    if (table_.find(id) == nullptr) return false;
    order_.remove(id.index);
    order_.add_again(id.index, detail::timer_key(deadline));
    return true;
  }

  /// The value of a timer, pending or expired; nullptr if it is gone. Valid until then.
  [[nodiscard]] T* find(timer_id id) noexcept { return table_.find(id); }

  /// Goes through all timers, pending and expired, in no order: the first one whose index is `from`
  /// or larger. Names none if there is none. What is met may be removed; what is inserted meanwhile
  /// may be met or not.
  /// \code
  /// for (timer_id id = set.find_from(0); id.generation != 0; id = set.find_from(id.index + 1)) ...
  /// \endcode
  [[nodiscard]] timer_id find_from(std::uint32_t from) const noexcept {
    return table_.find_from(from);
  }

  /// Makes those with deadlines up to `now` expire, and hands them back, in order, in the front of
  /// `expired`. The size of that is the budget: if it is filled, there may be more, for the next
  /// call; none are handed back to an empty one. They stay until they are removed or rescheduled.
  ///
  /// A `now` before that of an earlier call changes nothing, and gives 0.
  /// \return how many were handed back.
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

  /// A time that is not after the earliest deadline of those pending: nothing expires before. It is
  /// that deadline, except in a wheel where that of a removed or rescheduled timer may still count.
  /// \return time_point::max() if nothing is pending.
  [[nodiscard]] time_point next_deadline() const noexcept {
    return detail::timer_time(order_.next());
  }

  /// How many are pending.
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

  /// Whether none is pending.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// Walks all there is, for tests and fuzzers.
  [[nodiscard]] bool check_invariants() const {
    return size() <= table_.size() && table_.check_invariants() && order_.check_invariants(now_);
  }

 private:
  detail::slot_map<T> table_;
  Order order_;
  std::uint64_t now_ = 0;
};

}  // namespace takt::inline TAKT_ABI
