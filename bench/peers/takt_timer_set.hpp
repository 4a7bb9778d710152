/// \file
/// The timers of one thread in a scheduled_pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/sched/scheduled_pool.hpp>

#include "support/callback.hpp"

namespace bench {

struct takt_pool : takt::scheduled_pool {
  takt_pool() : scheduled_pool({.threads = 1}) { prestart(); }
};

// Handle is the handle type that the user keeps.
template <class Handle>
class takt_timer_set {
 public:
  using service = takt_pool;

  takt_timer_set(service& where, std::size_t count) : pool_(where) { handles_.reserve(count); }

  void schedule(std::size_t /*index*/, std::chrono::nanoseconds delay, timer_callback callback) {
    if constexpr (std::is_same_v<Handle, takt::timer_handle>) {
      handles_.push_back(pool_.execute(delay, callback));
    } else {
      handles_.push_back(pool_.schedule(delay, callback));
    }
  }

  bool cancel(std::size_t index) {
    const Handle handle = std::move(handles_[index]);
    return handle.cancel() == takt::cancel_result::prevented;
  }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback /*known*/) {
    return handles_[index].reschedule(delay);
  }

  void settle() { handles_.clear(); }

 private:
  takt::scheduled_pool& pool_;
  std::vector<Handle> handles_;
};

}  // namespace bench
