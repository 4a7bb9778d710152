#include "planted.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include <takt/base/detail/sync.hpp>
#include <takt/model/explore.hpp>

namespace {

using namespace takt;
using model::require;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

enum class variant : bool { bug, twin };

// The waiter reads the flag first and the key afterwards: a notification in between has already
// changed the key, so the waiter is never woken.
template <variant V, int Spins = 0>
void eventcount_lost_wake_up() {
  sync::atomic<std::uint32_t> epoch{0};
  sync::atomic<bool> flag{false};
  sync::thread waiter([&] {
    for (int spins = 0; spins < Spins; ++spins) {
      if (flag.load()) return;
      sync::yield();
    }
    for (;;) {
      const std::uint32_t early = epoch.load();
      if (flag.load()) return;
      const std::uint32_t late = epoch.load();
      static_cast<void>(sync::futex_wait(epoch, V == variant::bug ? late : early,
                                         sync::clock::time_point::max()));
    }
  });
  flag.store(true);
  epoch.fetch_add(1);
  sync::futex_wake_one(&epoch);
  waiter.join();
}

// The same after a spin loop: the bug shows only if the whole loop finds nothing.
template <variant V>
void lost_wake_up_after_spinning() {
  eventcount_lost_wake_up<V, 4>();
}

// Store, then load: with only acquire and release, both sides may miss the other's store.
template <variant V>
void eventcount_without_its_ordering() {
  constexpr auto store = V == variant::bug ? memory_order_release : memory_order_seq_cst;
  constexpr auto load = V == variant::bug ? memory_order_acquire : memory_order_seq_cst;
  sync::atomic<std::uint32_t> asleep{0};
  sync::atomic<bool> flag{false};
  sync::thread waiter([&] {
    asleep.store(1, store);
    while (!flag.load(load)) {
      static_cast<void>(sync::futex_wait(asleep, 1, sync::clock::time_point::max()));
    }
  });
  flag.store(true, store);
  if (asleep.load(load) == 1) {
    asleep.store(0, memory_order_relaxed);
    sync::futex_wake_one(&asleep);
  }
  waiter.join();
}

// A task is queued after the worker's last look at the queue.
template <variant V>
void missed_recheck_between_submit_and_shutdown() {
  sync::atomic<bool> shut{false};
  sync::atomic<int> queued{0};
  sync::thread worker([&] {
    for (;;) {
      const bool last = shut.load();
      if (queued.exchange(0) == 1) return;  // ran it
      if (last) return;
      sync::yield();
    }
  });
  sync::atomic<bool> rejected{false};
  sync::thread submitter([&] {
    if (shut.load()) {
      rejected.store(true);
      return;
    }
    queued.store(1);
    if (V == variant::twin && shut.load()) rejected.store(queued.exchange(0) == 1);
  });
  shut.store(true);
  submitter.join();
  worker.join();
  require(queued.load() == 0, "a task was accepted and lost");
}

// Reads head->next before the exchange; a node that was popped and pushed again hides the change.
template <variant V>
void aba_in_a_treiber_stack() {
  constexpr std::uint32_t none = 3;
  // A node and, in the twin, a count that never repeats.
  sync::atomic<std::uint64_t> head{0};
  std::array<sync::atomic<std::uint32_t>, 3> next{1U, 2U, none};
  const auto node = [](std::uint64_t h) { return static_cast<std::uint32_t>(h & 0xff); };
  const auto with = [](std::uint64_t old, std::uint32_t n) {
    return (V == variant::twin ? (old & ~std::uint64_t{0xff}) + 0x100 : 0) | n;
  };
  const auto pop = [&] {
    std::uint64_t h = head.load();
    for (;;) {
      if (node(h) == none) return none;
      const std::uint32_t after = next[node(h)].load();
      if (head.compare_exchange_strong(h, with(h, after))) return node(h);
    }
  };
  const auto push = [&](std::uint32_t n) {
    std::uint64_t h = head.load();
    do next[n].store(node(h));
    while (!head.compare_exchange_strong(h, with(h, n)));
  };
  std::array<int, 3> taken{};
  std::uint32_t mine = none;
  sync::thread other([&] {
    const std::uint32_t a = pop();
    const std::uint32_t b = pop();
    if (a != none) push(a);
    if (b != none) ++taken[b];
  });
  mine = pop();
  other.join();
  if (mine != none) ++taken[mine];
  for (std::uint32_t n = pop(), left = 3; n != none && left > 0; n = pop(), --left) ++taken[n];
  require(taken == std::array{1, 1, 1}, "a node has two owners, or none");
}

// Both sides check, then act.
template <variant V>
void double_run_between_cancel_and_fire() {
  enum : int { armed, fired, cancelled };
  sync::atomic<int> state{armed};
  sync::atomic<int> ends{0};
  const auto end_as = [&](int how) {
    if (V == variant::twin) {
      int expected = armed;
      if (state.compare_exchange_strong(expected, how)) ends.fetch_add(1);
    } else if (state.load() == armed) {
      state.store(how);
      ends.fetch_add(1);
    }
  };
  sync::thread timer([&] { end_as(fired); });
  end_as(cancelled);
  timer.join();
  require(ends.load() == 1, "a task reached its end twice");
}

template <variant V>
void two_mutexes_in_opposite_order() {
  sync::mutex a;
  sync::mutex b;
  sync::thread other([&] {
    const std::scoped_lock first(V == variant::bug ? b : a);
    const std::scoped_lock second(V == variant::bug ? a : b);
  });
  {
    const std::scoped_lock first(a);
    const std::scoped_lock second(b);
  }
  other.join();
}

// Leader/follower: one consumer, the leader, waits for the first deadline, the others wait without
// a deadline. A leader that takes its entry must wake one of them.
template <variant V>
void leader_without_successor() {
  using namespace std::chrono_literals;
  sync::mutex mu;
  sync::condition_variable available;
  std::array<sync::clock::time_point, 2> deadlines{sync::clock::now() + 1ms,
                                                   sync::clock::now() + 2ms};
  std::size_t head = 0;
  bool led = false;
  const auto take = [&] {
    std::unique_lock lock(mu);
    for (;;) {
      if (deadlines.at(head) <= sync::clock::now()) {
        ++head;
        if (V == variant::twin && !led && head < deadlines.size()) available.notify_one();
        return;
      }
      if (led) {
        available.wait(lock);
      } else {
        led = true;
        available.wait_until(lock, deadlines.at(head));
        led = false;
      }
    }
  };
  sync::thread other(take);
  take();
  other.join();
}

// The handle reads an entry that the timer has freed; the twin counts references.
template <variant V>
void use_after_free_of_a_handle() {
  struct entry {
    sync::atomic<bool> cancelled{false};
    sync::atomic<int> holders{2};
  };
  auto* const e = new entry;
  const auto release = [e] {
    if (e->holders.fetch_sub(1, memory_order_acq_rel) == 1) delete e;
  };
  sync::thread timer([&] {
    if (V == variant::bug) {
      if (!e->cancelled.load()) delete e;
    } else {
      release();
    }
  });
  if (V == variant::bug) {
    if (e->cancelled.exchange(true)) require(false, "cancelled twice");
  } else {
    e->cancelled.store(true);
    release();
  }
  timer.join();
  if (V == variant::bug) delete e;
}

// Five operations must interleave in one order.
template <variant V>
void five_step_ordering() {
  sync::atomic<int> a{0};
  sync::atomic<int> b{0};
  sync::thread other([&] {
    if (a.load() != 1) return;
    b.store(1);
    if (a.load() != 2) return;
    b.store(V == variant::bug ? 2 : 1);
  });
  a.store(1);
  if (b.load() == 1) {
    a.store(2);
    if (b.load() == 2) require(false, "five steps in the one bad order");
  }
  other.join();
}

// The canceller stops trying after it has met a running task three times; the twin leaves a
// request.
template <variant V>
void starved_canceller() {
  enum : int { scheduled, running, cancelled };
  sync::atomic<int> state{scheduled};
  sync::atomic<bool> requested{false};
  bool ran_on = false;
  sync::thread runner([&] {
    for (int i = 0; i < 5; ++i) {
      int expected = scheduled;
      if (!state.compare_exchange_strong(expected, running)) return;
      state.store(V == variant::twin && requested.load() ? cancelled : scheduled);
    }
    ran_on = true;
  });
  requested.store(true);
  for (int i = 0; i < 3; ++i) {
    int expected = scheduled;
    if (state.compare_exchange_strong(expected, cancelled)) break;
  }
  const bool asked_in_time = state.load() == running;
  runner.join();
  if (asked_in_time && V == variant::bug) require(!ran_on, "cancel was called, the series ran on");
  if (V == variant::twin) require(state.load() == cancelled || ran_on, "cancel was lost");
}

template <variant V>
void dekker() {
  constexpr auto store = V == variant::bug ? memory_order_release : memory_order_seq_cst;
  constexpr auto load = V == variant::bug ? memory_order_acquire : memory_order_seq_cst;
  sync::atomic<bool> x{false};
  sync::atomic<bool> y{false};
  bool saw_x = false;
  bool saw_y = false;
  sync::thread other([&] {
    y.store(true, store);
    saw_x = x.load(load);
  });
  x.store(true, store);
  saw_y = y.load(load);
  other.join();
  require(saw_x || saw_y, "both are in the critical section");
}

template <variant V>
void relaxed_publication() {
  constexpr auto store = V == variant::bug ? memory_order_relaxed : memory_order_release;
  sync::var<int> data{0};
  sync::atomic<bool> ready{false};
  sync::thread reader([&] {
    if (ready.load(memory_order_acquire)) require(data.read() == 42, "half-made data");
  });
  data.write() = 42;
  ready.store(true, store);
  reader.join();
}

// A waiter whose time-out expires while it is granted the permit.
template <variant V>
void time_out_against_grant() {
  using namespace std::chrono_literals;
  sync::mutex mu;
  sync::condition_variable granted;
  int permits = 0;
  bool handed = false;
  bool waiting = false;
  bool got = false;
  sync::thread waiter([&] {
    std::unique_lock lock(mu);
    waiting = true;
    const auto deadline = sync::clock::now() + 1ms;
    while (!handed) {
      if (granted.wait_until(lock, deadline) == std::cv_status::timeout) break;
    }
    waiting = false;
    got = V == variant::bug ? sync::clock::now() < deadline : handed;
  });
  {
    const std::scoped_lock lock(mu);
    if (waiting) {
      handed = true;
      granted.notify_one();
    } else {
      ++permits;
    }
  }
  waiter.join();
  require(permits + (got ? 1 : 0) == 1, "the permit is lost");
}

// IRIW (independent reads of independent writes): do two readers agree on the order?
template <variant V>
void independent_reads_of_independent_writes() {
  constexpr auto load = V == variant::bug ? memory_order_acquire : memory_order_seq_cst;
  sync::atomic<bool> x{false};
  sync::atomic<bool> y{false};
  bool x_first = false;
  bool y_first = false;
  sync::thread write_x([&] { x.store(true); });
  sync::thread write_y([&] { y.store(true); });
  sync::thread read_xy([&] { x_first = x.load(load) && !y.load(load); });
  y_first = y.load(load) && !x.load(load);
  write_x.join();
  write_y.join();
  read_xy.join();
  require(!(x_first && y_first), "two readers saw two orders");
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): names of functions
#define TAKT_PLANT(name, by_search) \
  planted_bug { #name, &name<variant::bug>, &name<variant::twin>, by_search }
// NOLINTEND(bugprone-macro-parentheses)

const std::vector<planted_bug>& planted_bugs() {
  static const std::vector<planted_bug> all{
      TAKT_PLANT(eventcount_lost_wake_up, true),
      // in the search a yield returns only after another thread's step
      TAKT_PLANT(lost_wake_up_after_spinning, false),
      TAKT_PLANT(eventcount_without_its_ordering, true),
      TAKT_PLANT(missed_recheck_between_submit_and_shutdown, true),
      TAKT_PLANT(aba_in_a_treiber_stack, true),
      TAKT_PLANT(double_run_between_cancel_and_fire, true),
      TAKT_PLANT(two_mutexes_in_opposite_order, true),
      TAKT_PLANT(leader_without_successor, true),
      TAKT_PLANT(use_after_free_of_a_handle, true),
      TAKT_PLANT(five_step_ordering, true),
      TAKT_PLANT(starved_canceller, true),
      TAKT_PLANT(dekker, true),
      TAKT_PLANT(relaxed_publication, true),
      TAKT_PLANT(time_out_against_grant, true),
      TAKT_PLANT(independent_reads_of_independent_writes, true),
  };
  return all;
}
