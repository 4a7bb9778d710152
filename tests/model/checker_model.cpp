// Tests of the model checker: its reports, and the facilities of the code under test.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/sync.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;
using testing::HasSubstr;

std::string message_of(void (*body)(), const model::options& opts = {.runs = 1000}) {
  const auto r = find(opts, body);
  return r.failure ? r.failure->message : "";
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAKT_TESTS_SANITIZED 1
#endif
#endif
#if defined(TAKT_TESTS_SANITIZED)
constexpr bool own_heap_is_watched_by_a_sanitizer = true;
#else
constexpr bool own_heap_is_watched_by_a_sanitizer = false;
#endif

// Called through volatile pointers, so that the compiler does not diagnose the bugs.
void* (*volatile allocate)(std::size_t) = [](std::size_t n) { return ::operator new(n); };
void (*volatile release)(void*) = [](void* p) { ::operator delete(p); };
void (*volatile boom)() = [] { throw std::runtime_error("boom"); };

TEST(checker, deadlock_names_threads_and_objects) {
  const std::string report = message_of([] {
    sync::mutex a;
    a.lock();
    sync::thread other([&] { a.lock(); });
    other.join();
  });
  EXPECT_THAT(report, HasSubstr("thread 1 waits for the end of thread 2"));
  EXPECT_THAT(report, HasSubstr("thread 2 waits for mutex #2 held by thread 1"));
}

TEST(checker, on_step_is_told_of_each_step) {
  std::uint64_t steps = 0;
  std::array<int, 3> added{};  // by thread
  const auto r = find({.runs = 10,
                       .on_step =
                           [&](std::size_t thread, const model::operation& done) {
                             ++steps;
                             if (done.kind == model::op::rmw) ++added.at(thread);
                           }},
                      [] {
                        sync::atomic<int> n{0};
                        sync::thread other([&] {
                          n.fetch_add(1);
                          n.fetch_add(1);
                        });
                        n.fetch_add(1);
                        other.join();
                      });
  EXPECT_TRUE(r.clean()) << r;
  EXPECT_EQ(steps, r.steps);
  EXPECT_EQ(added, (std::array{0, 10, 20}));
}

TEST(checker, wait_that_nobody_ends_is_a_deadlock) {
  EXPECT_THAT(message_of([] {
                sync::mutex mu;
                sync::condition_variable cv;
                std::unique_lock lock(mu);
                cv.wait(lock, [] { return false; });
              }),
              HasSubstr("waits for a notification of condition variable"));
}

TEST(checker, endless_loop_is_a_livelock) {
  EXPECT_THAT(message_of([] {
                sync::atomic<bool> never{false};
                while (!never.load()) sync::yield();
              }),
              HasSubstr("livelock"));
}

TEST(checker, leaked_memory_is_reported) {
  if (own_heap_is_watched_by_a_sanitizer) return;
  EXPECT_THAT(message_of([] { static_cast<void>(allocate(4)); }),
              HasSubstr("leak: 1 blocks of memory, 4 bytes"));
  EXPECT_THAT(message_of([] {
                void* const p = allocate(4);
                release(p);
                release(p);
              }),
              HasSubstr("double free of a block of 4 bytes"));
}

TEST(checker, leaked_sync_object_is_reported) {
  alignas(sync::mutex) static std::array<std::byte, sizeof(sync::mutex)> place;
  EXPECT_THAT(message_of([] { new (place.data()) sync::mutex; }),
              HasSubstr("leak: 1 sync objects"));
}

TEST(checker, object_of_another_run_is_refused) {
  sync::atomic<int> outside{0};
  const auto r = find({.runs = 1}, [&] { outside.store(1); });
  ASSERT_FALSE(r.clean());
  EXPECT_THAT(r.failure->message, HasSubstr("was not created in this run"));
}

TEST(checker, misused_mutex_is_reported) {
  EXPECT_THAT(message_of([] {
                sync::mutex mu;
                mu.lock();
                mu.lock();
              }),
              HasSubstr("locked again"));
  EXPECT_THAT(message_of([] {
                sync::mutex mu;
                sync::thread other([&] { mu.lock(); });
                other.join();
                mu.unlock();
              }),
              HasSubstr("does not hold it"));
  EXPECT_THAT(message_of([] {
                sync::mutex mu;
                mu.lock();
              }),
              HasSubstr("is destroyed while thread 1 holds it"));
}

TEST(checker, misused_thread_is_reported) {
  EXPECT_THAT(message_of([] { sync::thread([] {}); }), HasSubstr("destruction of a joinable"));
  EXPECT_THAT(message_of([] { sync::thread().join(); }), HasSubstr("not joinable"));
  EXPECT_THAT(message_of([] {
                for (int i = 0; i < 20; ++i) sync::thread([] {}).detach();
              }),
              HasSubstr("more than 15 threads"));
}

TEST(checker, destruction_before_the_last_use_is_a_race) {
  EXPECT_THAT(message_of([] {
                auto flag = std::make_unique<sync::atomic<int>>(0);
                sync::thread other([&flag = *flag] { flag.store(1, std::memory_order_relaxed); });
                while (flag->load(std::memory_order_relaxed) == 0) sync::yield();
                flag.reset();
                other.join();
              }),
              HasSubstr("is destroyed without happening after its use by thread 2"));
}

TEST(checker, condition_may_be_destroyed_when_all_waiters_are_notified) {
  check({.runs = 2000}, [] {
    sync::mutex mu;
    auto cv = std::make_unique<sync::condition_variable>();
    bool done = false;
    sync::thread waiter([&] {
      std::unique_lock lock(mu);
      if (!done) cv->wait(lock);
    });
    {
      const std::scoped_lock lock(mu);
      done = true;
      cv->notify_all();
      cv.reset();
    }
    waiter.join();
  });
  EXPECT_THAT(message_of([] {
                sync::mutex mu;
                auto cv = std::make_unique<sync::condition_variable>();
                sync::thread waiter([&] {
                  std::unique_lock lock(mu);
                  if (cv != nullptr) cv->wait(lock);
                });
                {
                  const std::scoped_lock lock(mu);
                  cv.reset();
                }
                waiter.join();
              }),
              HasSubstr("is destroyed while"));
}

TEST(checker, unsafe_publication_of_an_atomic_is_a_race) {
  EXPECT_THAT(message_of([] {
                sync::atomic<sync::atomic<int>*> shared{nullptr};
                sync::thread other([&] {
                  auto* p = shared.load(std::memory_order_relaxed);
                  if (p != nullptr) p->store(1);
                });
                sync::atomic<int> made{0};
                shared.store(&made, std::memory_order_relaxed);
                other.join();
              }),
              HasSubstr("without happening after its construction"));
}

TEST(checker, races_on_plain_data_are_found) {
  EXPECT_THAT(message_of([] {
                sync::var<int> n{0};
                sync::thread other([&] { n.write() = 1; });
                n.write() = 2;
                other.join();
              }),
              HasSubstr("without happening after the write"));
  EXPECT_THAT(message_of([] {
                sync::var<int> n{0};
                sync::thread other([&] { static_cast<void>(n.read()); });
                n.write() = 2;
                other.join();
              }),
              HasSubstr("race: variable"));
  EXPECT_THAT(message_of([] {
                sync::var<int> n{0};
                sync::atomic<bool> read{false};
                sync::thread other([&] {
                  static_cast<void>(n.read());
                  read.store(true, std::memory_order_relaxed);
                });
                while (!read.load(std::memory_order_relaxed)) sync::yield();
                n.write() = 2;
                other.join();
              }),
              HasSubstr("is written by thread 1 without happening after the read by thread 2"));
  check({.runs = 1000}, [] {
    sync::var<int> n{0};
    sync::mutex mu;
    const auto add = [&] {
      const std::scoped_lock lock(mu);
      ++n.write();
    };
    sync::thread other(add);
    add();
    other.join();
    require(n.read() == 2, "both additions count");
  });
}

TEST(checker, use_after_destruction_is_reported) {
  alignas(sync::atomic<int>) static std::array<std::byte, sizeof(sync::atomic<int>)> place;
  EXPECT_THAT(message_of([] {
                auto* const dead = new (place.data()) sync::atomic<int>(0);
                dead->~atomic();
                dead->store(1);
              }),
              HasSubstr("is used after its destruction"));
}

// Number of waiters, out of two, that continue after a notification.
template <class Notify>
std::string two_waiters(Notify notify) {
  const auto r = find({.runs = 200, .spurious_wakeups = false}, [notify] {
    sync::mutex mu;
    sync::condition_variable cv;
    int waiting = 0;
    const auto wait = [&] {
      std::unique_lock lock(mu);
      ++waiting;
      cv.wait(lock);
    };
    sync::thread a(wait);
    sync::thread b(wait);
    for (bool both = false; !both;) {
      sync::yield();
      const std::scoped_lock lock(mu);
      both = waiting == 2;
    }
    notify(cv);
    a.join();
    b.join();
  });
  return r.clean() ? "all go on" : r.failure->message;
}

TEST(checker, notify_all_wakes_all_and_notify_one_wakes_one) {
  EXPECT_EQ(two_waiters([](auto& cv) { cv.notify_all(); }), "all go on");
  EXPECT_EQ(two_waiters([](auto& cv) {
              cv.notify_one();
              cv.notify_one();
            }),
            "all go on");
  const std::string one = two_waiters([](auto& cv) { cv.notify_one(); });
  EXPECT_THAT(one, HasSubstr("deadlock"));
  EXPECT_THAT(one, testing::AnyOf(HasSubstr("thread 2 waits for a"), HasSubstr("thread 3 waits")));
}

TEST(checker, any_waiter_may_be_the_one_that_is_woken) {
  std::set<std::string> left;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto r = find({.runs = 50, .seed = seed, .spurious_wakeups = false}, [] {
      sync::atomic<std::uint32_t> word{0};
      sync::atomic<int> waiting{0};
      const auto wait = [&] {
        waiting.fetch_add(1);
        static_cast<void>(sync::futex_wait(word, 0, sync::clock::time_point::max()));
      };
      sync::thread a(wait);
      sync::thread b(wait);
      while (waiting.load() < 2) sync::yield();
      sync::futex_wake_one(&word);
      a.join();
      b.join();
    });
    ASSERT_FALSE(r.clean()) << "one wake, two waiters";
    left.insert(r.failure->message.substr(r.failure->message.rfind("thread ")));
  }
  EXPECT_EQ(left.size(), 2U) << "sometimes the one is left, sometimes the other";
}

TEST(checker, try_lock_excludes_and_acquires) {
  check({.runs = 2000}, [] {
    sync::mutex mu;
    sync::var<int> n{0};
    sync::atomic<int> added{0};
    const auto add = [&] {
      if (!mu.try_lock()) return;
      ++n.write();
      mu.unlock();
      added.fetch_add(1);
    };
    sync::thread a(add);
    sync::thread b(add);
    a.join();
    b.join();
    require(added.load() >= 1 && n.read() == added.load(), "counted under the lock");
  });
}

TEST(checker, exception_that_leaves_a_thread_fails_the_run) {
  EXPECT_THAT(message_of([] { boom(); }), HasSubstr("boom"));
  EXPECT_THAT(message_of([] { sync::thread([]() noexcept { boom(); }).join(); }),
              HasSubstr("std::terminate"));
}

TEST(checker, crash_tells_the_token) {
  const auto crash = [](model::strategy how) {
    static_cast<void>(find({.how = how}, [] { std::abort(); }));
  };
  EXPECT_DEATH(crash(model::strategy::random), "crashes in the run with the token random:3:50:");
  EXPECT_DEATH(crash(model::strategy::exhaustive), "crashes in the run with the token dfs");
}

TEST(checker, assertion_fails_the_run) {
  EXPECT_THAT(message_of([] { TAKT_ASSERT(1 + 1 == 3); }), HasSubstr("1 + 1 == 3"));
}

// Each thread is inside a throw or a catch when the other one runs.
TEST(checker, exceptions_in_flight_belong_to_their_thread) {
  check({.runs = 2000}, [] {
    sync::atomic<int> steps{0};
    const auto work = [&](const char* name) {
      struct on_unwinding {
        sync::atomic<int>& steps;
        ~on_unwinding() {
          steps.fetch_add(1);
          require(std::uncaught_exceptions() == 1, "one exception in flight");
        }
      };
      for (int i = 0; i < 2; ++i) {
        try {
          const on_unwinding guard{steps};
          throw std::runtime_error(name);
        } catch (const std::exception& e) {
          steps.fetch_add(1);
          require(std::string(e.what()) == name, "my own exception");
          require(std::uncaught_exceptions() == 0, "it is caught");
          try {
            std::rethrow_exception(std::current_exception());
          } catch (const std::runtime_error& again) {
            steps.fetch_add(1);
            require(std::string(again.what()) == name, "my own exception, again");
          }
        }
      }
    };
    sync::thread other([&] { work("other"); });
    work("main");
    other.join();
  });
}

TEST(checker, tls_is_one_per_thread_and_ends_with_it) {
  check({.runs = 1000}, [] {
    struct counted {
      int value = 0;
      sync::atomic<int>* ends = nullptr;
      ~counted() {
        if (ends != nullptr) ends->fetch_add(1);
      }
    };
    sync::atomic<int> ends{0};
    const auto work = [&](int mine) {
      auto& slot = sync::tls<counted>::get();
      slot.ends = &ends;
      slot.value = mine;
      sync::yield();
      require(sync::tls<counted>::get().value == mine, "nobody else writes it");
    };
    sync::thread a(work, 1);
    sync::thread b(work, 2);
    a.join();
    b.join();
    require(ends.load() == 2, "destroyed when its thread ended");
  });
}

TEST(checker, time_passes_only_for_those_who_wait) {
  check({.runs = 1000}, [] {
    const auto start = sync::clock::now();
    sync::mutex mu;
    sync::condition_variable cv;
    std::unique_lock lock(mu);
    while (cv.wait_until(lock, start + 1h) == std::cv_status::no_timeout) {
    }
    require(sync::clock::now() == start + 1h, "an hour has passed");
  });
}

TEST(checker, time_may_run_out_although_others_could_run) {
  const auto r = find({.runs = 100}, [] {
    sync::mutex mu;
    sync::condition_variable cv;
    bool done = false;
    sync::thread other([&] {
      const std::scoped_lock lock(mu);
      done = true;
      cv.notify_one();
    });
    {
      std::unique_lock lock(mu);
      const bool in_time = cv.wait_until(lock, sync::clock::now() + 1h, [&] { return done; });
      if (!in_time) model::fail("late");
    }
    other.join();
  });
  ASSERT_FALSE(r.clean());
  EXPECT_THAT(r.failure->message, HasSubstr("late"));
}

TEST(checker, yield_makes_stores_visible) {
  check({.runs = 2000}, [] {
    sync::atomic<bool> flag{false};
    sync::thread other([&] { flag.store(true, std::memory_order_relaxed); });
    int looks = 0;
    while (!flag.load(std::memory_order_relaxed)) {
      require(++looks < 100, "a spin loop sees the store in the end");
      sync::yield();
    }
    other.join();
  });
}

TEST(checker, same_seed_gives_the_same_runs) {
  const auto body = [] {
    sync::atomic<int> n{0};
    sync::thread other([&] { n.store(n.load() + 1); });
    n.store(n.load() + 1);
    other.join();
    require(n.load() == 2, "both additions count");
  };
  const auto first = find({.runs = 1000, .seed = 9}, body);
  const auto second = find({.runs = 1000, .seed = 9}, body);
  ASSERT_FALSE(first.clean());
  EXPECT_EQ(first.failure->token, second.failure->token);
  EXPECT_EQ(first.failure->trace, second.failure->trace);
}

TEST(checker, malformed_token_is_an_error_that_names_it) {
  const auto replay = [](const char* token) {
    return [token] { return find({.token = token}, [] {}); };
  };
  EXPECT_THAT(replay("pct:3:77"), testing::ThrowsMessage<std::invalid_argument>(HasSubstr(
                                      "'pct:3:77': expected strategy:depth:length:seed")));
  EXPECT_THAT(replay("best:3:7:7"),
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("unknown strategy")));
  EXPECT_THAT(replay("pct:x:7:7"),
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("decimal number")));
  EXPECT_THAT(replay("dfs:1.x"),
              testing::ThrowsMessage<std::invalid_argument>(HasSubstr("decimal number")));
}

}  // namespace
