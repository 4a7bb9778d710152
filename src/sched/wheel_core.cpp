#include "wheel_core.hpp"

#include <algorithm>
#include <bit>
#include <climits>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include <takt/exec/executor.hpp>

#include "../exec/os.hpp"
#include "timer_math.hpp"

namespace takt::inline TAKT_ABI {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint32_t phase_bits = 7;
constexpr std::uint32_t is_locked = 8;
constexpr std::uint32_t one_handle = 16;

constexpr std::uint32_t is_free = 0;
constexpr std::uint32_t armed = 1;
constexpr std::uint32_t paused = 2;
constexpr std::uint32_t running = 3;
constexpr std::uint32_t ended = 4;

// A set of phases.
constexpr std::uint32_t in(std::uint32_t phase) noexcept { return 1U << phase; }
constexpr bool is_in(std::uint32_t word, std::uint32_t phases) noexcept {
  return (phases >> (word & phase_bits) & 1) != 0;
}

constexpr std::int64_t awake = std::numeric_limits<std::int64_t>::min();
// Of a delay that has not begun: wakes who sleeps for ever.
constexpr std::int64_t some_time = std::numeric_limits<std::int64_t>::max() - 1;

std::int64_t count_of(clock::time_point t) noexcept { return t.time_since_epoch().count(); }

// One run of a series, on its way to the executor.
class series_run {
 public:
  series_run(wheel_core& core, std::uint32_t index) noexcept : core_(&core), index_(index) {}
  series_run(series_run&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)), index_(other.index_) {}
  series_run& operator=(series_run&&) = delete;
  ~series_run() {
    if (core_ != nullptr) core_->drop_run(index_);
  }
  void operator()() noexcept { std::exchange(core_, nullptr)->run_series(index_); }

 private:
  wheel_core* core_;
  std::uint32_t index_;
};

const wheel_scheduler_options& checked(const wheel_scheduler_options& how) {
  if (how.tick < std::chrono::milliseconds(1)) {
    throw std::invalid_argument("takt::wheel_scheduler: the tick is " +
                                std::to_string(how.tick.count()) +
                                " ns; it has to be at least 1000000 ns (1 ms)");
  }
  if (how.spin < nanoseconds(0)) {
    throw std::invalid_argument("takt::wheel_scheduler: spin is negative (" +
                                std::to_string(how.spin.count()) + " ns)");
  }
  if (how.spin > nanoseconds(0) && !how.exact) {
    throw std::invalid_argument("takt::wheel_scheduler: spin is " +
                                std::to_string(how.spin.count()) +
                                " ns, but has to be 0 unless exact is set");
  }
  if (how.time == nullptr) throw std::invalid_argument("takt::wheel_scheduler: time is null");
  if (how.unhandled == nullptr) {
    throw std::invalid_argument("takt::wheel_scheduler: unhandled is null");
  }
  constexpr std::size_t most = std::size_t{1} << 24;
  if (!std::has_single_bit(how.ticks_per_wheel) || how.ticks_per_wheel > most) {
    throw std::invalid_argument("takt::wheel_scheduler: ticks_per_wheel is " +
                                std::to_string(how.ticks_per_wheel) +
                                "; it has to be a power of two up to " + std::to_string(most));
  }
  return how;
}

}  // namespace

template <>
inline constexpr bool moves_as_bytes<series_run> = true;

wheel_core::wheel_core(const wheel_scheduler_options& how)
    : how_(checked(how)),
      time_(*how_.time),
      start_(time_.now()),
      tick_(how_.tick.count()),
      process_(os::process_id()),
      book_(time_, *how_.unhandled, how_.observer),
      life_(time_),
      thread_end_(task_options{.time = how_.time}),
      thread_ended_(thread_end_.get_future()),
      attention_(awake),
      order_({.tick = how_.exact ? how_.tick : nanoseconds(1), .slots = how_.ticks_per_wheel}) {}

// --- words

// Waits for who has locked it. \return its phase.
std::uint32_t wheel_core::lock(timer_node& n) noexcept {
  for (;;) {
    std::uint32_t w = n.word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    // acquire: what was done under the lock, and before it was armed
    if ((w & is_locked) == 0 &&
        n.word.compare_exchange_weak(w, w | is_locked, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return w & phase_bits;
    }
    sync::yield();
  }
}

// As above, if it is in one of these phases.
bool wheel_core::try_lock(timer_node& n, std::uint32_t phases) noexcept {
  for (;;) {
    // seq_cst: who sets stage_ and then looks here, against who arms it and then looks at stage_
    std::uint32_t w = n.word.load(std::memory_order_seq_cst);
    if ((w & is_locked) == 0) {
      if (!is_in(w, phases)) return false;
      // acquire: as above
      if (n.word.compare_exchange_weak(w, w | is_locked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    sync::yield();
  }
}

// \return how many handles it has.
std::uint32_t wheel_core::unlock(timer_node& n, std::uint32_t from, std::uint32_t to) noexcept {
  // seq_cst: as in try_lock()
  return n.word.fetch_add(to - from - is_locked, std::memory_order_seq_cst) / one_handle;
}

// Its task is gone. After that it may be another's, and if this was the end, *this is gone.
void wheel_core::unlock_ended(timer_node& n, std::uint32_t index, std::uint32_t from) noexcept {
  // relaxed: without handles nobody changes what is locked
  if (n.word.load(std::memory_order_relaxed) / one_handle == 0 || unlock(n, from, ended) == 0) {
    recycle(n, index);
  }
}

void wheel_core::recycle(timer_node& n, std::uint32_t index) noexcept {
  n.word.store(is_free, std::memory_order_relaxed);  // relaxed: it is given back after that
  if (nodes_.give_back(index)) delete this;
}

// By the scheduler and its thread.
void wheel_core::release() noexcept {
  // acq_rel: what the other one did
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1 && nodes_.close()) delete this;
}

void wheel_core::hold(timer_id id) noexcept {
  nodes_[id.index].word.fetch_add(one_handle, std::memory_order_relaxed);  // relaxed: has one
}

void wheel_core::let_go(timer_id id) noexcept {
  timer_node& n = nodes_[id.index];
  // acquire: what others did who have let go, before the place is another's
  if (n.word.load(std::memory_order_acquire) == (ended | one_handle) ||
      n.word.fetch_sub(one_handle, std::memory_order_acq_rel) == (ended | one_handle)) {
    recycle(n, id.index);
  }
}

// --- times

clock::time_point wheel_core::deadline_of(const timer_node& n) const noexcept {
  // relaxed: who reads it without the lock is told of changes
  return time_point(nanoseconds(n.deadline.load(std::memory_order_relaxed)));
}

// When it is to be handed over, in the units of order_.
std::uint64_t wheel_core::key_of(const timer_node& n) const noexcept {
  time_point due = deadline_of(n);
  if (n.slack_bits != 0) due = rounded(due, n.slack_bits);
  if (due <= start_) return 0;
  const auto after =
      static_cast<std::uint64_t>(count_of(due)) - static_cast<std::uint64_t>(count_of(start_));
  if (how_.exact) return after;
  const auto tick = static_cast<std::uint64_t>(tick_);
  return after / tick + (after % tick != 0 ? 1 : 0);
}

// What is due now.
std::uint64_t wheel_core::key_at(time_point now) const noexcept {
  const auto after = static_cast<std::uint64_t>(count_of(std::max(now, start_))) -
                     static_cast<std::uint64_t>(count_of(start_));
  return how_.exact ? after : after / static_cast<std::uint64_t>(tick_);
}

clock::time_point wheel_core::time_of(std::uint64_t key) const noexcept {
  const auto unit = how_.exact ? std::uint64_t{1} : static_cast<std::uint64_t>(tick_);
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
  timer_source::check_period(period);
  if (period <= max_delay()) return;
  throw std::invalid_argument("takt::wheel_scheduler: the period is " +
                              std::to_string(period.count()) + " ns; the maximum is " +
                              std::to_string(max_delay().count()) + " ns (2147483647 ticks)");
}

// --- adding

// Counts it as rejected.
void wheel_core::refuse(task& t, rejection why) {
  rejected_.add();
  book_.tell(task_event::kind::rejected, t);
  t.reject(why);
  throw rejected(why);
}

timer_place wheel_core::add(const when& due, task& t, const timer_request& more) {
  const bool relative = how_.stamp == timer_stamp::timer && due.is_delay();
  const time_point now = relative && !book_.observed() ? time_point() : time_.now();
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
    if (book_.observed()) t.set_id(next_id());
    book_.tell(task_event::kind::submitted, t);
    refuse(t, rejection::shut_down);
  }
  if (ahead <= nanoseconds(0) && more.periods == nullptr) return add_at_once(deadline, t, more);
  const std::uint32_t index = claim();
  timer_node& n = nodes_[index];
  fill(index, t, more);
  const timer_id id{0, index};
  std::uint32_t handles = one_handle;
  if (more.place != nullptr) {
    handles += one_handle;
    *more.place = timer_place(*this, id);
  }
  timer_place made(*this, id);
  if (ahead <= nanoseconds(0)) {
    ++more.periods->runs;
    n.deadline.store(count_of(deadline), std::memory_order_relaxed);  // relaxed: the word, below
    n.word.store(running | handles, std::memory_order_release);       // release: all of it
    task run{series_run(*this, index)};
    run.set_deadline(deadline);
    more.where->execute(std::move(run));
    return made;
  }
  n.relative = relative;
  n.deadline.store(relative ? ahead.count() : count_of(deadline),
                   std::memory_order_relaxed);               // relaxed: the word publishes it
  n.word.store(armed | handles, std::memory_order_release);  // release: all of it
  enqueue(index, relative ? some_time : count_of(deadline));
  // seq_cst: see invariant 5
  if (stage_.load(std::memory_order_seq_cst) != stage::open) {
    bool taken_back = false;
    take(index, in(armed), [&](task& back, bool) {
      t = std::move(back);
      taken_back = true;
    });
    wake();
    if (taken_back) refuse(t, rejection::shut_down);
  }
  return made;
}

// By the caller. What runs once has no entry then.
timer_place wheel_core::add_at_once(time_point due, task& t, const timer_request& more) {
  t.set_deadline(due);
  more_submitted_.add();
  if (book_.observed()) {
    t.set_id(next_id());
    book_.tell(task_event::kind::submitted, t);
  }
  hand_over(t, *more.where);
  return {};
}

std::uint32_t wheel_core::claim() {
  for (;;) {
    const std::uint32_t index = nodes_.claim();
    if (index != timer_nodes::none) [[likely]] {
      return index;
    }
    const mutex_lock lock(mu_);
    // The analysis does not follow a lock into what calls it.
    nodes_.make_room([this](std::size_t places)
                         TAKT_NO_THREAD_SAFETY_ANALYSIS { order_.reserve(places); });
  }
}

void wheel_core::fill(std::uint32_t index, task& t, const timer_request& more) noexcept {
  timer_node& n = nodes_[index];
  n.slack_bits = more.slack == nanoseconds(0) ? std::uint8_t{0} : slack_bits(more.slack);
  n.relative = false;
  n.run_at_close = more.run_at_close;
  n.where = *more.where;
  n.has_more = more.periods != nullptr || book_.observed() || !t.name().empty();
  if (n.has_more) {
    timer_details& d = nodes_.details(index);
    d = {.name = t.literal_name(),
         .id = 0,
         .periods = more.periods,
         .series = more.periods != nullptr ? t.state() : nullptr,
         .paused = false};
    if (book_.observed()) {
      d.id = next_id();
      t.set_id(d.id);
      book_.tell(task_event::kind::submitted, t);
    }
  }
  n.packed = t.pack(nodes_.closure(index));
}

// Tells the timer thread of one that is armed, or earlier than before.
void wheel_core::enqueue(std::uint32_t index, std::int64_t deadline) noexcept {
  while (!inbox_.try_push(index)) [[unlikely]] {
    const mutex_lock lock(mu_);
    if (!take_in()) sync::yield();
  }
  // seq_cst, both: see invariant 4
  if (deadline < attention_.load(std::memory_order_seq_cst) &&
      attention_.exchange(awake, std::memory_order_seq_cst) != awake) {
    wake();
  }
}

// From the inbox to order_. \return whether that is all.
bool wheel_core::take_in() noexcept {
  std::optional<time_point> now;
  // The analysis does not follow a lock into what calls it.
  return inbox_.take_all([&](std::uint32_t index) TAKT_NO_THREAD_SAFETY_ANALYSIS {
    took_in_ = true;
    // Not before: all that is taken in has been asked for by now.
    if (!now) now = how_.stamp == timer_stamp::timer ? time_.now() : time_point();
    place(index, *now);
  });
}

void wheel_core::place(std::uint32_t index, time_point now) noexcept {
  timer_node& n = nodes_[index];
  // acquire: all of the timer
  if (!is_in(n.word.load(std::memory_order_acquire), in(armed))) return;
  if (how_.stamp == timer_stamp::timer) {
    if (!try_lock(n, in(armed))) return;
    if (std::exchange(n.relative, false)) {
      const nanoseconds delay(n.deadline.load(std::memory_order_relaxed));  // relaxed: locked
      n.deadline.store(count_of(deadline_after(now, delay)), std::memory_order_relaxed);
    }
    unlock(n, armed, armed);
  }
  order_.remove(index);
  order_.add(index, key_of(n));
}

// --- the timer thread

wheel_core& wheel_core::make(const wheel_scheduler_options& how) {
  auto* const made = new wheel_core(how);
  try {
    static_cast<void>(made->life_.add_worker());
    made->thread_ = sync::thread([made] { made->run(); });
  } catch (...) {
    delete made;
    throw;
  }
  return *made;
}

void wheel_core::run() noexcept {
  os::set_thread_name(how_.name, 0);
  if (how_.thread.nice != 0) os::set_thread_nice(os::thread_nice() + how_.thread.nice);
  if (!how_.thread.cpus.empty()) os::set_thread_cpus(how_.thread.cpus);
  os::wake_without_slack();
  if (how_.thread.on_start != nullptr) how_.thread.on_start();
  while (!has_ended()) {
    if (!hand_over_due()) sleep();
  }
  if (how_.thread.on_exit != nullptr) how_.thread.on_exit();
  life_.remove_worker();
  if (life_.try_tidy(true)) life_.terminate();
  thread_end_.set_value();
  release();
}

bool wheel_core::has_ended() noexcept {
  const stage now = stage_.load(std::memory_order_seq_cst);  // seq_cst: see invariant 5
  if (now != stage::closed) return now == stage::stopped;
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t looked = 0; looked < places; ++looked) {
    // seq_cst: as in try_lock()
    const std::uint32_t w = nodes_[pending_at_].word.load(std::memory_order_seq_cst);
    if (is_in(w, in(armed) | in(paused) | in(running))) return false;
    pending_at_ = pending_at_ + 1 == places ? 0 : pending_at_ + 1;
  }
  return true;
}

// \return whether something was due.
bool wheel_core::hand_over_due() noexcept {
  constexpr std::size_t ahead = 4;
  std::size_t count = 0;
  const time_point now = time_.now();
  {
    const mutex_lock lock(mu_);
    take_in();
    count = order_.advance(key_at(now), due_);
    due_count_ = count;
  }
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) nodes_.prefetch(due_[i].index);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) nodes_.prefetch(due_[i + ahead].index);
    // relaxed: who stops it takes what is left, whoever comes first
    if (stage_.load(std::memory_order_relaxed) == stage::stopped) break;
    fire(due_[i].index, now);
  }
  return count != 0;
}

void wheel_core::fire(std::uint32_t index, time_point now) noexcept {
  timer_node& n = nodes_[index];
  if (!try_lock(n, in(armed))) return;
  const time_point deadline = deadline_of(n);
  if (n.relative || key_of(n) > key_at(now)) {  // it was moved, or is another one
    unlock(n, armed, armed);
    const mutex_lock lock(mu_);
    place(index, how_.stamp == timer_stamp::timer ? time_.now() : now);
    return;
  }
  lateness_.record(time_between(deadline, now));
  any_executor where = n.where;
  period_state* const periods = n.has_more ? nodes_.details(index).periods : nullptr;
  if (periods == nullptr) {
    task t = take_task(n, index, false);
    const bool seen = t.has_future();
    unlock_ended(n, index, armed);
    hand_over_reporting(t, where, seen);
    return;
  }
  ++periods->runs;
  task t{series_run(*this, index)};
  t.set_name(nodes_.details(index).name);
  t.set_deadline(deadline);
  unlock(n, armed, running);
  try {
    where.execute(std::move(t));
  } catch (const rejected&) {  // NOLINT(bugprone-empty-catch): drop_run() has seen to it
  } catch (...) {
    how_.unhandled->on_unhandled(unhandled::uncaught, std::current_exception());
  }
}

// Gives what runs once to its executor. \throws what that throws.
void wheel_core::hand_over(task& t, any_executor& where) {
  task told;
  told.describe_as(t);
  std::optional<task_event> event = book_.tell_started(t);
  handed_over_.add();
  try {
    where.execute(std::move(t));
  } catch (const rejected&) {
    refused_.add();
    book_.tell_ended(event, run_result::again);
    book_.tell(task_event::kind::rejected, told);
    throw;
  } catch (...) {
    failed_.add();
    book_.tell_ended(event, run_result::failed);
    throw;
  }
  book_.tell_ended(event, run_result::finished);
}

void wheel_core::hand_over_reporting(task& t, any_executor& where, bool seen) noexcept {
  try {
    hand_over(t, where);
  } catch (const rejected&) {
    if (!seen) how_.unhandled->on_unhandled(unhandled::unobserved, std::current_exception());
  } catch (...) {
    how_.unhandled->on_unhandled(unhandled::uncaught, std::current_exception());
  }
}

// Nothing is due: waits until something is, or somebody calls.
void wheel_core::sleep() noexcept {
  const bool stamps = how_.stamp == timer_stamp::timer;
  const time_point now = time_.now();
  time_point until;
  bool looks_again = false;
  {
    const mutex_lock lock(mu_);
    until = time_of(order_.next());
    looks_again = std::exchange(took_in_, false) && stamps;
  }
  std::int64_t attention = count_of(until);
  if (!how_.exact && until != time_point::max()) attention -= tick_ - 1;
  if (stamps) attention = count_of(time_point::max());
  if (looks_again) {
    // Delays that come meanwhile are stamped at the next tick, and nobody has to call for that.
    until = std::min(until, deadline_after(now, how_.tick));
    attention = count_of(until);
  }
  attention_.store(attention, std::memory_order_seq_cst);  // seq_cst: see invariant 4
  bool complete = false;
  bool earlier = false;
  {
    const mutex_lock lock(mu_);
    complete = take_in();
    earlier = time_of(order_.next()) < until || (stamps && took_in_ && !looks_again);
  }
  // seq_cst: who changes it wakes this thread afterwards
  const bool goes_on = stage_.load(std::memory_order_seq_cst) == stage::open || !has_ended();
  if (complete && !earlier && goes_on) {
    const time_point spins = until == time_point::max() ? until : until - how_.spin;
    time_.park_until(wake_, spins);
    // relaxed: what was added is found in the inbox
    while (how_.spin > nanoseconds(0) && time_.now() >= spins && time_.now() < until &&
           attention_.load(std::memory_order_relaxed) != awake &&
           stage_.load(std::memory_order_relaxed) != stage::stopped) {
      sync::yield();
    }
  }
  attention_.store(awake, std::memory_order_seq_cst);
  if (!complete) sync::yield();  // somebody is about to fill a gap
}

// --- handles

cancel_result wheel_core::cancel(timer_id id) noexcept {
  timer_node& n = nodes_[id.index];
  const bool observed = book_.observed();
  if (observed) telling_.fetch_add(1, std::memory_order_relaxed);  // relaxed: before the exchange
  const auto done = [&](cancel_result result) {
    if (observed) telling_.fetch_sub(1, std::memory_order_release);  // release: it was told
    return result;
  };
  std::uint32_t w = n.word.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  std::uint32_t phase = 0;
  for (;;) {
    phase = w & phase_bits;
    if ((w & is_locked) != 0) {
      sync::yield();
      w = n.word.load(std::memory_order_relaxed);  // relaxed: as above
      continue;
    }
    if (phase == running) return done(cancel_result::running);
    if (phase != armed && phase != paused) return done(cancel_result::done);
    // acq_rel: the task; and that it was told of is known to who finds it ended
    if (n.word.compare_exchange_weak(w, w - phase + ended, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
      break;
    }
  }
  task t = take_task(n, id.index, phase == paused);
  cancelled_.add();
  book_.tell(task_event::kind::cancelled, t);
  done(cancel_result::prevented);
  t.cancel();
  // seq_cst: as in try_lock()
  if (stage_.load(std::memory_order_seq_cst) != stage::open) wake();
  return cancel_result::prevented;
}

bool wheel_core::reschedule(timer_id id, const when& due) noexcept {
  const time_point now = time_.now();
  const time_point next = due.on(time_);
  if (time_between(now, next) > max_delay()) return false;
  timer_node& n = nodes_[id.index];
  const std::uint32_t phase = lock(n);
  if (phase == running) {
    timer_details& d = nodes_.details(id.index);
    d.paused = false;
    d.periods->moved_to = next;
  }
  if (phase != armed && phase != paused) {
    unlock(n, phase, phase);
    return phase == running;
  }
  const bool earlier = phase == paused || std::exchange(n.relative, false) || next < deadline_of(n);
  n.deadline.store(count_of(next), std::memory_order_relaxed);  // relaxed: locked
  unlock(n, phase, armed);
  if (earlier) enqueue(id.index, count_of(next));
  return true;
}

bool wheel_core::pause(timer_id id) noexcept {
  timer_node& n = nodes_[id.index];
  const time_point now = time_.now();
  const std::uint32_t phase = lock(n);
  // seq_cst: see invariant 5
  bool possible = stage_.load(std::memory_order_seq_cst) == stage::open;
  if (phase == running) {
    possible = possible && !std::exchange(nodes_.details(id.index).paused, true);
    unlock(n, phase, phase);
    return possible;
  }
  if (phase != armed || !possible) {
    unlock(n, phase, phase);
    return false;
  }
  if (!std::exchange(n.relative, false)) {
    const nanoseconds left = std::max(time_between(now, deadline_of(n)), nanoseconds(0));
    n.deadline.store(left.count(), std::memory_order_relaxed);  // relaxed: locked
  }
  unlock(n, armed, paused);
  // seq_cst: as above
  if (stage_.load(std::memory_order_seq_cst) == stage::closed) end_series_and_paused();
  return true;
}

bool wheel_core::resume(timer_id id) noexcept {
  timer_node& n = nodes_[id.index];
  const time_point now = time_.now();
  const std::uint32_t phase = lock(n);
  if (phase == running) {
    const bool was_paused = std::exchange(nodes_.details(id.index).paused, false);
    unlock(n, phase, phase);
    return was_paused;
  }
  if (phase != paused) {
    unlock(n, phase, phase);
    return false;
  }
  const nanoseconds left(n.deadline.load(std::memory_order_relaxed));  // relaxed: locked
  const std::int64_t deadline = count_of(deadline_after(now, left));
  n.deadline.store(deadline, std::memory_order_relaxed);
  unlock(n, paused, armed);
  enqueue(id.index, deadline);
  return true;
}

clock::time_point wheel_core::next_time(timer_id id) noexcept {
  timer_node& n = nodes_[id.index];
  const std::uint32_t phase = lock(n);
  time_point next = time_point::max();
  if (phase == armed) {
    next = deadline_of(n);
    if (n.relative) next = deadline_after(time_.now(), next.time_since_epoch());
  }
  unlock(n, phase, phase);
  return next;
}

nanoseconds wheel_core::time_left(timer_id id) noexcept {
  const time_point next = next_time(id);
  return next == time_point::max() ? never : time_between(time_.now(), next);
}

period_state wheel_core::look_at(timer_id id, const period_state& periods) noexcept {
  timer_node& n = nodes_[id.index];
  const std::uint32_t phase = lock(n);
  const period_state seen = periods;
  unlock(n, phase, phase);
  return seen;
}

void wheel_core::change_period(timer_id id, period_state& periods, nanoseconds period) noexcept {
  timer_node& n = nodes_[id.index];
  const std::uint32_t phase = lock(n);
  periods.period = period;
  unlock(n, phase, phase);
}

// --- series

// On the executor.
void wheel_core::run_series(std::uint32_t index) noexcept {
  timer_node& n = nodes_[index];
  task t = task::unpack(nodes_.closure(index), n.packed);
  const timer_details& d = nodes_.details(index);
  t.set_name(d.name);
  t.set_id(d.id);
  t.set_deadline(deadline_of(n));
  const run_result result = book_.run(t, life_, nullptr);
  end_run(index, t, result);
}

void wheel_core::end_run(std::uint32_t index, task& t, run_result result) noexcept {
  timer_node& n = nodes_[index];
  timer_details& d = nodes_.details(index);
  const bool again = result == run_result::again;
  std::uint64_t left_out = 0;
  time_point next;
  const time_point now = again ? time_.now() : time_point();
  if (result == run_result::failed) failed_.add();
  if (result >= run_result::cancelled_within) ran_.add();
  lock(n);
  if (again) {
    std::tie(next, left_out) = next_run(*d.periods, t.deadline(), now);
    d.periods->runs_missed += left_out;
    missed_.add(left_out);
    if (d.periods->moved_to) next = *std::exchange(d.periods->moved_to, std::nullopt);
  }
  if (left_out != 0 && book_.observed()) {
    unlock(n, running, running);
    book_.tell_missed(t, left_out);
    lock(n);
  }
  // seq_cst: see invariant 5
  if (again && !t.is_cancelled() && stage_.load(std::memory_order_seq_cst) == stage::open) {
    const std::uint32_t to = std::exchange(d.paused, false) ? paused : armed;
    const nanoseconds left = std::max(time_between(now, next), nanoseconds(0));
    // relaxed: locked
    n.deadline.store(to == paused ? left.count() : count_of(next), std::memory_order_relaxed);
    n.packed = t.pack(nodes_.closure(index));
    // Who cancels it, or lets go of its last handle, may do so before it is in the inbox.
    n.word.fetch_add(one_handle, std::memory_order_relaxed);  // relaxed: locked
    timer_place kept(*this, {0, index});
    unlock(n, running, to);
    if (to == armed) enqueue(index, count_of(next));
    // seq_cst: as above
    if (stage_.load(std::memory_order_seq_cst) != stage::open) {
      take(index, in(armed) | in(paused), [this](task& last, bool) { cancel_taken(last); });
      wake();
    }
    return;
  }
  const timer_place kept = begin_end(n, index);
  if (again) {
    cancel_taken(t);
  } else if (result == run_result::finished || result == run_result::failed) {
    finished_.add();
  } else {
    cancelled_.add();
  }
  t = task();
  end_running(n);
}

// A run was the last. Without the lock after that: its closure and its future may use handles.
timer_place wheel_core::begin_end(timer_node& n, std::uint32_t index) noexcept {
  nodes_.details(index).series = nullptr;
  n.word.fetch_add(one_handle, std::memory_order_relaxed);  // relaxed: locked
  unlock(n, running, running);
  return {*this, {0, index}};
}

void wheel_core::end_running(timer_node& n) noexcept {
  lock(n);
  unlock(n, running, ended);
  // seq_cst: see invariant 5
  if (stage_.load(std::memory_order_seq_cst) != stage::open) wake();
}

// The executor has let go of a run without having run it.
void wheel_core::drop_run(std::uint32_t index) noexcept {
  timer_node& n = nodes_[index];
  lock(n);
  task t = take_task(n, index, false);
  const timer_place kept = begin_end(n, index);
  rejected_.add();
  book_.tell(task_event::kind::rejected, t);
  t.reject(rejection::discarded);
  end_running(n);
}

// --- the end

// Takes the task out of its place. A paused one gets the deadline that it would have now.
task wheel_core::take_task(timer_node& n, std::uint32_t index, bool is_paused) noexcept {
  task t = task::unpack(nodes_.closure(index), n.packed);
  time_point deadline = deadline_of(n);
  if (is_paused || n.relative) {
    deadline = deadline_after(time_.now(), deadline.time_since_epoch());
  }
  t.set_deadline(deadline);
  t.set_id(std::uint64_t{index} + 1);
  if (n.has_more) {
    const timer_details& d = nodes_.details(index);
    t.set_name(d.name);
    if (d.id != 0) t.set_id(d.id);
  }
  return t;
}

// Ends one, if it is in one of these phases: calls end(task, run_at_close).
template <class End>
bool wheel_core::take(std::uint32_t index, std::uint32_t phases, End end) noexcept {
  timer_node& n = nodes_[index];
  if (!try_lock(n, phases)) return false;
  const std::uint32_t phase = n.word.load(std::memory_order_relaxed) & phase_bits;  // relaxed: ours
  task t = take_task(n, index, phase == paused);
  const bool marked = n.run_at_close;
  unlock_ended(n, index, phase);
  end(t, marked);
  return true;
}

// All that wait, the earliest first. After stage_ is no longer open.
template <class End>
void wheel_core::take_all(End end) noexcept {
  std::array<timer_id, 64> found;
  std::size_t count = 0;
  const time_point now = time_.now();
  {
    const mutex_lock lock(mu_);
    count = due_count_;
    std::copy_n(due_.begin(), count, found.begin());
  }
  // What the timer thread has not come to, and not another timer in its place.
  for (std::size_t i = 0; i < count; ++i) {
    if (deadline_of(nodes_[found[i].index]) <= now) take(found[i].index, in(armed), end);
  }
  do {
    {
      const mutex_lock lock(mu_);
      while (!take_in()) sync::yield();
      count = order_.advance(std::numeric_limits<std::uint64_t>::max() - 1, found);
    }
    for (std::size_t i = 0; i < count; ++i) take(found[i].index, in(armed), end);
  } while (count != 0);
  // What is paused, and what was about to be added.
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) take(i, in(armed) | in(paused), end);
}

void wheel_core::cancel_taken(task& t) noexcept {
  cancelled_.add();
  book_.tell(task_event::kind::cancelled, t);
  t.cancel();
}

bool wheel_core::set_stage(stage to) noexcept {
  stage from = stage_.load(std::memory_order_seq_cst);  // seq_cst, both: see invariant 5
  while (from < to) {
    if (stage_.compare_exchange_weak(from, to, std::memory_order_seq_cst)) return true;
  }
  return false;
}

// After shutdown.
void wheel_core::end_series_and_paused() noexcept {
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    timer_node& n = nodes_[i];
    if (!try_lock(n, in(armed) | in(paused))) continue;
    const std::uint32_t phase = n.word.load(std::memory_order_relaxed) & phase_bits;  // relaxed
    const bool series = n.has_more && nodes_.details(i).periods != nullptr;
    if (phase == armed && !series) {
      unlock(n, phase, phase);
      continue;
    }
    task t = take_task(n, i, phase == paused);
    unlock_ended(n, i, phase);
    cancel_taken(t);
  }
  wake();
}

void wheel_core::shutdown() noexcept {
  life_.advance_to(life_state::shutdown);
  if (!set_stage(stage::closed)) return;
  end_series_and_paused();
}

void wheel_core::ask_series_to_stop() noexcept {
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t i = 0; i < places; ++i) {
    timer_node& n = nodes_[i];
    if (!try_lock(n, in(running))) continue;
    future_core* const found = nodes_.details(i).series;
    if (found != nullptr) found->retain();
    const state_ref<future_core> series(found);
    unlock(n, running, running);
    if (series) series->request_stop();
  }
}

task_list wheel_core::stop(bool give_back) noexcept {
  task_list rest;
  const bool holds = life_.add_worker();  // it does not end before what waits has
  life_.advance_to(life_state::stop);
  set_stage(stage::stopped);
  wake();
  ask_series_to_stop();
  take_all([&](task& t, bool /*marked*/) {
    t.end_periods();
    if (!give_back || t.is_cancelled() || resume_point::is_in(t)) {
      cancel_taken(t);
    } else if (book_.keep(t, rest) == 0) {
      book_.give_back(rest.back());
      returned_.add();
    } else {
      cancelled_.add();
    }
  });
  if (holds) life_.remove_worker();
  if (life_.try_tidy(true)) life_.terminate();
  return rest;
}

task_list wheel_core::close(at_close what, nanoseconds time_out) {
  throw_if_own_task();
  const time_point until = deadline_after(time_.now(), time_out);
  const bool holds = life_.add_worker();
  life_.advance_to(life_state::stop);
  set_stage(stage::stopped);
  wake();
  const bool ended_in_time = thread_ended_.wait_until(until);
  task_list rest;
  if (ended_in_time) {
    ask_series_to_stop();
    take_all([&](task& t, bool marked) {
      t.end_periods();
      const bool unwanted = t.is_cancelled() || resume_point::is_in(t);
      const bool runs = what == at_close::run_all || (what == at_close::run_marked && marked);
      if (!unwanted && runs) {
        const run_result result = book_.run(t, life_, nullptr);
        if (result == run_result::failed) failed_.add();
        if (result == run_result::cancelled_within) ran_.add();
        (result < run_result::cancelled_before ? finished_ : cancelled_).add();
      } else if (!unwanted && what == at_close::give_back && book_.keep(t, rest) == 0) {
        book_.give_back(rest.back());
        returned_.add();
      } else if (t) {
        cancel_taken(t);
      } else {
        cancelled_.add();
      }
    });
  }
  if (holds) life_.remove_worker();
  if (life_.try_tidy(true)) life_.terminate();
  if (!ended_in_time) {
    throw std::system_error(std::make_error_code(std::errc::timed_out),
                            "takt::wheel_scheduler: the timer thread has not ended within " +
                                std::to_string(time_out.count()) + " ns");
  }
  return rest;
}

void wheel_core::throw_if_own_task() const {
  if (thread_.get_id() != sync::this_thread_id()) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::wheel_scheduler: its timer thread would wait for itself");
}

void wheel_core::destroy() noexcept {
  // After fork() the thread is not in this process, and the mutex is in no known state.
  if (os::process_id() != process_) return;
  static_cast<void>(stop(false));
  // acquire: those who have cancelled tasks have told the observer, which may go after that
  while (telling_.load(std::memory_order_acquire) != 0) sync::yield();
  if (thread_.get_id() == sync::this_thread_id()) {
    thread_.detach();
  } else if (thread_.joinable()) {
    thread_.join();
  }
  release();
}

task_totals wheel_core::totals() const noexcept {
  task_totals all;
  // Ends first: none has more of them than submissions.
  const std::uint64_t refused = refused_.value();
  all.rejected = rejected_.value() + refused;
  all.ran = ran_.value();
  all.finished = finished_.value() + handed_over_.value() - refused;
  all.failed = failed_.value();
  all.cancelled = cancelled_.value();
  all.returned = returned_.value();
  all.missed = missed_.value();
  all.started = all.finished + all.ran;
  all.submitted = nodes_.claims() + more_submitted_.value();
  return all;
}

}  // namespace takt::inline TAKT_ABI
