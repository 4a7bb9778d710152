/// \file
/// A timer without a library: a mutex, a heap, a map for cancellation and a thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bench {

/// One-shot timers, written with care: the heap holds 16-byte entries; cancelling leaves entries
/// behind, which are swept out when they are the majority; only an earlier head wakes the thread;
/// callbacks run and are destroyed outside of the lock.
class naive_timer {
 public:
  using clock = std::chrono::steady_clock;
  using id = std::uint64_t;

  ~naive_timer() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_one();
  }

  template <class Callback>
  id schedule(clock::duration delay, Callback&& callback) {
    const clock::time_point deadline = clock::now() + delay;
    bool new_head = false;
    id mine = 0;
    {
      const std::lock_guard lock(mutex_);
      mine = next_id_++;
      callbacks_.emplace(mine, std::forward<Callback>(callback));
      heap_.push_back({deadline, mine});
      std::ranges::push_heap(heap_, std::greater{}, &entry::deadline);
      new_head = heap_.front().timer == mine;
    }
    if (new_head) changed_.notify_one();
    return mine;
  }

  /// Returns false if the timer has fired or was cancelled before.
  bool cancel(id timer) {
    decltype(callbacks_)::node_type cancelled;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    cancelled = callbacks_.extract(timer);
    if (heap_.size() > 2 * callbacks_.size() + 64) sweep();
    return !cancelled.empty();
  }

 private:
  struct entry {
    clock::time_point deadline;
    id timer;
  };

  void sweep() {
    std::erase_if(heap_, [this](const entry& e) { return !callbacks_.contains(e.timer); });
    std::ranges::make_heap(heap_, std::greater{}, &entry::deadline);
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!closed_) {
      if (heap_.empty()) {
        changed_.wait(lock);
      } else if (const auto deadline = heap_.front().deadline; clock::now() < deadline) {
        changed_.wait_until(lock, deadline);
      } else {
        std::ranges::pop_heap(heap_, std::greater{}, &entry::deadline);
        auto due = callbacks_.extract(heap_.back().timer);
        heap_.pop_back();
        if (due.empty()) continue;
        lock.unlock();
        due.mapped()();
        due = {};
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<entry> heap_;
  std::unordered_map<id, std::function<void()>> callbacks_;
  id next_id_ = 1;
  bool closed_ = false;
  std::jthread worker_{[this] { work(); }};  // last: it uses all other members
};

}  // namespace bench
