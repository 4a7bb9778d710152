#include <span>

#include <takt/timer/delay_heap.hpp>
#include <takt/timer/hashed_wheel.hpp>
#include <takt/timer/timer_wheel.hpp>

#include "timers.hpp"

namespace bench {
namespace {

template <class Set>
class takt_timers {
 public:
  explicit takt_timers(std::size_t count) : ids_(count) {}

  void schedule(std::size_t i, std::int64_t deadline, const timer_value& value) {
    ids_[i] = set_.insert(at(deadline), value);
  }

  timer_value cancel(std::size_t i) { return *set_.remove(ids_[i]); }

  template <class Function>
  void fire(std::int64_t now, Function function) {
    std::size_t count = 0;
    do {
      count = set_.advance_to(at(now), expired_);
      for (const takt::timer_id id : std::span(expired_).first(count)) {
        function(*set_.remove(id));
      }
    } while (count == expired_.size());
  }

 private:
  static typename Set::time_point at(std::int64_t t) {
    return typename Set::time_point(std::chrono::nanoseconds(t));
  }

  Set set_;
  std::vector<takt::timer_id> ids_;
  std::array<takt::timer_id, 64> expired_;
};

}  // namespace

numbers timers_delay_heap(const request& asked) {
  return timers_with<takt_timers<takt::delay_heap<timer_value>>>(asked);
}

numbers timers_hashed_wheel(const request& asked) {
  return timers_with<takt_timers<takt::hashed_wheel<timer_value>>>(asked);
}

numbers timers_timer_wheel(const request& asked) {
  return timers_with<takt_timers<takt::timer_wheel<timer_value>>>(asked);
}

}  // namespace bench
