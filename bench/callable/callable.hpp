/// \file
/// The life of a type-erased callable: construction, move, call, destruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness.hpp"
#include "support/stopwatch.hpp"

namespace bench {

numbers callable_std_function(const request& asked);
numbers callable_takt(const request& asked);

/// A callable of this size, like a closure over a pointer and some state.
template <std::size_t Bytes>
struct capture {
  std::int64_t* sum = nullptr;
  std::array<std::byte, Bytes - sizeof(std::int64_t*)> state{};

  void operator()() const { ++*sum; }
};

/// Works in batches, as if the callables passed through a queue of that length. Both 1 and many are
/// measured, since each favours one side: at 1 an allocation is served from the thread's cache, and
/// a move reads in one piece bytes that were just written in several; with many, neither holds.
template <class Function, std::size_t Bytes>
numbers callable_life(const request& asked) {
  static_assert(sizeof(capture<Bytes>) == Bytes);
  const std::int64_t batch = asked["batch"];
  const std::int64_t batches = asked.amount(1'600'000) / batch;
  std::int64_t sum = 0;
  std::vector<Function> made;
  std::vector<Function> moved;
  made.reserve(static_cast<std::size_t>(batch));
  moved.reserve(static_cast<std::size_t>(batch));
  const stopwatch watch;
  for (std::int64_t i = 0; i < batches; ++i) {
    for (std::int64_t j = 0; j < batch; ++j) made.emplace_back(capture<Bytes>{&sum});
    escape(made);
    for (Function& each : made) moved.push_back(std::move(each));
    escape(moved);
    for (Function& each : moved) each();
    made.clear();
    moved.clear();
  }
  const std::int64_t lives = batches * batch;
  const double result = watch.nanoseconds_per(lives);
  if (sum != lives) throw std::logic_error("a callable was not called");
  return {result};
}

/// Function is a wrapper with the signature void().
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
