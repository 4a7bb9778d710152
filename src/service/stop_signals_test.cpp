#include <takt/service/stop_signals.hpp>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
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
                   .await_end = [](auto, auto) { return true; }});
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
           .await_end = [](auto, auto) { return true; }});
  const takt::stop_report report = app.run(takt::never, signals);
  EXPECT_EQ(report.services.at(1).outcome, takt::stop_outcome::forced) << report.to_string();
}

}  // namespace
