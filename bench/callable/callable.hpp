/// \file
/// The life of a type-erased callable: made, moved, called, destroyed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers callable_std_function(const request& asked);
numbers callable_takt(const request& asked);

/// A callable of that size, as a closure over a pointer and some state would be.
template <std::size_t Bytes>
struct capture {
  std::int64_t* sum;
  std::array<std::byte, Bytes - sizeof(std::int64_t*)> state{};

  void operator()() const { ++*sum; }
};

template <class Function, std::size_t Bytes>
numbers callable_life(const request& asked) {
  static_assert(sizeof(capture<Bytes>) == Bytes);
  const std::int64_t lives = asked.amount(2'000'000);
  std::int64_t sum = 0;
  const stopwatch watch;
  for (std::int64_t i = 0; i < lives; ++i) {
    Function made{capture<Bytes>{&sum}};
    escape(made);
    Function moved{std::move(made)};
    escape(moved);
    moved();
  }
  const double result = watch.nanoseconds_per(lives);
  if (sum != lives) throw std::logic_error("a callable was not called");
  return {result};
}

/// Function is a wrapper of signature void().
template <class Function>
numbers callable_life_of_size(const request& asked) {
  switch (asked["bytes"]) {
    case 24:
      return callable_life<Function, 24>(asked);
    case 48:
      return callable_life<Function, 48>(asked);
    case 200:
      return callable_life<Function, 200>(asked);
    default:
      throw std::logic_error("no capture of that size is compiled in");
  }
}

}  // namespace bench
