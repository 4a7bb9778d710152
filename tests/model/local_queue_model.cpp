// The local queue of a worker under all interleavings: each task is taken once, and no wake-up is
// lost.
#include <array>
#include <functional>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/task/task.hpp>

#include "../../src/exec/local_queue.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using model::require;

// Counts the runs of a task. `made` is plain data, checked for races with the producer.
struct record {
  sync::var<int> made;
  sync::atomic<int> ran{0};
  task make() {
    made.write() = 1;
    return {[this] {
      require(made.read() == 1, "the task is complete");
      ran.fetch_add(1, std::memory_order_relaxed);
    }};
  }
};

template <class Queue>
int steal_all(Queue& queue, int at_most) {
  int stolen = 0;
  task t;
  while (stolen < at_most && queue.steal(t)) {
    t.run();
    ++stolen;
  }
  return stolen;
}

void check_both_ways(const std::function<void()>& body) {
  check({.runs = 20'000}, body);
  check({.runs = 3'000'000, .how = model::strategy::exhaustive}, body);
}

TEST(local_queue, owner_and_thief_take_each_task_once) {
  check_both_ways([] {
    std::array<record, 2> r;
    local_queue<2> queue;
    sync::thread thief([&] { steal_all(queue, 2); });
    queue.push(r[0].make());
    queue.push(r[1].make());
    while (task t = queue.pop()) t.run();
    thief.join();
    require(r[0].ran.load() == 1 && r[1].ran.load() == 1, "each once");
    require(queue.empty() && !queue.pop(), "and nothing is left");
  });
}

TEST(local_queue, a_task_that_is_added_in_two_steps_is_complete) {
  check_both_ways([] {
    std::array<record, 2> r;
    local_queue<2> queue;
    sync::thread thief([&] { steal_all(queue, 2); });
    queue.next_slot() = r[0].make();
    queue.add_next();
    queue.next_slot() = r[1].make();
    queue.push_next(true);
    while (task t = queue.pop()) t.run();
    thief.join();
    require(r[0].ran.load() == 1 && r[1].ran.load() == 1, "each once");
  });
}

TEST(local_queue, numbers_are_used_again_after_pop) {
  check({.runs = 30'000}, [] {
    std::array<record, 4> r;
    local_queue<2> queue;
    sync::thread thief([&] { steal_all(queue, 3); });
    for (record& next : r) {
      task made = next.make();
      queue.has_room() ? queue.push(std::move(made)) : static_cast<void>(made.run());
      if (&next != &r[1]) continue;
      if (task t = queue.pop()) t.run();
    }
    while (task t = queue.pop()) t.run();
    thief.join();
    for (record& each : r) require(each.ran.load() == 1, "each once");
  });
}

TEST(local_queue, two_thieves_and_the_owner) {
  check({.runs = 30'000}, [] {
    std::array<record, 3> r;
    local_queue<2> queue;
    sync::thread a([&] { steal_all(queue, 2); });
    sync::thread b([&] { steal_all(queue, 2); });
    for (record& next : r) {
      task made = next.make();
      queue.has_room() ? queue.push(std::move(made)) : static_cast<void>(made.run());
    }
    while (task t = queue.pop()) t.run();
    a.join();
    b.join();
    for (record& each : r) require(each.ran.load() == 1, "each once");
    require(queue.empty(), "nothing is left");
  });
}

// Thieves take the oldest task first.
TEST(local_queue, thieves_take_in_order) {
  check({.runs = 20'000}, [] {
    sync::atomic<int> last{0};
    local_queue<4> queue;
    sync::thread thief([&] { steal_all(queue, 3); });
    for (int i = 1; i <= 3; ++i) {
      queue.push(task([&last, i] { require(last.exchange(i) < i, "in order"); }));
    }
    thief.join();
    steal_all(queue, 3);
    require(last.load() == 3, "all of them");
  });
}

// One thread pushes and then loads the flag; the other sets the flag and then calls empty().
TEST(local_queue, a_sleeper_is_not_missed) {
  check_both_ways([] {
    local_queue<2> queue;
    sync::atomic<bool> sleeps{false};
    bool called = false;
    bool saw = false;
    sync::thread sleeper([&] {
      sleeps.store(true);
      saw = !queue.empty();
    });
    queue.push(task([] {}));
    called = sleeps.load();
    sleeper.join();
    require(called || saw, "one of the two has seen the other");
  });
}

// The same, while the other thread steals the older task: the newer one is not hidden from empty().
TEST(local_queue, a_sleeper_sees_past_a_thief_that_is_done) {
  check({.runs = 30'000}, [] {
    local_queue<2> queue;
    queue.push(task([] {}));
    sync::atomic<int> word{1};  // 1: a worker searches, 2: it sleeps
    bool called = false;
    bool saw = false;
    sync::thread thief([&] {
      task t;
      require(queue.steal(t), "there is one");
      word.store(2);
      saw = !queue.empty();
    });
    queue.push(task([] {}));
    called = word.load() == 2;
    thief.join();
    require(called || saw || !queue.empty(), "the second one is there");
    require(called || saw, "and one of the two has seen the other");
  });
}

}  // namespace
