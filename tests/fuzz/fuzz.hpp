// What the fuzzers have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// The input of a fuzzer, read as a script: an operation, its operands, the next operation.
class script {
 public:
  script(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  [[nodiscard]] bool done() const { return at_ == end_; }

  // A number below limit; 0 when the script is at its end.
  std::size_t next(std::size_t limit) { return done() ? 0 : *at_++ % limit; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

// Checked in every build: a fuzzer without checks finds only crashes.
#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)
