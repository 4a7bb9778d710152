// For tests: the structures that the same tests are run for.
#pragma once

#include <chrono>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <takt/timer/delay_heap.hpp>
#include <takt/timer/hashed_wheel.hpp>
#include <takt/timer/timer_wheel.hpp>

namespace kinds {

struct heap {
  template <class T>
  using set = takt::delay_heap<T>;
};

// With more than a few timers most are in slots.
struct small_heap {
  template <class T>
  class set : public takt::delay_heap<T> {
   public:
    set() : takt::delay_heap<T>({.near = 24}) {}
  };
};

struct wheel {
  template <class T>
  using set = takt::timer_wheel<T>;
};

struct hashed {
  template <class T>
  using set = takt::hashed_wheel<T>;
};

// Where a turn is short, most timers are of later ones, and a step is often longer than a turn.
struct short_turn {
  template <class T>
  class set : public takt::hashed_wheel<T> {
   public:
    set() : takt::hashed_wheel<T>({.tick = std::chrono::nanoseconds(700), .slots = 8}) {}
  };
};

// No two deadlines share a tick, and ticks reach as far as numbers do.
struct one_nanosecond {
  template <class T>
  class set : public takt::hashed_wheel<T> {
   public:
    set() : takt::hashed_wheel<T>({.tick = std::chrono::nanoseconds(1), .slots = 256}) {}
  };
};

using all = testing::Types<heap, small_heap, wheel, hashed, short_turn, one_nanosecond>;

struct names {
  template <class Kind>
  static std::string GetName(int /*number*/) {  // NOLINT(readability-identifier-naming): gtest's
    if constexpr (std::is_same_v<Kind, heap>) return "delay_heap";
    if constexpr (std::is_same_v<Kind, small_heap>) return "delay_heap_small";
    if constexpr (std::is_same_v<Kind, wheel>) return "timer_wheel";
    if constexpr (std::is_same_v<Kind, hashed>) return "hashed_wheel";
    if constexpr (std::is_same_v<Kind, short_turn>) return "hashed_wheel_short_turn";
    return "hashed_wheel_one_nanosecond";
  }
};

}  // namespace kinds
