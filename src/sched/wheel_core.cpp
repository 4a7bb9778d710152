#include "wheel_core.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "timer_math.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

using std::chrono::nanoseconds;

void check(const wheel_scheduler_options& options) {
  if (options.tick < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("takt::wheel_scheduler: the tick is " +
                                std::to_string(options.tick.count()) +
                                " ns; it has to be at least 1000000 ns (1 ms)");
  }
  if (options.spin < nanoseconds(0)) {
    throw std::invalid_argument("takt::wheel_scheduler: spin is negative (" +
                                std::to_string(options.spin.count()) + " ns)");
  }
  if (options.spin > nanoseconds(0) && !options.exact) {
    throw std::invalid_argument("takt::wheel_scheduler: spin is " +
                                std::to_string(options.spin.count()) +
                                " ns, but has to be 0 unless exact is set");
  }
  if (options.time == nullptr) throw std::invalid_argument("takt::wheel_scheduler: time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt::wheel_scheduler: unhandled is null");
  }
  constexpr std::size_t most = std::size_t{1} << 24;
  if (!std::has_single_bit(options.ticks_per_wheel) || options.ticks_per_wheel > most) {
    throw std::invalid_argument("takt::wheel_scheduler: ticks_per_wheel is " +
                                std::to_string(options.ticks_per_wheel) +
                                "; it has to be a power of two up to " + std::to_string(most));
  }
}

}  // namespace

wheel_core::wheel_core(wheel_scheduler_options options)
    : options_(std::move(options)),
      time_(*options_.time),
      start_(time_.now()),
      tick_(options_.tick.count()),
      harness_(time_, *options_.unhandled, options_.observer),
      life_(time_),
      thread_end_(future_options{.time = options_.time}),
      thread_ended_(thread_end_.get_future()),
      attention_(awake),
      least_(never_due),
      passed_(count_of(start_)),
      order_({.tick = options_.exact ? options_.tick : nanoseconds(1),
              .slots = options_.ticks_per_wheel}),
      stamps_from_(start_) {}

wheel_core& wheel_core::make(const wheel_scheduler_options& options) {
  check(options);
  auto* const made = new wheel_core(options);
  try {
    static_cast<void>(made->life_.add_worker());
    made->thread_ = sync::thread([made] { made->run(); });
  } catch (...) {
    delete made;
    throw;
  }
  return *made;
}

// Ends one that is locked, and whose task is gone. After that it may be another's; if this was the
// end of all, *this is gone.
void wheel_core::end_locked(timer_node& n, std::uint32_t index) noexcept {
  if (n.unlock_ended()) recycle(n, index, false);
}

void wheel_core::recycle(timer_node& n, std::uint32_t index, bool was_cancelled) noexcept {
  n.clear();
  if (nodes_.give_back(index, was_cancelled)) delete this;
}

// By the scheduler, its thread, and calls that end it.
void wheel_core::release() noexcept {
  // acq_rel: what the others did
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1 && nodes_.close()) delete this;
}

// --- times

clock::time_point wheel_core::deadline_of(const timer_node& n) const noexcept {
  // relaxed: who reads it without the lock is told of changes
  return time_point(nanoseconds(n.deadline.load(std::memory_order_relaxed)));
}

// The deadline, with its slack.
clock::time_point wheel_core::hand_over_time(const timer_node& n) const noexcept {
  // relaxed: as the deadline
  const std::uint8_t bits = n.slack_bits.load(std::memory_order_relaxed);
  return bits == 0 ? deadline_of(n) : rounded(deadline_of(n), bits);
}

// When that is to be handed over, in the units of order_.
std::uint64_t wheel_core::key_of(time_point due) const noexcept {
  if (due <= start_) return 0;
  const auto after =
      static_cast<std::uint64_t>(count_of(due)) - static_cast<std::uint64_t>(count_of(start_));
  if (options_.exact) return after;
  const auto tick = static_cast<std::uint64_t>(tick_);
  return after / tick + (after % tick != 0 ? 1 : 0);
}

// What is due now.
std::uint64_t wheel_core::key_at(time_point now) const noexcept {
  const auto after = static_cast<std::uint64_t>(count_of(std::max(now, start_))) -
                     static_cast<std::uint64_t>(count_of(start_));
  return options_.exact ? after : after / static_cast<std::uint64_t>(tick_);
}

clock::time_point wheel_core::time_of(std::uint64_t key) const noexcept {
  const auto unit = options_.exact ? std::uint64_t{1} : static_cast<std::uint64_t>(tick_);
  const auto most = static_cast<std::uint64_t>(count_of(time_point::max())) -
                    static_cast<std::uint64_t>(count_of(start_));
  if (key > most / unit) return time_point::max();
  return time_point(nanoseconds(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(count_of(start_)) + key * unit)));
}

nanoseconds wheel_core::max_delay() const noexcept {
  if (tick_ > never.count() / INT_MAX) return never - nanoseconds(1);
  return nanoseconds(tick_ * INT_MAX);
}

void wheel_core::check_period(nanoseconds period) const {
  timer_driver::check_period(period);
  if (period <= max_delay()) return;
  throw std::invalid_argument("takt::wheel_scheduler: the period is " +
                              std::to_string(period.count()) + " ns; the maximum is " +
                              std::to_string(max_delay().count()) + " ns (2147483647 ticks)");
}

// --- adding

// Counts it as rejected.
void wheel_core::refuse(task& t, rejection why) {
  rejected_.add();
  harness_.report(task_event::kind::rejected, t);
  t.reject(why);
  throw rejected(why);
}

timer_ref wheel_core::add(const due_time& due, task& t, const timer_request& options) {
  const timer_id id = insert(due, t, *options.executor, options);
  return id.index == timer_nodes::none ? timer_ref() : timer_ref(*this, id);
}

timer_id wheel_core::insert(due_time due, task& t, any_executor executor,
                            const timer_request& options) {
  const bool relative = options_.stamp == timer_stamp::timer && due.is_delay() &&
                        due.delay() > nanoseconds(0) &&  // else it begins, and ends, now
                        !harness_.observed();            // the observer gets its due time
  const time_point now = relative ? time_point() : time_.now();
  time_point deadline;
  nanoseconds ahead{};
  if (due.is_delay()) {
    ahead = due.delay();
    deadline = deadline_after(now, std::max(ahead, nanoseconds(0)));
  } else {
    deadline = due.on(time_);
    ahead = time_between(now, deadline);
  }
  if (ahead > max_delay() || (deadline == time_point::max() && ahead > nanoseconds(0))) {
    throw std::invalid_argument("takt::wheel_scheduler: the delay is " +
                                std::to_string(ahead.count()) + " ns; the maximum is " +
                                std::to_string(max_delay().count()) + " ns (2147483647 ticks)");
  }
  t.set_deadline(deadline);
  // seq_cst: see invariant 5
  if (stage_.load(std::memory_order_seq_cst) != stage::open) {
    more_submitted_.add();
    if (harness_.observed()) t.set_id(next_id());
    harness_.report(task_event::kind::submitted, t);
    refuse(t, rejection::shut_down);
  }
  if (ahead <= nanoseconds(0) && options.periods == nullptr) {
    add_at_once(t, executor);
    return {0, timer_nodes::none};
  }
  const timer_nodes::place at = claim();
  const std::uint32_t index = at.index();
  timer_node& n = at.node();
  fill(at, t, executor, options);
  const timer_id id = id_of(n, index);
  std::uint32_t handles = 1;
  if (options.place != nullptr) {
    ++handles;
    *options.place = timer_ref(*this, id);
  }
  if (ahead <= nanoseconds(0)) {
    ++options.periods->runs;
    n.deadline.store(count_of(deadline), std::memory_order_relaxed);  // relaxed: the word, below
    n.make(node::running, handles);
    timer_ref made(*this, id);
    // seq_cst: see invariant 5
    if (stage_.load(std::memory_order_seq_cst) != stage::open &&
        take(index, node::in(node::running), t, nullptr)) {
      wake();
      refuse(t, rejection::shut_down);
    }
    const runner here(&harness_, executor_scope::nesting::continued);
    executor.execute(run_of(index));
    made.detach();
    return id;
  }
  // relaxed: the word publishes it
  n.deadline.store(relative ? ahead.count() : count_of(deadline), std::memory_order_relaxed);
  if (relative) {
    // relaxed: a time that has passed will do
    const time_point passed{nanoseconds(passed_.load(std::memory_order_relaxed))};
    const timer_inbox::turn turn = take_turn();
    n.begins_with = turn.part();
    n.make(node::armed, handles);
    turn.fill(index);
    lower_least(count_of(deadline_after(passed, ahead)));
    call(some_time);
  } else {
    const time_point to_hand_over = hand_over_time(n);
    n.make(node::armed, handles);
    enqueue(index, to_hand_over);
  }
  // seq_cst: see invariant 5
  if (stage_.load(std::memory_order_seq_cst) != stage::open) {
    const bool taken_back = take(index, node::in(node::armed), t, nullptr);
    wake();
    if (taken_back) {
      let_go(id);
      refuse(t, rejection::shut_down);
    }
  }
  return id;
}

// On the thread of the caller; the task gets no slot. The executor may run the task on another
// thread, and the task may destroy the scheduler before this returns. The reference keeps the core;
// the destructor waits while a thread is counted in telling_, so that the observer can be used.
void wheel_core::add_at_once(task& t, any_executor executor) {
  struct in_call {
    explicit in_call(wheel_core& of) : core(of), observed(of.harness_.observed()) {
      core.retain();
      if (observed)
        core.telling_.fetch_add(1, std::memory_order_relaxed);  // relaxed: before execute()
    }
    in_call(const in_call&) = delete;
    in_call& operator=(const in_call&) = delete;
    ~in_call() {
      if (observed)
        core.telling_.fetch_sub(1, std::memory_order_release);  // release: the observer was called
      core.release();
    }
    wheel_core& core;
    const bool observed;
  };
  const in_call here_as_caller(*this);
  more_submitted_.add();
  if (harness_.observed()) {
    t.set_id(next_id());
    harness_.report(task_event::kind::submitted, t);
  }
  const runner here(&harness_, executor_scope::nesting::continued);
  hand_over(t, executor);
}

timer_nodes::place wheel_core::claim() {
  for (;;) {
    const timer_nodes::place claimed = nodes_.claim();
    if (claimed.index() != timer_nodes::none) [[likely]] {
      return claimed;
    }
    const mutex_lock lock(mu_);
    // The analysis does not follow a lock into what calls it.
    nodes_.make_room([this](std::size_t places) TAKT_NO_THREAD_SAFETY_ANALYSIS {
      order_.reserve(places);
      inbox_.reserve(places);
    });
  }
}

void wheel_core::fill(timer_nodes::place at, task& t, any_executor executor,
                      const timer_request& options) noexcept {
  timer_node& n = at.node();
  // relaxed: the word publishes it
  n.slack_bits.store(options.slack == nanoseconds(0) ? std::uint8_t{0} : slack_bits(options.slack),
                     std::memory_order_relaxed);
  n.begins_with = 0;
  n.run_at_close = options.run_at_close;
  n.executor = executor;
  n.has_more = options.periods != nullptr || harness_.observed() || !t.literal_name().empty();
  if (n.has_more) {
    timer_details& d = *::new (static_cast<void*>(&nodes_.details(at.index())))
                           timer_details{.name = t.literal_name(),
                                         .id = 0,
                                         .periods = options.periods,
                                         .series = options.periods != nullptr ? t.state() : nullptr,
                                         .paused = false};
    if (harness_.observed()) {
      d.id = next_id();
      t.set_id(d.id);
      harness_.report(task_event::kind::submitted, t);
    }
  }
  n.packed = t.pack(at.closure());
}

// Tells the timer thread of one that is armed, or earlier than before.
void wheel_core::enqueue(std::uint32_t index, time_point due) noexcept {
  take_turn().fill(index);
  lower_least(count_of(due));
  call(count_of(due));
}

timer_inbox::turn wheel_core::take_turn() noexcept {
  for (;;) {
    if (const timer_inbox::turn turn = inbox_.try_take_turn()) [[likely]] {
      return turn;
    }
    const mutex_lock lock(mu_);
    if (inbox_.open_next([this] { return stamp(); })) continue;
    if (!take_in(timer_inbox::how_far::one_part)) sync::yield();
  }
}

void wheel_core::lower_least(std::int64_t deadline) noexcept {
  std::int64_t least = least_.load(std::memory_order_seq_cst);  // seq_cst, both: see invariant 4
  while (deadline < least && !least_.compare_exchange_weak(least, deadline)) {
  }
}

// Wakes the timer thread if it sleeps beyond that.
void wheel_core::call(std::int64_t deadline) noexcept {
  // seq_cst, both: see invariant 4
  if (deadline < attention_.load(std::memory_order_seq_cst) &&
      attention_.exchange(awake, std::memory_order_seq_cst) != awake) {
    wake();
  }
}

// When delays begin that are in the inbox, unless their callers have looked at the clock.
clock::time_point wheel_core::stamp() const noexcept {
  return options_.stamp == timer_stamp::timer ? time_.now() : time_point();
}

// From the inbox to order_. \return whether that is all.
bool wheel_core::take_in() noexcept {
  // First, so that who adds after that lowers it again. seq_cst: see invariant 4
  const std::int64_t least = least_.exchange(never_due, std::memory_order_seq_cst);
  const bool all = take_in(timer_inbox::how_far::all);
  if (!all) lower_least(least);
  return all;
}

bool wheel_core::take_in(timer_inbox::how_far until) noexcept {
  // The analysis does not follow a lock into what calls it.
  return inbox_.take(
      until,
      [this](std::uint32_t index) {
        if (!nodes_.is_free(index)) nodes_.prefetch(index);
      },
      [this](std::uint32_t index, timer_inbox::part_name part, const time_point* ended)
          TAKT_NO_THREAD_SAFETY_ANALYSIS { place(index, part, ended); });
}

// Of a timer that is in that part of the inbox, or may be; none if it was in order_. In a part that
// is still open another one may have come to its place just now: so the clock is read for each.
void wheel_core::place(std::uint32_t index, timer_inbox::part_name part,
                       const time_point* ended) noexcept {
  if (nodes_.is_free(index)) return;  // does not look at the place, which may be far away
  timer_node& n = nodes_[index];
  if (!n.is_in(node::in(node::armed))) return;
  if (options_.stamp == timer_stamp::timer) {
    if (!n.try_lock(node::in(node::armed))) return;
    if (n.begins_with != 0) {
      if (n.begins_with != part) {  // it is another one, and comes later
        n.unlock(node::armed);
        return;
      }
      n.begins_with = 0;
      const nanoseconds delay(n.deadline.load(std::memory_order_relaxed));  // relaxed: locked
      const time_point begin = ended != nullptr ? *ended : time_.now();
      n.deadline.store(count_of(deadline_after(begin, delay)), std::memory_order_relaxed);
    }
    n.unlock(node::armed);
  }
  order_.remove(index);
  order_.add(index, key_of(hand_over_time(n)));
}

task_totals wheel_core::totals() const noexcept {
  task_totals all;
  // Ends first: none has more of them than submissions.
  const std::uint64_t refused = refused_.value();
  all.rejected = rejected_.value() + refused;
  all.ran = ran_.value();
  all.finished = finished_.value() + handed_over_.value() - refused;
  all.failed = failed_.value();
  all.cancelled = cancelled_.value() + nodes_.cancels();
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    if (nodes_[i].is_in(node::in(node::cancelled))) ++all.cancelled;
  }
  all.returned = returned_.value();
  all.missed = missed_.value();
  all.started = all.finished + all.ran;
  all.submitted = nodes_.claims() + more_submitted_.value();
  return all;
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
