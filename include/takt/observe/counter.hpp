/// \file
/// A monotonic counter for many threads.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {

/// A monotonic counter of events.
///
/// \code
/// takt::counter submitted;
/// takt::counter finished;
///
/// submitted.add();                             // any thread
/// finished.add();                              // any thread, after the task's submitted.add()
///
/// const auto done = finished.value();          // the later event first,
/// const auto all = submitted.value();          // then the earlier one: done <= all
/// \endcode
///
/// **Consistency.** value() includes every add() that happens before it, and no add() that has not
/// begun. What happened before an included add() is visible, too. So a thread that reads several
/// counters in the reverse order of their events never computes a negative difference. A count
/// wraps at 2^64.
///
/// **Cost.** One atomic addition, on a cache line of its own. If many cores do little else, give
/// each worker a counter and add the values. See docs/observe.md.
///
/// **Thread safety.** All members may be called concurrently and are wait-free; none allocates or
/// throws.
class alignas(cache_line) counter {
 public:
  counter() = default;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  /// Adds `n`.
  void add(std::uint64_t n = 1) noexcept {
    // release: publishes what happened before to a thread that reads this count
    value_.fetch_add(n, std::memory_order_release);
  }

  /// Returns the count so far.
  [[nodiscard]] std::uint64_t value() const noexcept {
    // acquire: makes what happened before the included adds visible
    return value_.load(std::memory_order_acquire);
  }

 private:
  // Written by every add.
  sync::atomic<std::uint64_t> value_{0};
};

}  // namespace takt::inline TAKT_ABI
