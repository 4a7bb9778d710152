/// \file
/// A bounded queue of values between threads that can end.
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

/// Values on their way from some threads to others: a bounded queue, which slows down who is too
/// fast, and which knows when it is over.
///
/// \code
/// takt::channel<page> pages{{.capacity = 16}};
/// auto out = pages.make_producer();          // all of them before the first one ends
/// auto in = pages.make_consumer();
///
/// std::thread reader{[out = std::move(out)]() mutable {
///   while (auto p = read_page()) out.push(std::move(*p));   // waits while 16 are there
/// }};                                                       // `out` is gone: that was all
/// while (auto p = in.pop()) print(*p);                      // ends after the last page
/// reader.join();
/// \endcode
///
/// **The end is typed.** No value has to stand for "that was all", and no producer has to remember
/// to send it, after a throw for instance: a producer handle that ends is its pill. When the last
/// one has ended, or after close(), consumers get what is left, and then the end, all of them. So
/// the producers have to be known: make their handles before the first of them can end. One that
/// is asked for later is refused.
///
/// **Intake closes at one moment.** Who waits for room when it does has a reservation: the value is
/// accepted when there is room, unless the producer gives up, for its deadline or stop token. Who
/// comes later is told `closed`; nothing in between. Nobody overtakes who waits for room.
///
/// **abort()** lets go of everybody: producers are told `closed`, consumers get the end, what is
/// queued is given to the caller and counted as discarded. When the last consumer handle ends
/// before the channel has, the same happens: producers do not wait for a dead consumer.
///
/// **Waiting** of a task of a pool is a blocking_region: the pool may have one thread more
/// meanwhile, so that it does not wait for what only its own threads could do.
///
/// A value that is not accepted stays with its owner (but for push(), which takes it by value).
/// Values are made, moved and destroyed without the lock.
///
/// For futures in the order of their completion there is completion_queue, in which nobody waits
/// for room.
///
/// **Thread safety**: all members from any thread, but for the destructor; those of a handle too,
/// but for its end and its moves. **Destruction**: after the handles; what is queued is destroyed.
/// **Cost**: an allocation for each value, and the lock once on each side.
template <class T>
class channel : private detail::channel_core {
 public:
  using options = channel_options;
  class producer;
  class consumer;

  /// \throws std::invalid_argument if capacity is 0, or time null.
  explicit channel(const options& how = {}) : detail::channel_core(how) {
    static_assert(std::movable<T>, "a channel moves its values: T has to be movable");
  }

  /// One more who may put values in. \throws takt::rejected (shut_down) if it takes no more.
  [[nodiscard]] producer make_producer() {
    add_producer();
    return producer(*this);
  }
  /// One more who may take values out.
  [[nodiscard]] consumer make_consumer() {
    add_consumer();
    return consumer(*this);
  }

  /// Takes no more values. Producers that already wait for room are still let in, and consumers get
  /// all queued values before they get the end.
  using detail::channel_core::close;
  /// Whether it takes no more values: closed, aborted, or all producers have ended.
  using detail::channel_core::is_closed;
  /// Whether it takes no more values, and there is nothing left to take, now or later.
  using detail::channel_core::is_at_end;
  /// How many values are queued.
  using detail::channel_core::size;
  using detail::channel_core::statistics;
  /// The clock that it waits by.
  using detail::channel_core::time;

  /// Ends it at once, as above. \return what was queued, oldest first.
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
    std::optional<blocking_region> waiting;  // outlives the lock
    detail::mutex_lock lock(mu_);
    push_result result = look_for_room();
    if (result == push_result::full && deadline != clock::time_point::min()) {
      lock.unlock();
      waiting.emplace();
      detail::deferred_continuations::run();  // before it waits: a producer that is
                                              // promised room has to use it
      lock.lock();
      result = wait_for_room(lock, deadline, stop);
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
    std::optional<blocking_region> waiting;  // outlives the lock
    detail::mutex_lock lock(mu_);
    if (has_to_wait() && deadline != clock::time_point::min()) {
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

  // Deciding and aborting are one step: a consumer that is made in between would lose what is left.
  void end_consumer() noexcept {
    std::list<T> rest;
    const detail::mutex_lock lock(mu_);
    if (!remove_consumer()) return;
    aborted();
    rest.swap(queue_);
  }

  std::list<T> queue_ TAKT_GUARDED_BY(mu_);  // a list: it moves between owners without allocating
};

/// Puts values into a channel. While there is one, consumers wait for more.
/// Example, thread safety and destruction: see channel.
template <class T>
class channel<T>::producer {
 public:
  /// Of no channel.
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

  /// Puts a value in; what it does if there is no room is up to the channel's when_full.
  /// \return whether it is in: false if it was dropped, or stop was requested while it waited.
  /// \throws takt::rejected: shut_down, saturated, timeout_error; std::bad_alloc.
  bool push(T value, const sync::stop_token& stop = {}) {
    TAKT_ASSERT(to_ != nullptr);
    return to_->is_in(to_->push_until(to_->push_deadline(), value, stop));
  }

  /// Puts `value` in, waiting for room if need be, whatever when_full says. If it is not
  /// accepted, it is moved back.
  [[nodiscard]] push_result push_until(clock::time_point deadline, T& value,
                                       const sync::stop_token& stop = {}) {
    TAKT_ASSERT(to_ != nullptr);
    return to_->push_until(deadline, value, stop);
  }
  /// The same, without waiting.
  [[nodiscard]] push_result try_push(T& value) {
    return push_until(clock::time_point::min(), value);
  }

  /// That was all from this one. Again, or of no channel: nothing.
  void end() noexcept {
    if (channel* const to = std::exchange(to_, nullptr)) to->remove_producer();
  }

 private:
  friend channel;
  explicit producer(channel& to) noexcept : to_(&to) {}
  channel* to_ = nullptr;
};

/// Takes values out of a channel. When the last one is gone, the channel is aborted.
/// Example, thread safety and destruction: see channel.
template <class T>
class channel<T>::consumer {
 public:
  /// Of no channel.
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

  /// The oldest value; waits until there is one. Nothing: the end.
  [[nodiscard]] std::optional<T> pop() { return pop_until(clock::time_point::max()); }
  /// As above, or until stop is requested: then nothing; see channel::is_at_end().
  [[nodiscard]] std::optional<T> pop(const sync::stop_token& stop) {
    return pop_until(clock::time_point::max(), stop);
  }
  /// As above, for that long at most.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<T> pop_for(std::chrono::duration<Rep, Period> timeout,
                                         const sync::stop_token& stop = {}) {
    TAKT_ASSERT(from_ != nullptr);
    return pop_until(deadline_after(from_->time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above, until that time at most.
  [[nodiscard]] std::optional<T> pop_until(clock::time_point deadline,
                                           const sync::stop_token& stop = {}) {
    TAKT_ASSERT(from_ != nullptr);
    std::list<T> place;
    if (!from_->pop_until(deadline, place, stop)) return std::nullopt;
    return std::move(place.front());
  }
  /// The oldest value, if there is one.
  [[nodiscard]] std::optional<T> try_pop() { return pop_until(clock::time_point::min()); }
  /// The same, into a list, without allocating. \return whether there was one.
  bool try_pop(std::list<T>& to) noexcept {
    TAKT_ASSERT(from_ != nullptr);
    return from_->pop_until(clock::time_point::min(), to, {});
  }

  /// Takes no more. Again, or of no channel: nothing.
  void end() noexcept {
    if (channel* const from = std::exchange(from_, nullptr)) from->end_consumer();
  }

 private:
  friend channel;
  explicit consumer(channel& from) noexcept : from_(&from) {}
  channel* from_ = nullptr;
};

}  // namespace takt::inline TAKT_ABI
