// Checks that several suites of java.util.concurrent share for every ExecutorService: submit,
// invokeAny and invokeAll. Each suite has a test per upstream test, with the upstream name, which
// calls the check of that name with its own executor.
//
// An executor runs one task at a time, inline or on one thread. Its futures wait on the clock of
// the service that contains it:
//
//   struct service {
//     takt::manual_clock time;
//     my_executor executor;
//   };
//
// Results are strings, as upstream.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/executor.hpp>
#include <takt/exec/invoke.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/task.hpp>

#include "../support/pools.hpp"

namespace executor_service_suite {

using namespace std::chrono_literals;

using callables = std::vector<std::function<std::string()>>;

inline std::string test_string() { return "a test string"; }
inline std::string failing() { throw std::domain_error("failing"); }

// --- the executors

// Upstream's DirectExecutorService.
struct direct_service {
  class executor_type {
   public:
    explicit executor_type(const takt::clock& time) : time_(time) {}
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): executors are called so
    void execute(takt::task t) {
      if (shut_down_) throw takt::rejected(takt::rejection::shut_down);
      t.run();
    }
    [[nodiscard]] takt::future_options future_options() const { return {.time = &time_}; }
    void shutdown() { shut_down_ = true; }

   private:
    const takt::clock& time_;
    bool shut_down_ = false;
  };
  static constexpr bool runs_at_once = true;

  takt::manual_clock time;
  executor_type executor{time};
};

struct thread_pool_service {
  static constexpr bool runs_at_once = false;

  takt::manual_clock time;
  takt::thread_pool executor{{.core_threads = 1, .time = &time}};
};

// --- submit

// submit(callable) completes with its result.
template <class Service>
void submit_callable() {
  Service s;
  EXPECT_EQ(takt::submit(s.executor, test_string).get(), test_string());
}

// submit(runnable) completes.
template <class Service>
void submit_runnable() {
  Service s;
  bool done = false;
  takt::future<void> f = takt::submit(s.executor, [&] { done = true; });
  f.wait();
  EXPECT_TRUE(f.is_ready());
  f.get();
  EXPECT_TRUE(done);
}

// submit(runnable, result) completes with the result, which here the callable returns.
template <class Service>
void submit_runnable_with_result() {
  Service s;
  bool done = false;
  EXPECT_EQ(takt::submit(s.executor,
                         [&, result = test_string()] {
                           done = true;
                           return result;
                         })
                .get(),
            test_string());
  EXPECT_TRUE(done);
}

// --- invokeAny; Timed: with a deadline that does not expire

template <bool Timed, class Service>
std::string invoke_any(Service& s, const callables& calls) {
  if constexpr (Timed) return takt::invoke_any_for(10s, s.executor, calls);
  return takt::invoke_any(s.executor, calls);
}

// 2: without callables, it throws.
template <class Service, bool Timed = false>
void invoke_any_of_none() {
  Service s;
  EXPECT_THROW(invoke_any<Timed>(s, {}), std::invalid_argument);
}

// 3: throws if a callable is empty.
template <class Service, bool Timed = false>
void invoke_any_of_empty() {
  Service s;
  EXPECT_THROW(invoke_any<Timed>(s, {failing, nullptr}), std::invalid_argument);
}

// 4: throws if no callable completes.
template <class Service, bool Timed = false>
void invoke_any_of_failing() {
  Service s;
  EXPECT_THROW(invoke_any<Timed>(s, {failing}), std::domain_error);
}

// 5: returns the result of some task.
template <class Service, bool Timed = false>
void invoke_any_of_some() {
  Service s;
  EXPECT_EQ(invoke_any<Timed>(s, {test_string, test_string}), test_string());
}

// --- invokeAll

template <bool Timed, class Service>
std::vector<takt::future<std::string>> invoke_all(Service& s, const callables& calls) {
  if constexpr (Timed) return takt::invoke_all_for(10s, s.executor, calls);
  return takt::invoke_all(s.executor, calls);
}

// 2: without callables, it returns no futures.
template <class Service, bool Timed = false>
void invoke_all_of_none() {
  Service s;
  EXPECT_TRUE(invoke_all<Timed>(s, {}).empty());
}

// 3: throws if a callable is empty.
template <class Service, bool Timed = false>
void invoke_all_of_empty() {
  Service s;
  EXPECT_THROW(invoke_all<Timed>(s, {test_string, nullptr}), std::invalid_argument);
}

// 4: get() throws the callable's exception.
template <class Service, bool Timed = false>
void invoke_all_of_failing() {
  Service s;
  auto all = invoke_all<Timed>(s, {failing});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_THROW(all[0].get(), std::domain_error);
}

// 5: returns the results of all callables.
template <class Service, bool Timed = false>
void invoke_all_of_some() {
  Service s;
  auto all = invoke_all<Timed>(s, {test_string, test_string});
  ASSERT_EQ(all.size(), 2u);
  for (auto& f : all) EXPECT_EQ(f.get(), test_string());
}

// 6: cancels callables that have not completed in time. The time-out expires during the second
// callable. Inline callables are not interrupted, but the third one does not start.
template <class Service>
void timed_invoke_all_times_out() {
  Service s;
  const std::vector<std::function<std::string(takt::sync::stop_token)>> calls{
      [](const takt::sync::stop_token&) { return "0"; },
      [&](const takt::sync::stop_token& stop) {
        s.time.advance(10s);
        if (!Service::runs_at_once) takt_test::until_stopped(stop);
        return "1";
      },
      [](const takt::sync::stop_token&) { return "2"; }};
  auto all = takt::invoke_all_for(10s, s.executor, calls);
  ASSERT_EQ(all.size(), 3u);
  for (const auto& f : all) EXPECT_TRUE(f.is_ready());
  EXPECT_EQ(all[0].get(), "0");
  EXPECT_EQ(all[1].is_cancelled(), !Service::runs_at_once);
  EXPECT_TRUE(all[2].is_cancelled());
  all[1].cancel_and_join();
}

}  // namespace executor_service_suite
