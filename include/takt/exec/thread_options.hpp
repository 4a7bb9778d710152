/// \file
/// What threads of a pool are like, and how many a machine is good for.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// How the threads of an executor are made. Names come from the executor's own name.
///
/// on_start and on_exit run on the new thread. They must not throw, which ends the program, nor
/// destroy the executor.
struct thread_options {
  /// The CPUs that they may run on; empty: as the thread whose submission starts them. Ignored
  /// where threads cannot be bound.
  std::vector<int> cpus{};
  /// Added to the niceness of the thread that makes the executor, where threads have one of their
  /// own (Linux): 19 yields to everything else. A negative one needs privileges, and is ignored
  /// without.
  int nice = 0;
  std::function<void()> on_start{};  ///< First thing on the thread.
  std::function<void()> on_exit{};   ///< Last thing on the thread, but for `terminated`.
  /// Asked before a thread is started, by who submits, with the executor's lock held; false, or an
  /// exception, counts as a thread that the system refuses. For a budget of threads that several
  /// pools share. Must not use the executor.
  std::function<bool()> may_start{};
};

/// How many threads can run at once: what the affinity of this thread and the CPU limit of its
/// cgroup leave of the machine, at least 1.
[[nodiscard]] std::size_t default_pool_size() noexcept;

}  // namespace takt::inline TAKT_ABI
