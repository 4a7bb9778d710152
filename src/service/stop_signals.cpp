// A thread waits for the signals with sigwait(). To end it, the destructor sends it one of them,
// which it finds together with `ending_`.
#include <takt/service/stop_signals.hpp>

#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include <takt/base/owed_calls.hpp>
#include <takt/clock/time.hpp>
#include <takt/service/service_group.hpp>

namespace takt::inline TAKT_ABI {
namespace {

sigset_t set_of(const std::vector<int>& signals) {
  if (signals.empty()) throw std::invalid_argument("takt::stop_signals: there are no signals");
  sigset_t set;
  sigemptyset(&set);
  for (const int each : signals) {
    if (each == SIGKILL || each == SIGSTOP || sigaddset(&set, each) != 0) {
      throw std::invalid_argument("takt::stop_signals: " + std::to_string(each) +
                                  " is no signal that can be waited for");
    }
  }
  return set;
}

// Those of them that were not blocked before. Others may have blocked more since then.
sigset_t blocked_by(const sigset_t& signals, const sigset_t& before) noexcept {
  sigset_t own;
  sigemptyset(&own);
  for (int each = 1; each <= SIGRTMAX; ++each) {
    if (sigismember(&signals, each) == 1 && sigismember(&before, each) == 0) sigaddset(&own, each);
  }
  return own;
}

void unblock(const sigset_t& signals) noexcept { pthread_sigmask(SIG_UNBLOCK, &signals, nullptr); }

}  // namespace

class stop_signals::impl {
 public:
  explicit impl(const options& how);
  ~impl();

  // Constant after construction.
  const bool third_exits_;
  const sigset_t signals_;
  sigset_t blocked_before_{};
  sync::stop_source stop_;
  sync::stop_source force_;

  // Atomic. Written by the thread.
  sync::atomic<int> first_{0};

 private:
  void watch() noexcept;

  // Atomic. Written by the destructor.
  sync::atomic<bool> ending_{false};
  sync::thread thread_;
};

stop_signals::impl::impl(const options& how)
    : third_exits_(how.third_exits), signals_(set_of(how.signals)) {
  pthread_sigmask(SIG_BLOCK, &signals_, &blocked_before_);
  try {
    thread_ = sync::thread([this] { watch(); });
  } catch (...) {
    unblock(blocked_by(signals_, blocked_before_));
    throw;
  }
}

stop_signals::impl::~impl() {
  ending_.store(true, std::memory_order_relaxed);  // relaxed: the signal comes after it
  int one = 1;
  while (sigismember(&signals_, one) != 1) ++one;
  pthread_kill(thread_.native_handle(), one);
  owed_calls::make();  // a stop callback on that thread may wait for them
  thread_.join();
}

void stop_signals::impl::watch() noexcept {
  for (int count = 0;;) {
    int number = 0;
    if (sigwait(&signals_, &number) != 0) continue;
    if (ending_.load(std::memory_order_relaxed)) return;  // relaxed: as above
    ++count;
    if (count == 1) {
      first_.store(number, std::memory_order_relaxed);  // relaxed: the request publishes it
      stop_.request_stop();
    } else if (count == 2) {
      force_.request_stop();
    } else if (third_exits_) {
      std::_Exit(128 + number);
    }
  }
}

stop_signals::stop_signals(const options& how) : impl_(new impl(how)) {}

stop_signals::~stop_signals() {
  const sigset_t own = blocked_by(impl_->signals_, impl_->blocked_before_);
  if (home_.is_here()) delete impl_;
  unblock(own);
}

sync::stop_token stop_signals::stop_token() const noexcept { return impl_->stop_.get_token(); }
sync::stop_token stop_signals::force_token() const noexcept { return impl_->force_.get_token(); }
int stop_signals::first() const noexcept {
  return impl_->first_.load(std::memory_order_relaxed);  // relaxed: a number
}

// Here, and not with the rest of it: under the model checker there are no signals.
stop_report service_group::run_for(std::chrono::nanoseconds timeout, const stop_signals& signals) {
  start();
  wait_for_request(signals.stop_token());
  return stop_until(deadline_after(time().now(), timeout), signals.force_token());
}

}  // namespace takt::inline TAKT_ABI
