/// \file
/// A count that only grows, fed by many threads.
#pragma once

#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {

/// Counts how often something has happened.
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
/// **One word, not one per thread.** An add is one atomic addition on a cache line of its own. Two
/// cores that do nothing else cost each other some tens of nanoseconds per add, and it grows with
/// the number of cores. That is small beside a task that goes through a queue, and a counter per
/// thread would need a registry of threads, and a sum over all of them for each look. Where it is
/// too much, give each worker a counter and add up their values: merging counts is `+`.
///
/// **What value() tells.** Every add that happens before it is in, none that has not begun is.
/// Hence it is exact when nobody adds, never too large, and never smaller than one read before it.
/// Two counters are not read at the same moment; but what happened before an add that was seen is
/// seen too, and so reading them in reverse order of the events keeps their difference from being
/// negative.
///
/// It wraps around after 2^64, which at one add per nanosecond takes 584 years.
///
/// **Thread safety**: all members from any thread, wait-free; nothing allocates or throws.
///
/// **Destruction**: when nobody uses it any more, as for any variable.
class alignas(cache_line) counter {
 public:
  counter() = default;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  /// Counts `n` more.
  void add(std::uint64_t n = 1) noexcept {
    // release: what happened before, to whoever sees this count
    value_.fetch_add(n, std::memory_order_release);
  }

  /// The count so far.
  [[nodiscard]] std::uint64_t value() const noexcept {
    // acquire: what happened before the adds that are seen
    return value_.load(std::memory_order_acquire);
  }

 private:
  // Written by every add.
  sync::atomic<std::uint64_t> value_{0};
};

}  // namespace takt::inline TAKT_ABI
