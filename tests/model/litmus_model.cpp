// Litmus tests: the outcomes that the memory model allows, found by sampling and by exhaustive
// search.
#include <atomic>
#include <bitset>
#include <functional>
#include <set>
#include <string>

#include <takt/base/detail/sync.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using std::memory_order;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// Bit n is set if outcome n occurred. Lives outside of the runs, so it must not allocate.
using outcomes = std::bitset<64>;

outcomes seen_by(model::strategy how, const std::function<int()>& program) {
  outcomes seen;
  const auto r =
      find({.runs = 20'000, .how = how}, [&] { seen.set(static_cast<std::size_t>(program())); });
  EXPECT_TRUE(r.clean()) << r;
  if (how == model::strategy::exhaustive) {
    EXPECT_TRUE(r.complete) << r;
  }
  return seen;
}

// Both methods must find exactly the outcomes that the memory model allows.
void expect_outcomes(const std::set<int>& allowed, const std::function<int()>& program) {
  outcomes expected;
  for (const int o : allowed) expected.set(static_cast<std::size_t>(o));
  EXPECT_EQ(seen_by(model::strategy::rotating, program), expected);
  EXPECT_EQ(seen_by(model::strategy::exhaustive, program), expected);
}

int store_buffering(memory_order store, memory_order load) {
  sync::atomic<int> x{0};
  sync::atomic<int> y{0};
  int saw_x = 0;
  sync::thread other([&] {
    y.store(1, store);
    saw_x = x.load(load);
  });
  x.store(1, store);
  const int saw_y = y.load(load);
  other.join();
  return 2 * saw_x + saw_y;
}

TEST(litmus, store_buffering) {
  expect_outcomes({0, 1, 2, 3},
                  [] { return store_buffering(memory_order_relaxed, memory_order_relaxed); });
  expect_outcomes({0, 1, 2, 3},
                  [] { return store_buffering(memory_order_release, memory_order_acquire); });
  expect_outcomes({1, 2, 3},
                  [] { return store_buffering(memory_order_seq_cst, memory_order_seq_cst); });
}

int message_passing(memory_order store, memory_order load) {
  sync::atomic<int> data{0};
  sync::atomic<int> ready{0};
  int seen = 0;
  sync::thread other([&] {
    seen = 2 * ready.load(load);
    seen += data.load(memory_order_relaxed);
  });
  data.store(1, memory_order_relaxed);
  ready.store(1, store);
  other.join();
  return seen;
}

TEST(litmus, message_passing) {
  expect_outcomes({0, 1, 2, 3},
                  [] { return message_passing(memory_order_relaxed, memory_order_acquire); });
  expect_outcomes({0, 1, 2, 3},
                  [] { return message_passing(memory_order_release, memory_order_relaxed); });
  expect_outcomes({0, 1, 3},
                  [] { return message_passing(memory_order_release, memory_order_acquire); });
}

// A relaxed read-modify-write continues a release sequence, a relaxed store ends it.
TEST(litmus, release_sequence) {
  const auto program = [](bool by_rmw) {
    sync::atomic<int> data{0};
    sync::atomic<int> ready{0};
    int seen = 0;
    sync::thread middle([&] {
      if (by_rmw) {
        int expected = 1;
        ready.compare_exchange_strong(expected, 2, memory_order_relaxed, memory_order_relaxed);
      } else if (ready.load(memory_order_relaxed) == 1) {
        ready.store(2, memory_order_relaxed);
      }
    });
    sync::thread reader([&] {
      if (ready.load(memory_order_acquire) == 2) {
        seen = 1 + data.load(memory_order_relaxed);
      }
    });
    data.store(1, memory_order_relaxed);
    ready.store(1, memory_order_release);
    middle.join();
    reader.join();
    return seen;
  };
  expect_outcomes({0, 2}, [&] { return program(true); });
  expect_outcomes({0, 1, 2}, [&] { return program(false); });
}

// Coherence: after a thread has learned of a new value, it does not read an old one.
TEST(litmus, coherence_of_reads) {
  expect_outcomes({0, 1, 3}, [] {
    sync::atomic<int> x{0};
    int first = 0;
    int second = 0;
    sync::thread other([&] {
      first = x.load(memory_order_relaxed);
      second = x.load(memory_order_relaxed);
    });
    x.store(1, memory_order_relaxed);
    other.join();
    return 2 * first + second;
  });
}

TEST(litmus, read_modify_writes_never_read_stale) {
  expect_outcomes({2}, [] {
    sync::atomic<int> x{0};
    sync::thread other([&] { x.fetch_add(1, memory_order_relaxed); });
    x.fetch_add(1, memory_order_relaxed);
    other.join();
    return x.load(memory_order_relaxed);
  });
}

TEST(litmus, weak_compare_exchange_may_fail_without_a_reason) {
  const auto program = [] {
    sync::atomic<int> x{0};
    int expected = 0;
    return x.compare_exchange_weak(expected, 1) ? 1 : 0;
  };
  EXPECT_EQ(seen_by(model::strategy::rotating, program), outcomes(0b11));
}

// Two readers of two relaxed stores agree on their order if their loads are seq_cst.
TEST(litmus, seq_cst_loads_agree) {
  expect_outcomes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15}, [] {  // not 10
    sync::atomic<int> x{0};
    sync::atomic<int> y{0};
    int first = 0;
    sync::thread write_x([&] { x.store(1, memory_order_relaxed); });
    sync::thread write_y([&] { y.store(1, memory_order_relaxed); });
    sync::thread reader([&] {
      first = 2 * x.load();
      first += y.load();
    });
    int second = 2 * y.load();
    second += x.load();
    write_x.join();
    write_y.join();
    reader.join();
    return 4 * first + second;
  });
}

// A failed compare_exchange is a load with its failure order.
TEST(litmus, failed_compare_exchange_orders_as_asked) {
  const auto program = [](memory_order failure) {
    sync::atomic<int> data{0};
    sync::atomic<int> ready{0};
    int seen = 0;
    sync::thread other([&] {
      int expected = 7;
      ready.compare_exchange_strong(expected, 8, memory_order_seq_cst, failure);
      seen = 2 * expected + data.load(memory_order_relaxed);
    });
    data.store(1, memory_order_relaxed);
    ready.store(1, memory_order_release);
    other.join();
    return seen;
  };
  expect_outcomes({0, 1, 3}, [&] { return program(memory_order_acquire); });
  expect_outcomes({0, 1, 2, 3}, [&] { return program(memory_order_relaxed); });
}

// A failed compare_exchange, even a strong one, may read an older value than the newest.
TEST(litmus, failed_compare_exchange_may_have_read_an_older_value) {
  const auto program = [](memory_order success, memory_order failure) {
    sync::atomic<int> x{0};
    sync::atomic<int> y{0};
    int saw_x = 0;
    sync::thread other([&] {
      y.store(1);
      saw_x = x.load();
    });
    x.store(1);
    int expected = 1;
    const bool exchanged = y.compare_exchange_strong(expected, 2, success, failure);
    other.join();
    return 2 * saw_x + (exchanged ? 1 : 0);
  };
  expect_outcomes({1, 2, 3}, [&] { return program(memory_order_seq_cst, memory_order_seq_cst); });
  expect_outcomes({1, 2, 3}, [&] { return program(memory_order_relaxed, memory_order_seq_cst); });
  expect_outcomes({0, 1, 2, 3},
                  [&] { return program(memory_order_seq_cst, memory_order_acquire); });
}

TEST(litmus, sequential_consistency_without_weak_memory) {
  outcomes seen;
  const auto r = find({.runs = 5'000, .weak_memory = false}, [&] {
    seen.set(static_cast<std::size_t>(store_buffering(memory_order_relaxed, memory_order_relaxed)));
  });
  EXPECT_TRUE(r.clean()) << r;
  EXPECT_EQ(seen, outcomes(0b1110));
}

}  // namespace
