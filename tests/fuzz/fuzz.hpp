// Shared by all fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Reads the input of a fuzzer as a script: an operation, its operands, the next operation.
class script {
 public:
  script(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  [[nodiscard]] bool done() const { return at_ == end_; }

  // Returns a number below limit; 0 at the end of the script.
  std::size_t next(std::size_t limit) { return done() ? 0 : *at_++ % limit; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// Checks in every build: without checks a fuzzer finds only crashes.
#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)
