/// \file
/// Marks blocking calls inside tasks.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Announces to the executor that the calling task is about to block: on input, on a lock, for a
/// reply. While a blocking_region exists, a pool may run one thread more, unless its option
/// `resizable` is false.
///
/// \code
/// auto answer = pool.submit([&] {
///   const takt::blocking_region waiting;   // a pool of 4 still has 4 threads that work
///   return connection.read();
/// });
/// \endcode
///
/// The constructor first calls the continuations deferred on this thread. On a thread that belongs
/// to no pool, a blocking_region has no other effect.
///
/// **Thread safety.** Construct and destroy it on the same thread.
class blocking_region {
 public:
  blocking_region() noexcept;
  ~blocking_region();
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
};

}  // namespace takt::inline TAKT_ABI
