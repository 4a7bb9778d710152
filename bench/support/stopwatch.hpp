/// \file
/// Measuring time, and keeping the optimiser from removing measured code.
#pragma once

#include <chrono>
#include <cstdint>

namespace bench {

/// Starts at its construction.
class stopwatch {
 public:
  [[nodiscard]] double nanoseconds() const {
    return std::chrono::duration<double, std::nano>(clock::now() - start_).count();
  }

  [[nodiscard]] double nanoseconds_per(std::int64_t count) const {
    return nanoseconds() / static_cast<double>(count);
  }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Makes the compiler assume that the object is read and changed here.
template <class T>
void escape(T& object) noexcept {
  asm volatile("" : : "g"(&object) : "memory");
}

}  // namespace bench
