// How timers get into the wheel, by its parts: the inbox, and the places that they are in. A part
// holds two numbers, a group two places, a slab four.
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>

#include "../../src/sched/timer_inbox.hpp"
#include "../../src/sched/timer_nodes.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using model::require;
using how_far = timer_inbox::how_far;

// An inbox with its lock, and what was taken out of it.
class lists_of_numbers {
 public:
  void push(std::uint32_t number) {
    timer_inbox::turn turn;
    while (!(turn = inbox_.try_take_turn())) {
      const detail::mutex_lock lock(mu_);
      if (inbox_.open_next(no_time)) continue;
      if (!take(how_far::one_part)) sync::yield();
    }
    parts_[number].write() = turn.part();
    turn.fill(number);
  }
  bool take_all() {
    const detail::mutex_lock lock(mu_);
    return take(how_far::all);
  }
  [[nodiscard]] std::size_t count() const { return taken_.size(); }
  bool end_part() {
    const detail::mutex_lock lock(mu_);
    return inbox_.end_part(no_time);
  }
  // When nobody pushes.
  std::vector<std::uint32_t> all() {
    require(take_all(), "there is no gap");
    return taken_;
  }

 private:
  static clock::time_point no_time() { return {}; }
  bool take(how_far until) {
    return inbox_.take(
        until, [](std::uint32_t) {},
        [&](std::uint32_t number, timer_inbox::part_name part, const clock::time_point*) {
          require(parts_[number].read() == part, "it is where its turn was");
          taken_.push_back(number);
        });
  }

  detail::mutex mu_;
  timer_inbox inbox_;
  std::array<sync::var<timer_inbox::part_name>, 30> parts_{};
  std::vector<std::uint32_t> taken_;
};

// Each of those comes once, and those of one thread, tens and units, in its order.
void each_once_in_order(const std::vector<std::uint32_t>& taken, std::size_t count) {
  require(taken.size() == count, "each comes once");
  std::array<std::uint32_t, 4> last{};
  for (const std::uint32_t number : taken) {
    require(last[number / 10] < number, "in the order in which they were added");
    last[number / 10] = number;
  }
}

TEST(timer_inbox_model, what_two_threads_add_comes_once_and_in_order) {
  check({.runs = 20'000}, [] {
    lists_of_numbers inbox;
    sync::thread other([&] {
      for (std::uint32_t i = 1; i <= 4; ++i) inbox.push(10 + i);
    });
    for (std::uint32_t i = 1; i <= 4; ++i) inbox.push(20 + i);
    other.join();
    each_once_in_order(inbox.all(), 8);
  });
}

TEST(timer_inbox_model, taking_out_meanwhile_loses_nothing) {
  check({.runs = 20'000}, [] {
    lists_of_numbers inbox;
    sync::thread other([&] {
      for (std::uint32_t i = 1; i <= 5; ++i) inbox.push(10 + i);
    });
    for (int i = 0; i < 3; ++i) inbox.take_all();
    other.join();
    each_once_in_order(inbox.all(), 5);
  });
}

TEST(timer_inbox_model, parts_that_end_early_lose_nothing) {
  check({.runs = 20'000}, [] {
    lists_of_numbers inbox;
    sync::thread other([&] {
      for (std::uint32_t i = 1; i <= 3; ++i) inbox.push(10 + i);
    });
    for (int i = 0; i < 2; ++i) {
      if (!inbox.end_part()) inbox.take_all();
    }
    inbox.push(21);
    other.join();
    each_once_in_order(inbox.all(), 4);
  });
}

// See "memory ordering" in timer_inbox.hpp.
TEST(timer_inbox_model, who_adds_sees_the_flag_or_is_seen) {
  check({.runs = 20'000}, [] {
    lists_of_numbers inbox;
    sync::atomic<int> flag{0};
    bool sees = false;
    sync::thread other([&] {
      inbox.push(11);
      sees = flag.load(std::memory_order_seq_cst) != 0;
    });
    flag.store(1, std::memory_order_seq_cst);
    const std::size_t found = inbox.take_all() ? inbox.count() : 1;  // a gap is seen as well
    other.join();
    require(sees || found == 1, "at least one sees the other");
  });
}

// What is written to a place is seen by who claims it next.
TEST(timer_nodes_model, a_place_has_one_owner_at_a_time) {
  check({.runs = 20'000}, [] {
    timer_nodes nodes;
    detail::mutex mu;
    std::array<sync::var<int>, 16> owned{};
    const auto claim = [&] {
      for (;;) {
        const std::uint32_t index = nodes.claim().index();
        if (index != timer_nodes::none) return index;
        const detail::mutex_lock lock(mu);
        nodes.make_room([](std::size_t) {});
      }
    };
    const auto use_two = [&] {
      const std::uint32_t first = claim();
      ++owned[first].write();
      const std::uint32_t second = claim();
      require(first != second, "each has its own");
      ++owned[second].write();
      require(!nodes.is_free(first), "it is in use");
      static_cast<void>(nodes.give_back(first, true));
      static_cast<void>(nodes.give_back(second, false));
    };
    sync::thread other(use_two);
    use_two();
    other.join();
    require(nodes.claims() == 4 && nodes.cancels() == 2, "they are counted");
    require(nodes.close(), "all are free");
  });
}

}  // namespace
