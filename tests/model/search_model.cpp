// Compares the exhaustive search with one without partial-order reduction: both reach the same
// outcomes.
#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using std::memory_order_relaxed;

struct program {
  std::string name;
  int (*run)();  // returns its outcome
  friend std::ostream& operator<<(std::ostream& out, const program& p) { return out << p.name; }
};

int as_int(bool b) { return b ? 1 : 0; }

const std::vector<program>& programs() {
  static const std::vector<program> all{
      {"yield_then_load",
       [] {
         sync::atomic<int> x{0};
         int seen = 0;
         sync::thread t([&] {
           sync::yield();
           seen = x.load();
         });
         x.store(1);
         x.store(2);
         t.join();
         return seen;
       }},
      {"yield_then_lock",
       [] {
         sync::mutex mu;
         int n = 0;
         int seen = 0;
         sync::thread t([&] {
           sync::yield();
           const std::scoped_lock lock(mu);
           seen = n;
         });
         for (int i = 0; i < 2; ++i) {
           const std::scoped_lock lock(mu);
           ++n;
         }
         t.join();
         return seen;
       }},
      {"spin_with_yield",
       [] {
         sync::atomic<int> x{0};
         sync::thread t([&] {
           x.store(1, memory_order_relaxed);
           x.store(2, memory_order_relaxed);
         });
         int looks = 0;
         int seen = 0;
         while ((seen = x.load(memory_order_relaxed)) == 0 && looks < 3) {
           ++looks;
           sync::yield();
         }
         t.join();
         return seen + 4 * looks;
       }},
      {"futex_time_out_against_wake",
       [] {
         sync::atomic<std::uint32_t> word{0};
         const auto deadline = sync::clock::now() + 1ms;
         bool late = false;
         std::uint32_t seen = 0;
         sync::thread t([&] {
           late = sync::futex_wait(word, 0, deadline);
           seen = word.load(memory_order_relaxed);
         });
         word.store(1, memory_order_relaxed);
         sync::futex_wake_one(&word);
         const bool time_passed = sync::clock::now() >= deadline;
         t.join();
         return as_int(late) + 2 * as_int(time_passed) + 4 * static_cast<int>(seen);
       }},
      {"futex_time_out_against_late_wake",
       [] {
         sync::atomic<std::uint32_t> word{0};
         const auto deadline = sync::clock::now() + 1ms;
         bool late = false;
         std::uint32_t seen = 0;
         sync::thread t([&] {
           late = sync::futex_wait(word, 0, deadline);
           seen = word.load(memory_order_relaxed);
         });
         sync::atomic<std::uint32_t> other{0};
         static_cast<void>(sync::futex_wait(other, 0, deadline));
         word.store(1, memory_order_relaxed);
         sync::futex_wake_one(&word);
         t.join();
         return as_int(late) + 2 * static_cast<int>(seen);
       }},
      {"late_wake_against_futex_time_out",
       [] {
         sync::atomic<std::uint32_t> word{0};
         const auto deadline = sync::clock::now() + 1ms;
         sync::thread t([&] {
           sync::atomic<std::uint32_t> other{0};
           static_cast<void>(sync::futex_wait(other, 0, deadline));
           word.store(1, memory_order_relaxed);
           sync::futex_wake_one(&word);
         });
         const bool late = sync::futex_wait(word, 0, deadline);
         const std::uint32_t seen = word.load(memory_order_relaxed);
         t.join();
         return as_int(late) + 2 * static_cast<int>(seen);
       }},
      {"condition_time_out_against_notify",
       [] {
         sync::mutex mu;
         sync::condition_variable cv;
         const auto deadline = sync::clock::now() + 1ms;
         bool late = false;
         sync::thread t([&] {
           std::unique_lock lock(mu);
           late = cv.wait_until(lock, deadline) == std::cv_status::timeout;
         });
         cv.notify_one();
         const bool time_passed = sync::clock::now() >= deadline;
         t.join();
         return as_int(late) + 2 * as_int(time_passed);
       }},
      {"two_waiters_one_notification",
       [] {
         sync::mutex mu;
         sync::condition_variable cv;
         const auto deadline = sync::clock::now() + 1ms;
         std::array<int, 2> late{};
         const auto wait = [&](std::size_t i) {
           std::unique_lock lock(mu);
           late.at(i) = as_int(cv.wait_until(lock, deadline) == std::cv_status::timeout);
         };
         sync::thread a(wait, 0U);
         sync::thread b(wait, 1U);
         cv.notify_one();
         a.join();
         b.join();
         return late[0] + 2 * late[1];
       }},
      {"try_lock",
       [] {
         sync::mutex mu;
         const auto attempt = [&] {
           if (!mu.try_lock()) return false;
           mu.unlock();
           return true;
         };
         bool a = false;
         sync::thread t([&] { a = attempt(); });
         const bool b = attempt();
         const bool c = attempt();
         t.join();
         return as_int(a) + 2 * as_int(b) + 4 * as_int(c);
       }},
      {"order_of_locks",
       [] {
         sync::mutex mu;
         int n = 0;
         const auto turn = [&] {
           const std::scoped_lock lock(mu);
           return n++;
         };
         int a = 0;
         int b = 0;
         sync::thread t([&] { a = turn(); });
         sync::thread u([&] { b = turn(); });
         const int c = turn();
         t.join();
         u.join();
         return a + 3 * b + 9 * c;
       }},
      {"threads_of_threads",
       [] {
         sync::atomic<int> x{0};
         int a = 0;
         int b = 0;
         sync::thread t([&] {
           sync::thread u([&] { a = x.fetch_add(1, memory_order_relaxed); });
           b = x.fetch_add(1, memory_order_relaxed);
           u.join();
         });
         const int c = x.fetch_add(1, memory_order_relaxed);
         t.join();
         return a + 3 * b + 9 * c;
       }},
      {"seq_cst_and_relaxed_loads",
       [] {
         sync::atomic<int> x{0};
         int a = 0;
         int b = 0;
         sync::thread t([&] { a = x.load() + 2 * x.load(memory_order_relaxed); });
         sync::thread u([&] { b = x.load(); });
         x.store(1, memory_order_relaxed);
         t.join();
         u.join();
         return a + 4 * b;
       }},
      {"compare_exchange",
       [] {
         sync::atomic<int> x{0};
         bool a = false;
         int seen_a = 0;
         sync::thread t([&] { a = x.compare_exchange_strong(seen_a, 1); });
         int seen_b = 0;
         const bool b = x.compare_exchange_strong(seen_b, 2);
         x.store(0, memory_order_relaxed);
         t.join();
         return as_int(a) + 2 * as_int(b) + 4 * seen_a + 16 * seen_b;
       }},
      {"stop_callback",
       [] {
         sync::stop_source source;
         sync::atomic<int> calls{0};
         int early = 0;
         sync::thread t([&] { source.request_stop(); });
         {
           const sync::stop_callback callback(source.get_token(),
                                              [&] { calls.fetch_add(1, memory_order_relaxed); });
           early = calls.load(memory_order_relaxed);
         }
         t.join();
         return early + 2 * calls.load(memory_order_relaxed);
       }},
      {"parker_deadline_against_token",
       [] {
         parker p;
         const auto deadline = sync::clock::now() + 1ms;
         sync::thread t([&] { p.unpark(); });
         const bool taken = p.park_until(deadline);
         const bool late = sync::clock::now() >= deadline;
         t.join();
         return as_int(taken) + 2 * as_int(late);
       }},
      {"clock_against_reader",
       [] {
         sync::mutex mu;
         sync::condition_variable cv;
         const auto start = sync::clock::now();
         sync::thread t([&] {
           std::unique_lock lock(mu);
           cv.wait_until(lock, start + 1ms);
         });
         const bool a = sync::clock::now() > start;
         const bool b = sync::clock::now() > start;
         t.join();
         return as_int(a) + 2 * as_int(b);
       }},
  };
  return all;
}

class search : public testing::TestWithParam<program> {};

using outcomes = std::bitset<64>;

outcomes seen_by(model::options opts, int (*run)()) {
  outcomes seen;
  opts.runs = 2'000'000;
  opts.how = model::strategy::exhaustive;
  const auto r = find(opts, [&] { seen.set(static_cast<std::size_t>(run())); });
  EXPECT_TRUE(r.clean()) << r;
  EXPECT_TRUE(r.complete) << r;
  return seen;
}

TEST_P(search, skips_nothing_that_can_be_told_apart) {
  const outcomes all = seen_by({.reduced = false}, GetParam().run);
  EXPECT_GT(all.count(), 0U);
  EXPECT_EQ(seen_by({}, GetParam().run), all);
}

TEST_P(search, sampling_sees_what_the_search_sees) {
  const outcomes all = seen_by({}, GetParam().run);
  outcomes seen;
  const auto r =
      find({.runs = 60'000}, [&] { seen.set(static_cast<std::size_t>(GetParam().run())); });
  EXPECT_TRUE(r.clean()) << r;
  EXPECT_EQ(all & ~seen, outcomes()) << "sampling may see more: it has spurious wake-ups";
}

INSTANTIATE_TEST_SUITE_P(model, search, testing::ValuesIn(programs()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
