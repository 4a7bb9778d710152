// The timer thread, and the runs of series that it hands over.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "../base/os.hpp"
#include "timer_math.hpp"
#include "wheel_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

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

}  // namespace
}  // namespace detail

template <>
inline constexpr bool moves_as_bytes<detail::series_run> = true;

namespace detail {

void wheel_core::run() noexcept {
  os::set_thread_name(options_.name, 0);
  if (options_.thread.nice != 0) os::set_thread_nice(os::thread_nice() + options_.thread.nice);
  if (!options_.thread.cpus.empty()) os::set_thread_cpus(options_.thread.cpus);
  os::wake_without_slack();
  if (options_.thread.on_start != nullptr) options_.thread.on_start();
  while (!has_ended()) {
    if (!hand_over_due()) sleep();
  }
  if (options_.thread.on_exit != nullptr) options_.thread.on_exit();
  life_.remove_worker();
  end_if_over();
  thread_end_.set_value();
  release();
}

bool wheel_core::has_ended() noexcept {
  const stage now = stage_.load(std::memory_order_seq_cst);  // seq_cst: see invariant 5
  if (now != stage::closed) return now == stage::stopped;
  {
    const mutex_lock lock(mu_);
    if (!take_in()) return false;  // what was accepted before that is seen below
  }
  const std::uint32_t places = nodes_.places();
  for (std::uint32_t looked = 0; looked < places; ++looked) {
    if (nodes_[pending_at_].is_in(waits | node::in(node::running))) return false;
    pending_at_ = pending_at_ + 1 == places ? 0 : pending_at_ + 1;
  }
  return true;
}

// \return whether something was due.
bool wheel_core::hand_over_due() noexcept {
  constexpr std::size_t ahead = 8;
  std::size_t count = 0;
  bool complete = true;
  const time_point now = time_.now();
  const std::uint64_t key = key_at(now);
  passed_.store(count_of(now), std::memory_order_relaxed);  // relaxed: any time that has passed
  {
    const mutex_lock lock(mu_);
    if (options_.stamp == timer_stamp::timer && inbox_.has_open() && now >= stamps_from_) {
      bool ended = false;
      while (complete && !ended) {
        ended = inbox_.end_part([this] { return stamp(); });
        if (!ended) complete = take_in(timer_inbox::how_far::one_part);
      }
      if (ended) {
        stamps_from_ = deadline_after(now, options_.tick);
        was_asked_ = true;
      }
    }
    // seq_cst: see invariant 4
    const time_point least{nanoseconds(least_.load(std::memory_order_seq_cst))};
    if (key_of(least) <= key) complete = take_in();
    count = order_.advance(key, due_);
    due_count_ = count;
  }
  if (!complete) sync::yield();  // somebody is about to fill a gap
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) nodes_.prefetch(due_[i].index);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) nodes_.prefetch(due_[i + ahead].index);
    // relaxed: who stops it takes what is left, whoever comes first
    if (stage_.load(std::memory_order_relaxed) == stage::stopped) break;
    fire(due_[i].index, now, key);
  }
  hand_over_batch();
  return count != 0 || !complete;
}

// `key` is that of now.
void wheel_core::fire(std::uint32_t index, time_point now, std::uint64_t key) noexcept {
  timer_node& n = nodes_[index];
  if (!n.try_lock(node::in(node::armed))) return;
  const time_point deadline = deadline_of(n);
  const bool in_inbox = n.begins_with != 0;  // it is another one
  if (in_inbox || key_of(hand_over_time(n)) > key) {
    n.unlock(node::armed);
    if (in_inbox) return;
    const mutex_lock lock(mu_);
    place(index, 0, nullptr);  // it was moved, or is another one
    return;
  }
  any_executor executor = n.executor;
  period_state* const periods = n.has_more ? nodes_.details(index).periods : nullptr;
  const bool joins_batch = periods == nullptr && executor.takes_many() && !harness_.observed();
  const bool has_room = batch_count_ != batch_.size() && executor == batch_for_;
  if (batch_count_ != 0 && !(joins_batch && has_room)) {
    n.unlock(node::armed);  // what runs now may use its handles
    hand_over_batch();
    fire(index, now, key);
    return;
  }
  lateness_.record(time_between(deadline, now));
  if (joins_batch) {
    batch_for_ = executor;
    batch_[batch_count_++] = take_task(n, index, false);
    end_locked(n, index);
    return;
  }
  if (periods == nullptr) {
    task t = take_task(n, index, false);
    const bool seen = t.has_future();
    end_locked(n, index);
    handed_over_.add();
    give_reporting(t, executor, seen);
    return;
  }
  ++periods->runs;
  n.unlock(node::running);
  try {
    executor.execute(run_of(index));
  } catch (const rejected&) {  // NOLINT(bugprone-empty-catch): drop_run() has seen to it
  } catch (...) {
    options_.unhandled->on_unhandled(unhandled::uncaught, std::current_exception());
  }
}

// Gives what has been taken for one executor to that.
void wheel_core::hand_over_batch() noexcept {
  const std::span<task> all(batch_.data(), std::exchange(batch_count_, 0));
  if (all.empty()) return;
  handed_over_.add(all.size());
  std::size_t given = 0;
  while (given != all.size()) {
    given += batch_for_.try_execute(all.subspan(given));
    if (given == all.size()) return;
    task t = std::move(all[given++]);
    const bool seen = t.has_future();
    give_reporting(t, batch_for_, seen);
  }
}

// Gives what runs once to its executor. \throws what that throws.
void wheel_core::hand_over(task& t, any_executor& executor) {
  handed_over_.add();
  give(t, executor);
}

void wheel_core::give(task& t, any_executor& executor) {
  task told;
  told.describe_as(t);
  std::optional<task_event> event = harness_.report_started(t);
  try {
    executor.execute(std::move(t));
  } catch (const rejected&) {
    refused_.add();
    harness_.report_ended(event, run_result::again);
    harness_.report(task_event::kind::rejected, told);
    throw;
  } catch (...) {
    failed_.add();
    harness_.report_ended(event, run_result::failed);
    throw;
  }
  harness_.report_ended(event, run_result::finished);
}

void wheel_core::give_reporting(task& t, any_executor& executor, bool seen) noexcept {
  try {
    give(t, executor);
  } catch (const rejected&) {
    if (!seen) options_.unhandled->on_unhandled(unhandled::unobserved, std::current_exception());
  } catch (...) {
    options_.unhandled->on_unhandled(unhandled::uncaught, std::current_exception());
  }
}

// Is there in time, if nobody has called before that.
void wheel_core::spin(time_point from, time_point until) const noexcept {
  constexpr nanoseconds close_by = std::chrono::microseconds(20);  // too near to let others run
  for (time_point now = time_.now(); from <= now && now < until; now = time_.now()) {
    // relaxed: what was added is found in the inbox
    if (attention_.load(std::memory_order_relaxed) == awake) return;
    if (stage_.load(std::memory_order_relaxed) != stage::open) return;
    if (until - now > close_by) sync::yield();
  }
}

// When there may be something to do.
std::uint64_t wheel_core::next_key() const noexcept {
  // seq_cst: see invariant 4
  const time_point least{nanoseconds(least_.load(std::memory_order_seq_cst))};
  return std::min(order_.next(), key_of(least));
}

// Nothing is due: waits until something is, or somebody calls.
void wheel_core::sleep() noexcept {
  const bool stamps = options_.stamp == timer_stamp::timer;
  time_point until;
  bool looks_again = false;
  {
    const mutex_lock lock(mu_);
    until = time_of(next_key());
    looks_again = stamps && (std::exchange(was_asked_, false) || inbox_.has_open());
  }
  std::int64_t attention = count_of(until);
  if (!options_.exact && until != time_point::max()) {
    attention = count_of(deadline_after(until, nanoseconds(1 - tick_)));
  }
  if (stamps) attention = count_of(time_point::max());
  if (looks_again) {
    // Delays that come meanwhile are stamped at the next tick, and nobody has to call for that.
    until = std::min(until, stamps_from_);
    attention = count_of(until);
  }
  attention_.store(attention, std::memory_order_seq_cst);  // seq_cst: see invariant 4
  bool earlier = false;
  {
    const mutex_lock lock(mu_);
    earlier = time_of(next_key()) < until || (stamps && !looks_again && inbox_.has_open());
  }
  // seq_cst: who changes it wakes this thread afterwards
  const bool goes_on = stage_.load(std::memory_order_seq_cst) == stage::open || !has_ended();
  if (!earlier && goes_on) {
    const time_point spins =
        until == time_point::max() ? until : deadline_after(until, -options_.spin);
    time_.park_until(wake_, spins);
    if (options_.spin > nanoseconds(0)) spin(spins, until);
  }
  attention_.store(awake, std::memory_order_seq_cst);
}

// --- series

// What an executor gets of a series that is running.
task wheel_core::run_of(std::uint32_t index) noexcept {
  const timer_details& d = nodes_.details(index);
  task run{series_run(*this, index)};
  run.set_name(d.name);
  run.set_deadline(deadline_of(nodes_[index]));
  return run;
}

// On the executor.
void wheel_core::run_series(std::uint32_t index) noexcept {
  timer_node& n = nodes_[index];
  task t = task::unpack(nodes_.closure(index), n.packed);
  const timer_details& d = nodes_.details(index);
  t.set_name(d.name);
  t.set_id(d.id);
  t.set_deadline(deadline_of(n));
  // seq_cst: who stops it asks all that run to stop, after that; so one sees the other
  if (stage_.load(std::memory_order_seq_cst) == stage::stopped) t.state()->request_stop();
  t.state()->retain();
  intrusive_ptr<future_core> state(t.state());
  const run_result result = run_task(t);
  end_run(index, t, result, std::move(state));
}

// `state` is there as long as the details name it: the run may have been the last to have it.
void wheel_core::end_run(std::uint32_t index, task& t, run_result result,
                         intrusive_ptr<future_core> state) noexcept {
  timer_node& n = nodes_[index];
  timer_details& d = nodes_.details(index);
  n.hold();
  const timer_ref kept(*this, id_of(n, index));  // and so the scheduler's inside, to the end
  const bool again = result == run_result::again;
  if (result == run_result::failed) failed_.add();
  if (result >= run_result::cancelled_within) ran_.add();
  if (!again) {
    (result == run_result::cancelled_within || result == run_result::cancelled_before ? cancelled_
                                                                                      : finished_)
        .add();
    n.lock();
    d.series = nullptr;
    n.unlock(node::running);
    t = task();
    state = {};
    end_running(n);
    return;
  }
  state = {};  // the task has it
  const time_point now = time_.now();
  n.lock();
  auto [next, left_out] = next_run(*d.periods, t.deadline(), now);
  if (left_out != 0) {
    d.periods->runs_missed += left_out;
    missed_.add(left_out);
    n.unlock(node::running);
    harness_.report_missed(t, left_out);
    n.lock();
  }
  if (d.periods->moved_to) next = *std::exchange(d.periods->moved_to, std::nullopt);
  // seq_cst: see invariant 5
  if (t.is_cancelled() || stage_.load(std::memory_order_seq_cst) != stage::open) {
    d.series = nullptr;
    n.unlock(node::running);  // its closure and its future may use handles; the wheel waits for it
    cancel_taken(t);
    end_running(n);
    return;
  }
  const node::phase to = std::exchange(d.paused, false) ? node::paused : node::armed;
  const nanoseconds left = std::max(time_between(now, next), nanoseconds(0));
  // relaxed: locked
  n.deadline.store(to == node::paused ? left.count() : count_of(next), std::memory_order_relaxed);
  n.packed = t.pack(nodes_.closure(index));
  const time_point due = hand_over_time(n);
  n.unlock(to);
  if (to == node::armed) enqueue(index, due);
  // seq_cst: as above
  if (stage_.load(std::memory_order_seq_cst) == stage::open) return;
  if (n.try_lock(waits)) {
    task last = take_task(n, index, n.locked_phase() == node::paused);
    d.series = nullptr;
    n.unlock(node::running);  // as above
    cancel_taken(last);
    end_running(n);
  }
  wake();
}

// The last run of a series is over, and its task gone. The caller has a handle.
void wheel_core::end_running(timer_node& n) noexcept {
  n.lock();
  n.unlock(node::ended);
  wake_if_closing();
}

// The executor has let go of a run without having run it.
void wheel_core::drop_run(std::uint32_t index) noexcept {
  timer_node& n = nodes_[index];
  n.hold();
  const timer_ref kept(*this, id_of(n, index));  // as in end_run()
  n.lock();
  task t = take_task(n, index, false);
  nodes_.details(index).series = nullptr;
  n.unlock(node::running);
  if (t.is_cancelled()) {
    cancel_taken(t);
  } else {
    rejected_.add();
    harness_.report(task_event::kind::rejected, t);
    t.reject(rejection::dropped);
  }
  end_running(n);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
