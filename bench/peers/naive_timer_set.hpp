/// \file
/// The timers of one thread in naive_timer.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "peers/naive_timer.hpp"
#include "support/callback.hpp"

namespace bench {

class naive_timer_set {
 public:
  using service = naive_timer;

  naive_timer_set(service& where, std::size_t count) : timer_(where), ids_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    ids_[index] = timer_.schedule(delay, callback);
  }

  bool cancel(std::size_t index) { return timer_.cancel(ids_[index]); }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    const bool moved = cancel(index);
    schedule(index, delay, callback);
    return moved;
  }

  void settle() {}

 private:
  naive_timer& timer_;
  std::vector<naive_timer::id> ids_;
};

}  // namespace bench
