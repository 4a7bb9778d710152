/// \file
/// Blocking calls within tasks.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

/// Says that the calling task is about to block for something that is not work: input, a lock, an
/// answer. Where the executor can, it has another thread do the work meanwhile.
///
/// \code
/// auto answer = pool.submit([&] {
///   const takt::blocking_region waiting;   // a pool of 4 still has 4 threads that work
///   return connection.read();
/// });
/// \endcode
///
/// Continuations that the thread has deferred are called first. Outside of an executor it does
/// nothing else. **Thread safety**: belongs to the thread that made it.
class blocking_region {
 public:
  blocking_region() noexcept;
  ~blocking_region();
  blocking_region(const blocking_region&) = delete;
  blocking_region& operator=(const blocking_region&) = delete;
};

}  // namespace takt::inline TAKT_ABI
