/// \file
/// Blocks one thread until another wakes it.
#pragma once

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

#if !defined(TAKT_PORTABLE_PARKING)
#include <cstdint>
#endif

namespace takt::inline TAKT_ABI {

/// Blocks one thread until another wakes it, without a lock and without lost wake-ups. A parker
/// holds at most one *token*: unpark() sets it, park() waits for it and takes it.
///
/// \code
/// takt::parker ready;
///
/// inbox.push(m);  // any thread
/// ready.unpark();
///
/// for (;;) {  // the owner
///   while (message* m = inbox.pop()) handle(*m);
///   ready.park();  // returns at once if unpark() was called since the last park()
/// }
/// \endcode
///
/// park() never returns without a token. But a token only says "look again", so call park() in a
/// loop over the real condition: several unpark() calls set one token, and a token may be left over
/// from an event that was already handled.
///
/// **Memory ordering.** All unpark() calls since the last token was taken happen before the return
/// of the park() or park_until() that takes the next token.
///
/// **Thread safety.** Any thread may call unpark(), but not in a signal handler; one thread at a
/// time may call park() and park_until(). **Destruction** requires that no thread is parked. It is
/// safe once the last token is taken, even if its unpark() has not returned. See docs/base.md.
class parker {
 public:
  parker() = default;
  ~parker();
  parker(const parker&) = delete;
  parker& operator=(const parker&) = delete;

  /// Takes the token; blocks until there is one.
  void park() noexcept;

  /// Takes the token; blocks until there is one or until `deadline`, in real time, has passed. A
  /// deadline in the past polls; time_point::max() means never. Code with an injected clock calls
  /// clock.park_until(p, deadline) instead.
  ///
  /// \return true if it took the token, false at the deadline. A token that arrives together with
  /// the deadline is taken.
  [[nodiscard]] bool park_until(sync::clock::time_point deadline) noexcept;

  /// As above, with a deadline in the time of day. When the time of day is set, the wait ends
  /// earlier or later accordingly.
  [[nodiscard]] bool park_until(sync::wall_clock::time_point deadline) noexcept;

  /// Sets the token, unless it is already set, and wakes the parked thread, if any. Does not wait
  /// for that thread, allocate or throw.
  void unpark() noexcept;

 private:
  // A manual clock does work of its own between await_token() and take_token(), the two halves of
  // park(), and does not count a thread that has a token among its waiters.
  template <class Base>
  friend class basic_manual_clock;

  // Waits for a token without taking it.
  void await_token() noexcept;

  // Takes the token if there is one; returns whether there was. Does not wait. Like park(), called
  // by the parking thread only.
  [[nodiscard]] bool take_token() noexcept;

  // Returns whether there is a token that has not been taken. Any thread may call it. The answer
  // may be outdated on return, but includes the caller's own unpark() calls.
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
  // One of the states in parker.cpp. Written by all threads; unpark() releases, the parking thread
  // acquires.
  sync::atomic<std::uint32_t> state_{0};
#endif
};

}  // namespace takt::inline TAKT_ABI
