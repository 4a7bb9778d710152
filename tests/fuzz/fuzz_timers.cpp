// Compares the heap and the wheels with a sorted map of the same timers.
#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <takt/timer/delay_heap.hpp>
#include <takt/timer/hashed_wheel.hpp>
#include <takt/timer/timer_wheel.hpp>

#include "fuzz.hpp"

namespace {

using takt::timer_id;
using time_point = takt::delay_heap<int>::time_point;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

time_point at(std::int64_t t) { return time_point(std::chrono::nanoseconds(t)); }

// An offset of any magnitude: up to eight bits, shifted.
std::int64_t distance(script& input) {
  const auto bits = static_cast<std::int64_t>(input.next(256));
  return bits << input.next(55);
}

std::int64_t later(std::int64_t t, std::int64_t d) { return t > highest - d ? highest : t + d; }
std::int64_t earlier(std::int64_t t, std::int64_t d) { return t < lowest + d ? lowest : t - d; }

template <class Set>
void run(Set& set, script input) {
  struct timer {
    timer_id id;
    std::pair<std::int64_t, unsigned> place;
    bool pending = false;
  };
  std::vector<timer> timers;  // including ended timers
  std::map<std::pair<std::int64_t, unsigned>, std::size_t> order;
  std::int64_t now = lowest;
  unsigned sequence = 0;

  const auto deadline = [&] {
    const std::size_t kind = input.next(8);
    if (kind == 0) return earlier(now, distance(input));
    if (kind == 1) return earlier(highest, distance(input));
    return later(now, distance(input));
  };

  while (!input.done()) {
    const std::size_t operation = input.next(8);
    if (operation < 3 || timers.empty()) {
      const std::int64_t t = deadline();
      const timer_id id = set.insert(at(t), timers.size());
      order[{t, sequence}] = timers.size();
      timers.push_back({id, {t, sequence++}, true});
    } else if (operation == 3) {
      timer& gone = timers[input.next(timers.size())];
      const bool there = set.find(gone.id) != nullptr;
      EXPECT(there || !gone.pending);
      const auto value = set.remove(gone.id);
      EXPECT(value.has_value() == there);
      if (there) EXPECT(&timers[*value] == &gone);
      if (gone.pending) order.erase(gone.place);
      gone.pending = false;
    } else if (operation == 4) {
      timer& moved = timers[input.next(timers.size())];
      const std::int64_t t = deadline();
      const bool there = set.find(moved.id) != nullptr;
      bool keep = false;
      if constexpr (requires { set.requeue(moved.id, at(t)); }) {
        keep = input.next(2) == 0;
        if (keep) EXPECT(set.requeue(moved.id, at(t)) == there);
      }
      if (!keep) EXPECT(set.reschedule(moved.id, at(t)) == there);
      if (!there) continue;
      if (moved.pending) order.erase(moved.place);
      moved.place = {t, keep ? moved.place.second : sequence++};
      moved.pending = true;
      order[moved.place] = static_cast<std::size_t>(&moved - timers.data());
    } else {
      if (operation == 5) {
        const std::int64_t next = set.next_deadline().time_since_epoch().count();
        EXPECT(order.empty() ? next == highest : next <= order.begin()->first.first);
        now = std::max(now, next);
      } else {
        now = later(now, distance(input));
      }
      std::array<timer_id, 5> expired;
      const std::size_t budget = input.next(expired.size() + 1);
      const std::size_t count = set.advance_to(at(now), std::span(expired).first(budget));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT(!order.empty());
        timer& first = timers[order.begin()->second];
        EXPECT(first.id == expired[i]);
        EXPECT(first.place.first <= now && first.place.first != highest);
        first.pending = false;
        order.erase(order.begin());
      }
      if (count < budget && !order.empty()) {
        EXPECT(order.begin()->first.first > now || order.begin()->first.first == highest);
      }
    }
    EXPECT(set.size() == order.size());
    EXPECT(set.check_invariants());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  script input(data, size);
  const std::size_t kind = input.next(5);
  if (kind == 0) {
    takt::delay_heap<std::size_t> set;
    run(set, input);
  } else if (kind == 1) {
    takt::timer_wheel<std::size_t> set;
    run(set, input);
  } else if (kind == 2) {
    takt::hashed_wheel<std::size_t> set;
    run(set, input);
  } else if (kind == 3) {
    takt::delay_heap<std::size_t> set({.near = 8});
    run(set, input);
  } else {
    takt::hashed_wheel<std::size_t> set({.tick = std::chrono::nanoseconds(3), .slots = 4});
    run(set, input);
  }
  return 0;
}
