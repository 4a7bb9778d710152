// A thread waits for the signals with sigwait(). To end it, the destructor sends it one of them,
// under the lock under which it says so. So a thread that finds it ending knows that one of what it
// has got, or could get, is no signal, and takes it: all others are, and are sent to the process
// again, where they wait for the destructor to unblock them.
#include <takt/service/stop_signals.hpp>

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>

#include <takt/base/mutex.hpp>
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

int lowest_of(const sigset_t& signals) noexcept {
  int each = 1;
  while (sigismember(&signals, each) != 1) ++each;
  return each;
}

// Whether there is one more of this signal: takes it, without waiting.
bool take_another(int signal) noexcept {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  const timespec now{};
  return sigtimedwait(&only, nullptr, &now) == signal;
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
  const int wake_up_;  // one of them
  sigset_t blocked_before_{};
  sync::stop_source stop_;
  sync::stop_source force_;

  // Atomic. Written by the thread.
  sync::atomic<int> first_{0};

 private:
  void watch() noexcept;
  bool is_ending() noexcept {
    const mutex_lock lock(mu_);
    return ending_;
  }

  mutex mu_;
  bool ending_ TAKT_GUARDED_BY(mu_) = false;  // and `wake_up_` was sent
  sync::thread thread_;
};

stop_signals::impl::impl(const options& how)
    : third_exits_(how.third_exits), signals_(set_of(how.signals)), wake_up_(lowest_of(signals_)) {
  pthread_sigmask(SIG_BLOCK, &signals_, &blocked_before_);
  try {
    thread_ = sync::thread([this] { watch(); });
  } catch (...) {
    unblock(blocked_by(signals_, blocked_before_));
    throw;
  }
}

stop_signals::impl::~impl() {
  {
    const mutex_lock lock(mu_);
    ending_ = true;
    // One of real time needs room in a queue, which others may have filled. Sent to the process, it
    // needs none.
    if (pthread_kill(thread_.native_handle(), wake_up_) != 0) kill(getpid(), wake_up_);
  }
  owed_calls::make();  // a stop callback on that thread may wait for them
  thread_.join();
}

void stop_signals::impl::watch() noexcept {
  for (int count = 0;;) {
    int number = 0;
    if (sigwait(&signals_, &number) != 0) continue;
    if (is_ending()) {
      if (take_another(wake_up_) || number != wake_up_) kill(getpid(), number);
      return;
    }
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
