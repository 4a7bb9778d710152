/// \file
/// A bounded multi-producer, multi-consumer queue with a typed end.
#pragma once

#include <chrono>
#include <concepts>
#include <list>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/service/channel_options.hpp>
#include <takt/service/detail/channel_core.hpp>
#include <takt/service/when_full.hpp>
#include <takt/task/blocking_region.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {

/// A bounded queue of values between threads. A full channel blocks producers (back-pressure), and
/// pop() reports when no more values will come.
///
/// \code
/// takt::channel<page> pages{{.capacity = 16}};
/// auto out = pages.make_producer();          // make all handles before the first one ends
/// auto in = pages.make_consumer();
///
/// std::thread reader{[out = std::move(out)]() mutable {
///   while (auto p = read_page()) out.push(std::move(*p));   // waits while 16 are there
/// }};                                                       // destroying `out` ends the input
/// while (auto p = in.pop()) print(*p);                      // until the last page
/// reader.join();
/// \endcode
///
/// **End.** The input ends with the last producer handle, or with close(); consumers get the queued
/// values, then the end. abort(), and the end of the last consumer handle, end the channel at once
/// and discard the queued values. After the end make_producer() throws.
///
/// **Order.** First in, first out. A waiting producer has a reservation: later producers cannot
/// overtake it, and close() does not revoke it. See docs/services.md.
///
/// **Thread safety.** All members may be called from any thread, except destructors and a handle's
/// end() and moves. Handles must not outlive the channel. Tasks wait in a blocking_region. Values
/// are moved and destroyed without the lock. **Cost.** One allocation per value, one lock per call.
template <class T>
class channel : private detail::channel_core {
 public:
  using options_type = channel_options;
  class producer;
  class consumer;

  /// \throws std::invalid_argument if capacity is 0 or time is null.
  explicit channel(const options_type& options = {}) : detail::channel_core(options) {
    static_assert(std::movable<T>, "a channel moves its values: T has to be movable");
  }

  /// Returns a new producer handle. \throws takt::rejected (shut_down) if the channel is closed.
  [[nodiscard]] producer make_producer() {
    add_producer();
    return producer(*this);
  }
  /// Returns a new consumer handle.
  [[nodiscard]] consumer make_consumer() {
    add_consumer();
    return consumer(*this);
  }

  /// Closes the intake. Producers that already wait keep their reservations; consumers get all
  /// queued values before the end.
  using detail::channel_core::close;
  /// Returns true after close(), abort() or the end of the last producer.
  using detail::channel_core::is_closed;
  /// Returns true if the channel is closed and no value is queued or reserved.
  using detail::channel_core::is_at_end;
  /// Returns the number of queued values.
  using detail::channel_core::size;
  /// Returns the totals, all of one moment.
  using detail::channel_core::statistics;
  /// Returns the clock of all deadlines.
  using detail::channel_core::time;

  /// Closes the channel and ends all waits. \return the queued values, oldest first.
  std::list<T> abort() noexcept {
    std::list<T> rest;
    const detail::mutex_lock lock(mu_);
    aborted();
    rest.swap(queue_);
    return rest;
  }

 private:
  push_result push_until(clock::time_point deadline, T& value, const sync::stop_token& stop) {
    std::list<T> place;
    place.push_back(std::move(value));
    std::optional<blocking_region> waiting;  // must outlive the lock
    detail::mutex_lock lock(mu_);
    push_result result = try_reserve();
    if (result == push_result::full && deadline != clock::time_point::min()) {
      lock.unlock();
      waiting.emplace();
      detail::deferred_continuations::run();  // before the wait: a producer with a
                                              // reservation has to use it
      lock.lock();
      result = reserve_until(lock, deadline, stop);
    }
    if (result == push_result::accepted) {
      queue_.splice(queue_.end(), place);
      added();
      return result;
    }
    count_refused(result);
    lock.unlock();
    value = std::move(place.front());
    return result;
  }

  bool pop_until(clock::time_point deadline, std::list<T>& to, const sync::stop_token& stop) {
    std::optional<blocking_region> waiting;  // must outlive the lock
    detail::mutex_lock lock(mu_);
    if (must_wait() && deadline != clock::time_point::min()) {
      lock.unlock();
      waiting.emplace();
      lock.lock();
      wait_for_value(lock, deadline, stop);
    }
    if (queue_.empty()) return false;
    to.splice(to.end(), queue_, queue_.begin());
    removed();
    return true;
  }

  // Decides and aborts under one lock; a consumer made in between would lose the queued values.
  void end_consumer() noexcept {
    std::list<T> rest;
    const detail::mutex_lock lock(mu_);
    if (!remove_consumer()) return;
    aborted();
    rest.swap(queue_);
  }

  std::list<T> queue_ TAKT_GUARDED_BY(mu_);  // a list: splicing moves values without allocating
};

/// Pushes values into a channel. Consumers wait for more while any producer exists. To push, a
/// handle must belong to a channel and not have ended. See channel for an example, thread safety
/// and lifetime.
template <class T>
class channel<T>::producer {
 public:
  /// Creates a handle that belongs to no channel.
  producer() = default;
  producer(producer&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  producer& operator=(producer&& other) noexcept {
    if (this != &other) {
      end();
      to_ = std::exchange(other.to_, nullptr);
    }
    return *this;
  }
  ~producer() { end(); }

  /// Pushes a value. If the channel is full, its when_full policy applies.
  /// \return true if the value was accepted; false if it was dropped or stop was requested.
  /// \throws takt::rejected (shut_down, saturated, timed_out); std::bad_alloc.
  bool push(T value, const sync::stop_token& stop = {}) {
    TAKT_ASSERT(to_ != nullptr);
    return to_->check_push(to_->push_until(to_->push_deadline(), value, stop));
  }

  /// Pushes `value`; waits for room until `deadline`, regardless of the when_full policy. A value
  /// that is not accepted is moved back into `value`. \throws std::bad_alloc.
  [[nodiscard]] push_result push_until(clock::time_point deadline, T& value,
                                       const sync::stop_token& stop = {}) {
    TAKT_ASSERT(to_ != nullptr);
    return to_->push_until(deadline, value, stop);
  }
  /// As push_until(), without waiting.
  [[nodiscard]] push_result try_push(T& value) {
    return push_until(clock::time_point::min(), value);
  }

  /// Ends this producer. Does nothing if it has ended or belongs to no channel.
  void end() noexcept {
    if (channel* const to = std::exchange(to_, nullptr)) to->remove_producer();
  }

 private:
  friend channel;
  explicit producer(channel& to) noexcept : to_(&to) {}
  channel* to_ = nullptr;
};

/// Pops values from a channel. The end of the last consumer aborts the channel. To pop, a handle
/// must belong to a channel and not have ended. See channel for an example, thread safety and
/// lifetime.
template <class T>
class channel<T>::consumer {
 public:
  /// Creates a handle that belongs to no channel.
  consumer() = default;
  consumer(consumer&& other) noexcept : from_(std::exchange(other.from_, nullptr)) {}
  consumer& operator=(consumer&& other) noexcept {
    if (this != &other) {
      end();
      from_ = std::exchange(other.from_, nullptr);
    }
    return *this;
  }
  ~consumer() { end(); }

  /// Waits for the oldest value and returns it; empty at the end of the channel.
  [[nodiscard]] std::optional<T> pop() { return pop_until(clock::time_point::max()); }
  /// As above, but empty also if stop is requested; channel::is_at_end() distinguishes the two.
  [[nodiscard]] std::optional<T> pop(const sync::stop_token& stop) {
    return pop_until(clock::time_point::max(), stop);
  }
  /// As above, but empty also if no value arrives within `timeout`.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<T> pop_for(std::chrono::duration<Rep, Period> timeout,
                                         const sync::stop_token& stop = {}) {
    TAKT_ASSERT(from_ != nullptr);
    return pop_until(deadline_after(from_->time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above, but empty also if no value arrives by `deadline`.
  [[nodiscard]] std::optional<T> pop_until(clock::time_point deadline,
                                           const sync::stop_token& stop = {}) {
    TAKT_ASSERT(from_ != nullptr);
    std::list<T> place;
    if (!from_->pop_until(deadline, place, stop)) return std::nullopt;
    return std::move(place.front());
  }
  /// Returns the oldest value without waiting; empty if there is none.
  [[nodiscard]] std::optional<T> try_pop() { return pop_until(clock::time_point::min()); }
  /// As above, but appends the value to `to` and does not allocate. \return false if there is none.
  bool try_pop(std::list<T>& to) noexcept {
    TAKT_ASSERT(from_ != nullptr);
    return from_->pop_until(clock::time_point::min(), to, {});
  }

  /// Ends this consumer. Does nothing if it has ended or belongs to no channel.
  void end() noexcept {
    if (channel* const from = std::exchange(from_, nullptr)) from->end_consumer();
  }

 private:
  friend channel;
  explicit consumer(channel& from) noexcept : from_(&from) {}
  channel* from_ = nullptr;
};

}  // namespace takt::inline TAKT_ABI
