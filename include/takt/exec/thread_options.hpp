/// \file
/// Options of an executor's threads, and the default number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Options of an executor's threads. Thread names derive from the executor's name.
///
/// on_start and on_exit must not destroy the executor. An exception from either terminates the
/// program.
struct thread_options {
  /// CPUs that the threads may run on. If empty, a thread inherits the affinity of the thread whose
  /// submission starts it. Ignored on systems that cannot bind threads.
  std::vector<int> cpus{};
  /// Value added to the niceness of the thread that constructs the executor, on systems with a
  /// niceness per thread (Linux). 19 yields to everything else. Negative values need privileges and
  /// are ignored without them.
  int nice = 0;
  std::function<void()> on_start{};  ///< Called first on each new thread.
  std::function<void()> on_exit{};   ///< Called last on each thread; only `terminated` may follow.
  /// Called before a new thread starts, by the thread that starts it (usually the submitting one),
  /// with the executor's lock held. If it returns false or throws, the executor treats the new
  /// thread as refused by the system. It must not use the executor. Several pools can share a
  /// budget of threads this way.
  std::function<bool()> may_start{};
};

/// Returns the number of CPUs that the affinity of the calling thread and the CPU limit of its
/// cgroup allow, at least 1.
[[nodiscard]] std::size_t default_pool_size() noexcept;

}  // namespace takt::inline TAKT_ABI
