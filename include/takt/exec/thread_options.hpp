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
/// The hooks run on the new thread. They must not throw, which ends the program, nor destroy the
/// executor.
struct thread_options {
  /// Added to the niceness of the process, where threads have one of their own (Linux): 19 yields
  /// to everything else. A negative one needs privileges, and is ignored without them.
  int nice = 0;
  /// The CPUs that they may run on; empty: those of the thread that makes the executor. Ignored
  /// where threads cannot be bound.
  std::vector<int> cpus{};
  std::function<void()> on_start{};  ///< First thing on the thread.
  std::function<void()> on_exit{};   ///< Last thing on the thread.
  /// Asked before a thread is started; false counts as a thread that the system refuses. For a
  /// budget of threads that several pools share. Must not use the pool.
  std::function<bool()> may_start{};
};

/// How many threads can run at once: what the affinity of this thread and the CPU limit of its
/// cgroup leave of the machine, at least 1.
[[nodiscard]] std::size_t default_pool_size() noexcept;

}  // namespace takt::inline TAKT_ABI
