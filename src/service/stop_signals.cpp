// Each object has a thread that polls two descriptors: a signalfd, readable while a signal of the
// object is pending, and an eventfd, readable when `received_` has changed or the object ends. The
// system delivers a signal to one thread only. That thread notes the signal for every object that
// waits for it, its own object included.
//
// Invariants
//   1. Every signal of a registered object is blocked in the thread that made the object.
//   2. Each signal has one effect: it is noted for all objects that wait for it or, if there are
//      none left, sent to the process again, where it stays pending until it is unblocked.
//   3. If a signal was not blocked before the first object that waits for it, exactly one of these
//      objects unblocks it when it is destroyed (`unblocks_`).
//   4. No lock is held while stop is requested.
#include <takt/service/stop_signals.hpp>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/clock/time.hpp>
#include <takt/service/service_group.hpp>

namespace takt::inline TAKT_ABI {
namespace {

bool has(const sigset_t& set, int signal) noexcept { return sigismember(&set, signal) == 1; }

bool is_ignored(int signal) noexcept {
  struct sigaction now{};
  return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

// Without the signals that the process ignores.
sigset_t set_of(const std::vector<int>& signals) {
  if (signals.empty()) throw std::invalid_argument("takt::stop_signals: there are no signals");
  sigset_t set;
  sigemptyset(&set);
  for (const int each : signals) {
    if (each == SIGKILL || each == SIGSTOP || sigaddset(&set, each) != 0) {
      throw std::invalid_argument("takt::stop_signals: " + std::to_string(each) +
                                  " is not a signal that can be waited for");
    }
    if (is_ignored(each)) sigdelset(&set, each);
  }
  return set;
}

// Blocks all signals in the calling thread during its lifetime.
class all_blocked {
 public:
  all_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~all_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  all_blocked(const all_blocked&) = delete;
  all_blocked& operator=(const all_blocked&) = delete;

 private:
  sigset_t before_{};
};

class descriptor {
 public:
  descriptor(int opened, const char* call) : number_(opened) {
    if (opened == -1) {
      throw std::system_error(errno, std::generic_category(),
                              std::string("takt::stop_signals: ") + call);
    }
  }
  ~descriptor() { close(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int number() const noexcept { return number_; }
  void close() noexcept {
    if (number_ != -1) ::close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

}  // namespace

class stop_signals::impl {
 public:
  // The stop_signals objects of this process.
  class registry {
   public:
    static registry& of_this_process();

    void add(impl& object);
    // No signal is noted for the object afterwards.
    void remove(impl& object) noexcept;
    // Called by a thread that has taken a signal.
    void note(int signal) noexcept;
    // Called when an object of the parent process is destroyed in this child process.
    static void end_in_child(sigset_t& unblocks) noexcept;

    detail::mutex mu_;

   private:
    static sync::atomic<registry*>& current() noexcept;
    void transfer_unblocking(sigset_t& unblocks) noexcept TAKT_REQUIRES(mu_);

    const detail::fork_guard home_;
    std::vector<impl*> objects_ TAKT_GUARDED_BY(mu_);
  };

  explicit impl(const options_type& options);
  ~impl();
  // In a child process: neither joins the thread nor takes a lock of the parent's.
  void release_in_child() noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS;

  // Constant after construction.
  sync::stop_source stop_;
  sync::stop_source force_;

  // Atomic. Written by thread_.
  sync::atomic<int> first_{0};

 private:
  void watch() noexcept;
  void handle(std::size_t index, int signal) noexcept;

  // Constant after construction.
  const bool third_exits_;
  const sigset_t signals_;
  descriptor pending_;  // readable while one of `signals_` is pending
  descriptor wake_;     // readable when a field below has changed
  registry& registry_;

  // Guarded by the registry's lock.
  std::array<int, 3> received_{};  // the first three; later signals have no effect
  std::size_t count_ = 0;
  bool ending_ = false;
  sigset_t unblocks_{};  // unblocked by the destructor

  sync::thread thread_;
};

sync::atomic<stop_signals::impl::registry*>& stop_signals::impl::registry::current() noexcept {
  static sync::atomic<registry*> registry_of_a_process{nullptr};
  return registry_of_a_process;
}

// A child process after fork() gets a registry of its own: the lock of the parent's registry may be
// held by a thread that does not exist in the child.
stop_signals::impl::registry& stop_signals::impl::registry::of_this_process() {
  registry* known = current().load(std::memory_order_acquire);  // acquire: it has been made
  while (known == nullptr || !known->home_.is_here()) {
    auto made = std::make_unique<registry>();
    // acq_rel: publishes the registry; acquire: as above
    if (current().compare_exchange_strong(known, made.get(), std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
      known = made.release();
    }
  }
  return *known;
}

void stop_signals::impl::registry::add(impl& object) {
  const detail::mutex_lock lock(mu_);
  objects_.push_back(&object);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &object.signals_, &before);
  for (int each = 1; each <= SIGRTMAX; ++each) {
    if (has(object.signals_, each) && !has(before, each)) sigaddset(&object.unblocks_, each);
  }
}

void stop_signals::impl::registry::remove(impl& object) noexcept {
  const detail::mutex_lock lock(mu_);
  std::erase(objects_, &object);
  transfer_unblocking(object.unblocks_);
  object.ending_ = true;
  eventfd_write(object.wake_.number(), 1);
}

// Passes signals that another object still waits for to that object. The rest stays in `unblocks`.
void stop_signals::impl::registry::transfer_unblocking(sigset_t& unblocks) noexcept {
  for (int each = 1; each <= SIGRTMAX; ++each) {
    if (!has(unblocks, each)) continue;
    for (impl* const other : objects_) {
      if (!has(other->signals_, each)) continue;
      sigaddset(&other->unblocks_, each);
      sigdelset(&unblocks, each);
      break;
    }
  }
}

void stop_signals::impl::registry::end_in_child(sigset_t& unblocks) noexcept {
  registry* const known = current().load(std::memory_order_acquire);  // acquire: it has been made
  if (!known->home_.is_here()) return;  // the child process has no object of its own
  const detail::mutex_lock lock(known->mu_);
  known->transfer_unblocking(unblocks);
}

void stop_signals::impl::registry::note(int signal) noexcept {
  bool noted = false;
  {
    const detail::mutex_lock lock(mu_);
    for (impl* const object : objects_) {
      if (!has(object->signals_, signal)) continue;
      noted = true;
      if (object->count_ == object->received_.size()) continue;
      object->received_[object->count_++] = signal;
      eventfd_write(object->wake_.number(), 1);
    }
  }
  if (!noted) kill(getpid(), signal);
}

stop_signals::impl::impl(const options_type& options)
    : third_exits_(options.third_exits),
      signals_(set_of(options.signals)),
      pending_(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
      registry_(registry::of_this_process()) {
  sigemptyset(&unblocks_);
  registry_.add(*this);
  try {
    const all_blocked here;  // inherited: a signal of a later object must not end the process
    thread_ = sync::thread([this] { watch(); });
  } catch (...) {
    registry_.remove(*this);
    pthread_sigmask(SIG_UNBLOCK, &unblocks_, nullptr);
    throw;
  }
}

stop_signals::impl::~impl() {
  registry_.remove(*this);
  detail::deferred_continuations::run();  // a stop callback on thread_ may wait for them
  thread_.join();
  pthread_sigmask(SIG_UNBLOCK, &unblocks_, nullptr);
}

void stop_signals::impl::release_in_child() noexcept {
  pending_.close();
  wake_.close();
  registry::end_in_child(unblocks_);
  pthread_sigmask(SIG_UNBLOCK, &unblocks_, nullptr);
}

void stop_signals::impl::watch() noexcept {
  std::size_t handled = 0;
  for (;;) {
    pollfd both[] = {{.fd = pending_.number(), .events = POLLIN, .revents = 0},
                     {.fd = wake_.number(), .events = POLLIN, .revents = 0}};
    if (poll(both, std::size(both), -1) == -1) continue;
    if (both[0].revents != 0) {
      const timespec now{};
      const int taken = sigtimedwait(&signals_, nullptr, &now);
      if (taken > 0) registry_.note(taken);  // else another thread was quicker
    }
    detail::mutex_lock lock(registry_.mu_);
    eventfd_t ignored = 0;
    eventfd_read(wake_.number(), &ignored);
    const std::array<int, 3> received = received_;
    const std::size_t count = count_;
    const bool ending = ending_;
    lock.unlock();
    for (; handled < count; ++handled) handle(handled, received[handled]);
    if (ending) return;
  }
}

void stop_signals::impl::handle(std::size_t index, int signal) noexcept {
  if (index == 0) {
    first_.store(signal, std::memory_order_relaxed);  // relaxed: the request publishes it
    stop_.request_stop();
  } else if (index == 1) {
    force_.request_stop();
  } else if (third_exits_) {
    std::_Exit(128 + signal);
  }
}

stop_signals::stop_signals(const options_type& options) : impl_(new impl(options)) {}

stop_signals::~stop_signals() {
  if (home_.is_here()) {
    delete impl_;
  } else {
    impl_->release_in_child();
  }
}

sync::stop_token stop_signals::stop_token() const noexcept { return impl_->stop_.get_token(); }
sync::stop_token stop_signals::force_token() const noexcept { return impl_->force_.get_token(); }
int stop_signals::first() const noexcept {
  return impl_->first_.load(std::memory_order_relaxed);  // relaxed: a number
}

// Defined here and not in service_group.cpp: the model checker has no signals.
stop_report service_group::run_for(std::chrono::nanoseconds timeout, const stop_signals& signals) {
  start();
  wait_for_request(signals.stop_token());
  return stop_until(deadline_after(time().now(), timeout), signals.force_token());
}

}  // namespace takt::inline TAKT_ABI
