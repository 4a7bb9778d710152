/// \file
/// The timers of one thread in a wheel_scheduler.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <takt/exec/thread_pool.hpp>
#include <takt/sched/wheel_scheduler.hpp>

#include "support/callback.hpp"

namespace bench {

// Tick and number of slots equal those of Netty's wheel.
template <takt::timer_stamp Stamp>
struct takt_wheel {
  takt_wheel() { pool.prestart(); }

  takt::thread_pool pool{{.core_threads = 1}};
  takt::wheel_scheduler wheel{
      {.tick = std::chrono::milliseconds(10), .ticks_per_wheel = 512, .stamp = Stamp}};
};

template <takt::timer_stamp Stamp>
class takt_wheel_timer_set {
 public:
  using service = takt_wheel<Stamp>;

  takt_wheel_timer_set(service& where, std::size_t count) : where_(where) {
    handles_.reserve(count);
  }

  void schedule(std::size_t /*index*/, std::chrono::nanoseconds delay, timer_callback callback) {
    handles_.push_back(where_.wheel.execute(delay, where_.pool, callback));
  }

  bool cancel(std::size_t index) {
    const takt::timer_handle handle = std::move(handles_[index]);
    return handle.cancel() == takt::cancel_result::prevented;
  }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback /*known*/) {
    return handles_[index].reschedule(delay);
  }

  void settle() { handles_.clear(); }

 private:
  service& where_;
  std::vector<takt::timer_handle> handles_;
};

using stamped_by_caller = takt_wheel_timer_set<takt::timer_stamp::caller>;
using stamped_by_timer = takt_wheel_timer_set<takt::timer_stamp::timer>;

}  // namespace bench
