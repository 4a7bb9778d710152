#include <takt/service/stop_signals.hpp>

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/service_group.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::stop_signals;
using takt::sync::stop_token;
using takt_test::gate;
using takt_test::tally;
using takt_test::until_stopped;

// During its lifetime, a thread that has taken a signal continues only after a destructor has
// begun.
class late_thread {
 public:
  late_thread() { current = this; }
  ~late_thread() { current = nullptr; }
  late_thread(const late_thread&) = delete;
  late_thread& operator=(const late_thread&) = delete;
  void wait_until_it_has_one() const { taken_.wait_for(1); }

  static takt::sync::atomic<late_thread*> current;
  tally taken_;
  tally woken_;
};
takt::sync::atomic<late_thread*> late_thread::current{nullptr};

// The next thread that notes a signal holds the common lock of all objects until `released`.
struct held_lock {
  gate taken;
  gate released;

  static takt::sync::atomic<held_lock*> current;
};
takt::sync::atomic<held_lock*> held_lock::current{nullptr};

}  // namespace

// The linker prefers these to the functions of the C library.
// NOLINTBEGIN(bugprone-reserved-identifier): named as in the C library's header
extern "C" int sigtimedwait(const sigset_t* __set, siginfo_t* __info, const timespec* __timeout) {
  const auto taken = static_cast<int>(
      syscall(SYS_rt_sigtimedwait, __set, __info, __timeout, static_cast<std::size_t>(_NSIG / 8)));
  if (late_thread* const late = late_thread::current; late != nullptr && taken > 0) {
    late->taken_.add();
    late->woken_.wait_for(1);
  }
  return taken;
}

extern "C" int eventfd_write(int __fd, eventfd_t __value) {
  const ssize_t written = write(__fd, &__value, sizeof __value);
  if (late_thread* const late = late_thread::current) late->woken_.add();
  if (held_lock* const held = held_lock::current.exchange(nullptr)) {
    held->taken.open();
    held->released.wait();
  }
  return written == sizeof __value ? 0 : -1;
}
// NOLINTEND(bugprone-reserved-identifier)

namespace {

void send(int signal) { ASSERT_EQ(kill(getpid(), signal), 0); }

bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

TEST(stop_signals, the_first_asks_and_the_second_forces) {
  const stop_signals signals{{.signals = {SIGUSR1, SIGUSR2}}};
  EXPECT_EQ(signals.first(), 0);
  send(SIGUSR2);
  until_stopped(signals.stop_token());
  EXPECT_EQ(signals.first(), SIGUSR2);
  EXPECT_FALSE(signals.force_token().stop_requested());
  send(SIGUSR1);
  until_stopped(signals.force_token());
  EXPECT_EQ(signals.first(), SIGUSR2);
}

TEST(stop_signals, signals_have_the_effect_again_that_they_had) {
  EXPECT_FALSE(is_blocked(SIGUSR1));
  takt::sync::stop_token kept;
  {
    const stop_signals signals{{.signals = {SIGUSR1}}};
    EXPECT_TRUE(is_blocked(SIGUSR1));
    kept = signals.stop_token();
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_FALSE(kept.stop_requested()) << "the end is no signal";
}

// The thread has taken a signal when the destructor begins.
TEST(stop_signals, a_signal_that_comes_with_the_end_has_the_effect_that_it_had) {
  static volatile sig_atomic_t handled = 0;
  struct sigaction handle{};
  handle.sa_handler = [](int signal) { handled = signal; };
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    struct sigaction before{};
    ASSERT_EQ(sigaction(signal, &handle, &before), 0);
    handled = 0;
    std::optional<stop_signals> signals(std::in_place,
                                        stop_signals::options_type{.signals = {SIGUSR1, SIGUSR2}});
    const stop_token stop = signals->stop_token();
    {
      const late_thread late;
      send(signal);
      late.wait_until_it_has_one();
      signals.reset();
    }
    EXPECT_EQ(handled, signal);
    EXPECT_FALSE(stop.stop_requested()) << "one effect";
    ASSERT_EQ(sigaction(signal, &before, nullptr), 0);
  }
}

// During its lifetime, the queue of real-time signals is full.
class full_queue {
 public:
  full_queue() {
    EXPECT_EQ(getrlimit(RLIMIT_SIGPENDING, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
  }
  ~full_queue() { EXPECT_EQ(setrlimit(RLIMIT_SIGPENDING, &before_), 0); }
  full_queue(const full_queue&) = delete;
  full_queue& operator=(const full_queue&) = delete;

 private:
  rlimit before_{};
};

TEST(stop_signals, of_real_time_end_although_no_more_can_be_queued) {
  std::optional<stop_signals> signals(std::in_place,
                                      stop_signals::options_type{.signals = {SIGRTMIN + 1}});
  const stop_token stop = signals->stop_token();
  const full_queue full;
  signals.reset();
  EXPECT_FALSE(stop.stop_requested()) << "the end is no signal";
}

TEST(stop_signals, one_signal_reaches_all_objects) {
  const stop_signals one{{.signals = {SIGUSR1}}};
  const stop_signals two{{.signals = {SIGUSR1, SIGUSR2}}};
  const stop_signals three{{.signals = {SIGUSR2}}};
  send(SIGUSR1);
  until_stopped(one.stop_token());
  until_stopped(two.stop_token());
  EXPECT_FALSE(three.stop_token().stop_requested());
  send(SIGUSR2);
  until_stopped(two.force_token());
  until_stopped(three.stop_token());
  EXPECT_FALSE(one.force_token().stop_requested());
  EXPECT_EQ(two.first(), SIGUSR1);
  EXPECT_EQ(three.first(), SIGUSR2);
}

// A stop callback that blocks in one object does not delay the signals of another.
TEST(stop_signals, one_object_does_not_wait_for_the_callbacks_of_another) {
  const stop_signals one{{.signals = {SIGUSR1}}};
  const stop_signals two{{.signals = {SIGUSR1}}};
  const takt::sync::stop_callback waits(one.stop_token(),
                                        [&] { until_stopped(two.force_token()); });
  send(SIGUSR1);
  until_stopped(two.stop_token());
  send(SIGUSR1);
  until_stopped(two.force_token());
  until_stopped(one.force_token());
}

// In either order of destruction.
TEST(stop_signals, stay_blocked_until_the_last_object_is_gone) {
  for (const bool first_goes_first : {true, false}) {
    std::optional<stop_signals> one(std::in_place,
                                    stop_signals::options_type{.signals = {SIGUSR1}});
    std::optional<stop_signals> two(std::in_place,
                                    stop_signals::options_type{.signals = {SIGUSR1, SIGUSR2}});
    (first_goes_first ? one : two).reset();
    const stop_signals& left = first_goes_first ? *two : *one;
    EXPECT_TRUE(is_blocked(SIGUSR1));
    EXPECT_EQ(is_blocked(SIGUSR2), first_goes_first);
    send(SIGUSR1);
    until_stopped(left.stop_token());
    (first_goes_first ? two : one).reset();
    EXPECT_FALSE(is_blocked(SIGUSR1));
    EXPECT_FALSE(is_blocked(SIGUSR2));
  }
}

// A thread that is ending passes the signal that it has taken to the object that is left.
TEST(stop_signals, a_signal_that_comes_with_the_end_of_one_object_reaches_the_other) {
  std::optional<stop_signals> one(std::in_place, stop_signals::options_type{.signals = {SIGUSR1}});
  stop_token left;
  std::optional<stop_signals> two;
  {
    const late_thread late;
    send(SIGUSR1);
    late.wait_until_it_has_one();
    two.emplace(stop_signals::options_type{.signals = {SIGUSR1}});
    left = two->stop_token();
    one.reset();
  }
  until_stopped(left);
}

// The thread of the second object has a signal to handle and finds the object ending.
TEST(stop_signals, a_signal_that_was_noted_before_the_end_has_its_effect) {
  const stop_signals one{{.signals = {SIGUSR1}}};
  std::optional<stop_signals> two(std::in_place, stop_signals::options_type{.signals = {SIGUSR1}});
  const stop_token force = two->force_token();
  gate go_on;
  gate busy;
  const takt::sync::stop_callback waits(two->stop_token(), [&] {
    busy.open();
    go_on.wait();
  });
  send(SIGUSR1);
  busy.wait();
  send(SIGUSR1);
  until_stopped(one.force_token());  // the signal is noted for both objects
  takt::sync::thread other;
  {
    const late_thread late;
    other = takt::sync::thread([&] { two.reset(); });
    late.woken_.wait_for(1);
  }
  go_on.open();
  other.join();
  EXPECT_TRUE(force.stop_requested());
}

#if defined(__linux__) && !defined(TAKT_PORTABLE_PARKING)

// Forks while a thread of the parent holds the common lock, and calls `what` in the child process.
// True if the child exits normally.
template <class F>
bool works_in_a_child_without_the_lock(held_lock& held, F what) {
  held_lock::current = &held;
  send(SIGUSR1);
  held.taken.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // ends a child that waits for the lock
    what();
    _exit(0);
  }
  int status = -1;
  const bool has_ended = child != -1 && waitpid(child, &status, 0) == child;
  held.released.open();
  return has_ended && status == 0;
}

TEST(stop_signals, take_no_lock_of_the_parent_in_a_child_process) {
  held_lock first;
  held_lock second;
  auto signals = std::make_unique<stop_signals>(stop_signals::options_type{.signals = {SIGUSR1}});
  EXPECT_TRUE(works_in_a_child_without_the_lock(first, [&] { signals.reset(); }));
  EXPECT_TRUE(works_in_a_child_without_the_lock(second, [] {
    const stop_signals own{{.signals = {SIGUSR2}}};
    send(SIGUSR2);
    until_stopped(own.stop_token());
  }));
  until_stopped(signals->force_token());  // the parent is not affected
}

#endif

// As a shell without job control starts a command with &.
TEST(stop_signals, ignored_signals_stay_ignored) {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGUSR1, &ignore, &before), 0);
  {
    const stop_signals signals{{.signals = {SIGUSR1, SIGUSR2}}};
    EXPECT_FALSE(is_blocked(SIGUSR1));
    send(SIGUSR1);
    send(SIGUSR2);
    until_stopped(signals.stop_token());
    EXPECT_EQ(signals.first(), SIGUSR2);
    EXPECT_FALSE(signals.force_token().stop_requested());
  }
  {
    const stop_signals none{{.signals = {SIGUSR1}}};
    send(SIGUSR1);
    EXPECT_FALSE(none.stop_token().stop_requested());
  }
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(stop_signals, signals_that_others_block_stay_blocked) {
  sigset_t other;
  sigemptyset(&other);
  sigaddset(&other, SIGUSR2);
  {
    const stop_signals signals{{.signals = {SIGUSR1}}};
    pthread_sigmask(SIG_BLOCK, &other, nullptr);
  }
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_TRUE(is_blocked(SIGUSR2));
  pthread_sigmask(SIG_UNBLOCK, &other, nullptr);
}

TEST(stop_signals, bad_input_is_named) {
  EXPECT_THROW(stop_signals({.signals = {}}), std::invalid_argument);
  EXPECT_THROW(stop_signals({.signals = {SIGKILL}}), std::invalid_argument);
  EXPECT_THROW(stop_signals({.signals = {SIGUSR1, 12345}}), std::invalid_argument);
  EXPECT_FALSE(is_blocked(SIGUSR1));
}

using stop_signals_death_test = testing::Test;

TEST(stop_signals_death_test, the_third_ends_the_process) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        const stop_signals signals;
        send(SIGTERM);
        until_stopped(signals.stop_token());
        send(SIGTERM);
        until_stopped(signals.force_token());
        send(SIGINT);
        for (;;) pause();
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(stop_signals, the_third_has_no_effect_if_it_does_not_exit) {
  const stop_signals other{{.signals = {SIGUSR1}, .third_exits = false}};  // keeps it blocked
  std::optional<stop_signals> signals(
      std::in_place, stop_signals::options_type{.signals = {SIGUSR1}, .third_exits = false});
  send(SIGUSR1);
  until_stopped(signals->stop_token());
  send(SIGUSR1);
  until_stopped(signals->force_token());
  send(SIGUSR1);
  for (bool is_pending = true; is_pending; takt::sync::yield()) {
    sigset_t pending;
    sigpending(&pending);
    is_pending = sigismember(&pending, SIGUSR1) == 1;
  }
  signals.reset();  // after it has handled the signal, if it has noted it
}

TEST(stop_signals, run_a_group_from_its_start_to_its_end) {
  const stop_signals signals{{.signals = {SIGUSR1}}};
  takt::thread_pool pool{{.core_threads = 1}};
  tally ran;
  takt::service_group app;
  app.add("pool", pool);
  app.add("work", {.start =
                       [&] {
                         pool.execute([&] { ran.add(); });
                         send(SIGUSR1);
                       },
                   .shutdown = [] {},
                   .await_end = [](auto, const auto&) { return true; }});
  const takt::stop_report report = app.run(takt::never, signals);
  EXPECT_TRUE(report.is_clean()) << report.to_string();
  EXPECT_EQ(ran.count(), 1u);
}

TEST(stop_signals, the_second_makes_a_group_hurry) {
  const stop_signals signals{{.signals = {SIGUSR1}}};
  takt::thread_pool pool{{.core_threads = 1}};
  takt::service_group app;
  app.add("pool", pool);
  // Its task runs until the pool is forced.
  app.add("impatient user",
          {.start =
               [&] {
                 pool.execute([](const stop_token& stop) { until_stopped(stop); });
                 send(SIGUSR1);
               },
           .shutdown = [] { send(SIGUSR1); },
           .await_end = [](auto, const auto&) { return true; }});
  const takt::stop_report report = app.run(takt::never, signals);
  EXPECT_EQ(report.services.at(1).outcome, takt::stop_outcome::forced) << report.to_string();
}

}  // namespace
