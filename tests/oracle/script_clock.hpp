/// \file
/// A clock that only the script moves.
#pragma once

#include <algorithm>
#include <chrono>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/clock/clock.hpp>

namespace oracle {

/// The time of a script. The clock also holds the one worker: when the worker is idle and waits for
/// its next deadline, it stays blocked while operations are issued. So all due tasks have run when
/// the worker is held. When the script itself waits for a deadline, the time moves there.
class script_clock final : public takt::clock {
 public:
  [[nodiscard]] time_point now() const noexcept override {
    const takt::detail::mutex_lock lock(mu_);
    return now_;
  }
  void park_until(takt::parker& p, time_point deadline) const noexcept override {
    const bool is_script = takt::sync::this_thread_id() == owner_;
    if (is_script && deadline == time_point::max()) {  // waiting for the pool's termination
      takt::steady.park_until(p, deadline);
      return;
    }
    takt::detail::mutex_lock lock(mu_);
    if (is_script) {
      now_ = std::max(now_, deadline);
      return;
    }
    held_ = !gone_;
    changed_.notify_all();
    while (held_) changed_.wait(lock);
  }

  void advance(std::chrono::nanoseconds d) {
    const takt::detail::mutex_lock lock(mu_);
    now_ += d;
  }
  /// Releases the worker, and waits until it is idle again or has ended.
  void let_work() {
    takt::detail::mutex_lock lock(mu_);
    held_ = false;
    changed_.notify_all();
    while (!held_ && !gone_) changed_.wait(lock);
  }
  void wait_until_held() {
    takt::detail::mutex_lock lock(mu_);
    while (!held_) changed_.wait(lock);
  }
  /// The worker has ended or is about to: stops holding it.
  void let_go() {
    const takt::detail::mutex_lock lock(mu_);
    gone_ = true;
    held_ = false;
    changed_.notify_all();
  }
  [[nodiscard]] bool is_gone() const {
    const takt::detail::mutex_lock lock(mu_);
    return gone_;
  }

 private:
  const takt::sync::thread::id owner_ = takt::sync::this_thread_id();
  mutable takt::detail::mutex mu_;
  mutable takt::detail::condition changed_;
  mutable time_point now_ TAKT_GUARDED_BY(mu_);
  mutable bool held_ TAKT_GUARDED_BY(mu_) = false;
  bool gone_ TAKT_GUARDED_BY(mu_) = false;
};

}  // namespace oracle
