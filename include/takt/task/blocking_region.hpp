/// \file
/// Marks blocking calls inside tasks.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Tells the executor that the calling task is about to block: on input, on a lock, for a reply.
/// While a blocking_region exists, an executor that supports it may run one thread more.
///
/// \code
/// auto answer = pool.submit([&] {
///   const takt::blocking_region waiting;   // a pool of 4 still has 4 threads that work
///   return connection.read();
/// });
/// \endcode
///
/// The constructor first calls the continuations deferred on this thread. Outside an executor it
/// does nothing else.
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
