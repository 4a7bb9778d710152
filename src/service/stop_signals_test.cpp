#include <takt/service/stop_signals.hpp>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/service_group.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using namespace std::chrono_literals;
using takt::stop_signals;
using takt::sync::stop_token;
using takt_test::tally;
using takt_test::until_stopped;

// While it exists, the thread that has got a signal goes no further before somebody sends it
// another.
class late_thread {
 public:
  late_thread() { current = this; }
  ~late_thread() { current = nullptr; }
  late_thread(const late_thread&) = delete;
  late_thread& operator=(const late_thread&) = delete;
  void wait_until_it_has_one() const { got_.wait_for(1); }

  static takt::sync::atomic<late_thread*> current;
  tally got_;
  tally sent_;
};
takt::sync::atomic<late_thread*> late_thread::current{nullptr};

}  // namespace

// The program's own are called instead of the C library's.
// NOLINTBEGIN(bugprone-reserved-identifier): named as in the C library's header
extern "C" int sigwait(const sigset_t* __set, int* __sig) {
  *__sig = sigwaitinfo(__set, nullptr);
  if (*__sig == -1) return errno;
  if (late_thread* const late = late_thread::current) {
    late->got_.add();
    late->sent_.wait_for(1);
  }
  return 0;
}

extern "C" int pthread_kill(pthread_t __threadid, int __signo) noexcept {
  const sigval none{};
  const int error = pthread_sigqueue(__threadid, __signo, none);
  if (late_thread* const late = late_thread::current) late->sent_.add();
  return error;
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

// The thread has got a signal when the destructor begins. Which of them that sends to wake it up,
// it cannot choose.
TEST(stop_signals, a_signal_that_comes_with_the_end_has_the_effect_that_it_had) {
  static volatile sig_atomic_t handled = 0;
  struct sigaction handle{};
  handle.sa_handler = [](int signal) { handled = signal; };
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    struct sigaction before{};
    ASSERT_EQ(sigaction(signal, &handle, &before), 0);
    handled = 0;
    std::optional<stop_signals> signals(std::in_place,
                                        stop_signals::options{.signals = {SIGUSR1, SIGUSR2}});
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

// While it exists, there is no room in the queue in which a signal of real time to a thread has to
// wait.
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

TEST(stop_signals, those_of_real_time_end_without_room_for_one_more) {
  std::optional<stop_signals> signals(std::in_place,
                                      stop_signals::options{.signals = {SIGRTMIN + 1}});
  const stop_token stop = signals->stop_token();
  const full_queue full;
  signals.reset();
  EXPECT_FALSE(stop.stop_requested()) << "the end is no signal";
}

// What wakes the thread up is sent to the process then, and not left there.
TEST(stop_signals, those_of_real_time_have_the_effect_that_they_had_without_room) {
  static volatile sig_atomic_t handled = 0;
  handled = 0;  // also when it is repeated
  struct sigaction handle{};
  handle.sa_handler = [](int signal) { handled = handled * 100 + signal; };
  struct sigaction before{};
  for (const int signal : {SIGRTMIN + 1, SIGRTMIN + 2}) {
    ASSERT_EQ(sigaction(signal, &handle, &before), 0);
  }
  std::optional<stop_signals> signals(
      std::in_place, stop_signals::options{.signals = {SIGRTMIN + 1, SIGRTMIN + 2}});
  {
    const late_thread late;
    send(SIGRTMIN + 2);
    late.wait_until_it_has_one();
    const full_queue full;
    signals.reset();
  }
  EXPECT_EQ(handled, SIGRTMIN + 2) << "and no other";
  for (const int signal : {SIGRTMIN + 1, SIGRTMIN + 2}) {
    ASSERT_EQ(sigaction(signal, &before, nullptr), 0);
  }
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

TEST(stop_signals, run_a_group_from_its_start_to_its_end) {
  const stop_signals signals{{.signals = {SIGUSR1}}};
  takt::thread_pool pool{{.core = 1}};
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
  takt::thread_pool pool{{.core = 1}};
  takt::service_group app;
  app.add("pool", pool);
  // It goes on as long as it may, and then some.
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
