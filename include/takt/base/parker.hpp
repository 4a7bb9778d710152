/// \file
/// Blocking one thread until another says go on.
#pragma once

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

#if !defined(TAKT_PORTABLE_PARKING)
#include <cstdint>
#endif

namespace takt::inline TAKT_ABI {

/// Lets one thread sleep until another wakes it, without a lock and without losing a wake-up: a
/// parker holds at most one *token*. unpark() leaves a token; park() takes it away, and waits for
/// one if there is none. It is the last link of every wait loop in takt.
///
/// \code
/// takt::detail::mpsc_queue<message> inbox;
/// takt::parker ready;
///
/// // any thread
/// inbox.push(m);
/// ready.unpark();
///
/// // the owner
/// for (;;) {
///   while (message* m = inbox.pop()) handle(*m);
///   ready.park();  // returns at once if something was pushed since the last park()
/// }
/// \endcode
///
/// A token says "look again", not what happened: several unpark() calls leave one token, and a
/// token may be left over from something that was already handled. So park() stands in a loop
/// that looks at the real condition. On the other hand park() never returns without a token:
/// there are no spurious returns.
///
/// **Memory ordering**: every unpark() since the last park() happens before the return of the
/// park() or park_until() that takes the token.
///
/// **Thread safety**: unpark() from any thread, and from many at once. park() and park_until()
/// from one thread at a time; usually one thread, the owner, all along. unpark() does not wait
/// for the parked thread, allocate or throw. It is not for signal handlers.
///
/// **Destruction**: no thread is parked. The parker may be destroyed as soon as the park() that
/// took the token of the last unpark() has returned, even if that unpark() has not: after it has
/// left the token it no longer touches the parker. A parker can thus live on the waiter's stack.
///
/// A park() does not spin and has no safety net of a time-out: a wake-up that is missed is a bug,
/// and shows as one.
class parker {
 public:
  parker() = default;
  ~parker();
  parker(const parker&) = delete;
  parker& operator=(const parker&) = delete;

  /// Takes the token; if there is none, blocks until there is.
  void park() noexcept;

  /// Takes the token; if there is none, blocks until there is or `deadline` has passed, in real
  /// time; code that is given a clock uses clock.park_until(p, deadline).
  /// A deadline in the past polls; time_point::max() means never.
  ///
  /// \return true if the token was taken, false if the deadline came first. If both are there, the
  /// token wins.
  [[nodiscard]] bool park_until(sync::clock::time_point deadline) noexcept;

  /// As above, until a time of day. If that is set, the deadline comes earlier or later
  /// accordingly.
  [[nodiscard]] bool park_until(sync::wall_clock::time_point deadline) noexcept;

  /// Leaves a token, unless there already is one, and wakes the parked thread, if any.
  void unpark() noexcept;

 private:
  // A manual clock has something to do between the two halves of park(), which are await_token()
  // and take_token(), and does not count who has a token among those that wait.
  template <class Base>
  friend class basic_manual_clock;

  // Waits until there is a token, and leaves it where it is.
  void await_token() noexcept;

  // Takes the token if there is one, and says whether there was. Does not wait. Belongs to the
  // parking thread, like park().
  [[nodiscard]] bool take_token() noexcept;

  // Whether there is a token that has not been taken. From any thread; by the time the caller looks
  // at the answer it may be out of date, but an unpark() of its own is in it.
  [[nodiscard]] bool has_token() const noexcept;

  template <class TimePoint>
  bool await(TimePoint deadline) noexcept;

#if defined(TAKT_PORTABLE_PARKING)
  mutable sync::mutex mu_;
  sync::condition_variable token_left_;
  // Guarded by mu_.
  bool token_ = false;
  bool parked_ = false;
#else
  // The states are in parker.cpp. Written by all threads; the parking thread acquires what the
  // unparking ones release.
  sync::atomic<std::uint32_t> state_{0};
#endif
};

}  // namespace takt::inline TAKT_ABI
