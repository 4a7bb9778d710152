#include "delay_queue.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include <takt/base/detail/assert.hpp>
#include <takt/exec/executor.hpp>
#include <takt/timer/detail/timer_key.hpp>

#include "timer_math.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

using std::chrono::nanoseconds;

}  // namespace

// Of what is retired nothing is left to destroy.
delay_queue::~delay_queue() {
  const mutex_lock lock(mu_);  // nobody else is here; for the analysis
  const mutex_lock adding(adding_);
  reuse_retired();
}

void delay_queue::attach(delayed_tasks_owner& owner) noexcept {
  owner_ = &owner;
  observed_ = owner.harness().observed();
}

// For calls without a lock, which who asks has. There is one as long as a task waits.
intrusive_ptr<delayed_tasks_owner> delay_queue::owner() const noexcept {
  owner_->retain();
  return intrusive_ptr<delayed_tasks_owner>(owner_);
}

clock::time_point delay_queue::next_in_order() const noexcept { return timer_time(order_.next()); }

void delay_queue::changed() noexcept { publish(next_in_order(), waiting_ + running_ != 0); }

void delay_queue::number(task& t) noexcept { t.set_id(first_id | ++submitted_); }

clock::time_point delay_queue::key_of(const entry& e) noexcept {
  return e.paused ? time_point::max() : rounded(e.work.deadline(), e.slack_bits);
}

// Whether somebody looks by himself when that is due.
bool delay_queue::is_attended(time_point due) const noexcept {
  const mutex_lock lock(adding_);
  return due >= attention_;
}

// Gives one that waits another deadline. True if the pool has to be told.
bool delay_queue::move(timer_id id, entry& e, time_point due) noexcept {
  e.work.set_deadline(due);
  e.left_out = false;
  order_.remove(id.index);
  order_.add(id.index, timer_key(key_of(e)));
  changed();
  return !is_attended(key_of(e));
}

// The task of one that waits, to be ended; with its deadline as if it were not paused.
void delay_queue::take_out(entry& e, task& t) noexcept {
  t = std::move(e.work);
  if (e.paused) t.set_deadline(deadline_after(time_.now(), t.deadline().time_since_epoch()));
  --waiting_;
}

// --- those who add

// For a handle.
void delay_queue::take_hold() noexcept {
  if (holds_ == 0) retain(holds_ = most_holds);
  --holds_;
}

// After which there is a free place, and room for an arrival, unless others take them first.
void delay_queue::make_room() {
  const mutex_lock lock(mu_);
  const mutex_lock adding(adding_);
  take_in();
  reuse_retired();
  if (!table_.full()) return;
  constexpr std::size_t step = slot_map<entry>::step;
  const std::size_t added = std::clamp(table_.places() / 8, step, 16 * step);
  arrivals_.reserve(std::min(added, most_arrivals));
  for (const std::size_t end = table_.places() + added; table_.places() < end; table_.grow()) {
    order_.reserve(table_.places() + step);
  }
}

// Whoever depends on the order calls this first.
void delay_queue::settle() noexcept {
  if (!arrives()) return;
  const mutex_lock adding(adding_);
  take_in();
}

void delay_queue::take_in() noexcept {
  if (arrivals_.empty()) return;
  waiting_ += arrivals_.size();
  for (const arrival& a : arrivals_) order_.add(a.index, timer_key(a.key));
  arrivals_.clear();
  changed();
  publish_none_arrives();
}

// Makes the entry gone, and takes it out of the order.
void delay_queue::remove(std::uint32_t index) noexcept {
  order_.remove(index);
  table_.retire(index);
  retired_[retired_count_++] = index;
  if (retired_count_ != most_retired) return;
  const mutex_lock adding(adding_);
  reuse_retired();
}

void delay_queue::reuse_retired() noexcept {
  while (retired_count_ != 0) table_.reuse(retired_[--retired_count_]);
}

timer_ref delay_queue::add(const due_time& asked, task& t, const timer_request& options) {
  const time_point due = asked.on(time_);
  const std::uint8_t bits = slack_bits(options.slack);
  const time_point key = rounded(due, bits);
  if (future_core* state = t.state()) state->set_home(owner_);
  t.set_deadline(due);
  if (observed_) {
    {
      const mutex_lock lock(adding_);
      number(t);
    }
    owner_->harness().report(task_event::kind::submitted, t);
  }
  timer_ref made;
  bool refused = false;
  intrusive_ptr<delayed_tasks_owner> kept;  // if it is to be called: the task may destroy it before
  try {
    mutex_lock lock(adding_);
    if (!observed_) number(t);
    while (open_ && (table_.full() || arrivals_.size() == arrivals_.capacity())) {
      lock.unlock();
      make_room();
      lock.lock();
    }
    refused = !open_;
    if (!refused) {
      TAKT_ASSERT(arrivals_.size() < arrivals_.capacity());
      const timer_id id = table_.add(std::move(t), options.periods, bits);
      arrivals_.push_back({key, id.index});
      table_.prefetch_free();
      take_hold();
      made = timer_ref(*this, id);
      if (options.place != nullptr) *options.place = made;
      publish_arrival(key);
      // What is never due has a thread as well, for when it is moved: that cannot be refused.
      if (key < attention_ || attention_ == time_point::max()) kept = owner();
    } else {
      ++rejected_;
    }
  } catch (...) {  // there is no memory
    {
      const mutex_lock lock(adding_);
      ++rejected_;
    }
    owner_->harness().report(task_event::kind::rejected, t);
    throw;
  }
  auto why = rejection::shut_down;
  bool drained = false;
  if (kept && !kept->wake_for_delayed()) {
    const mutex_lock lock(mu_);
    settle();
    why = rejection::no_thread;
    entry* const e = table_.look_up(made.id());
    refused = e != nullptr && e->work;
    if (refused) {
      t = std::move(e->work);
      remove(made.id().index);
      --waiting_;
      {
        const mutex_lock adding(adding_);
        ++rejected_;
      }
      changed();
      drained = stage_ == stage::closed && waiting_ + running_ == 0;
    }
  }
  if (!refused) return made;
  // NOLINTNEXTLINE(bugprone-use-after-move): what is refused was not moved, or is back
  owner_->harness().report(task_event::kind::rejected, t);
  t.reject(why);
  if (drained) owner_->on_delayed_empty();
  throw rejected(why);
}

// --- for handles

// Takes it out, if it waits. What it does, if it does not, is told.
cancel_result delay_queue::cancel(timer_id id) noexcept {
  task t;
  intrusive_ptr<delayed_tasks_owner> kept;
  bool closed = false;
  bool emptied = false;
  {
    const mutex_lock lock(mu_);
    settle();
    entry* const e = table_.look_up(id);
    if (e == nullptr) return cancel_result::done;
    if (!e->work) return e->running ? cancel_result::running : cancel_result::done;
    if (observed_ || !e->work.is_plain()) {
      take_out(*e, t);
    } else {
      --waiting_;
    }
    remove(id.index);
    ++cancelled_;
    closed = stage_ == stage::closed;
    if (closed) ++running_;  // the pool does not end before it has
    changed();
    emptied = must_report_empty();
    if (closed || observed_ || emptied) kept = owner();
    if (observed_) ++telling_;
  }
  if (observed_) {
    kept->harness().report(task_event::kind::cancelled, t);
    const mutex_lock lock(mu_);
    --telling_;
    told_.notify_all();
  }
  t.cancel();
  if (closed) {
    const mutex_lock lock(mu_);
    --running_;
    changed();
    emptied = waiting_ + running_ == 0;
  }
  if (emptied) kept->on_delayed_empty();
  return cancel_result::prevented;
}

bool delay_queue::reschedule(timer_id id, const due_time& due) noexcept {
  intrusive_ptr<delayed_tasks_owner> kept;
  {
    const mutex_lock lock(mu_);
    settle();
    entry* const e = table_.look_up(id);
    if (e == nullptr || stage_ == stage::stopped) return false;
    const time_point next = due.on(time_);
    if (!may_wait(*e, next)) return false;
    e->paused = false;
    if (e->running) {
      if (e->periods == nullptr) return false;
      e->periods->moved_to = next;
      return true;
    }
    if (move(id, *e, next)) kept = owner();
  }
  if (kept) kept->wake_for_delayed();
  return true;
}

bool delay_queue::pause(timer_id id) noexcept {
  const mutex_lock lock(mu_);
  settle();
  entry* const e = table_.look_up(id);
  if (e == nullptr || stage_ != stage::open || e->paused) return false;
  if (e->running && e->periods == nullptr) return false;
  e->paused = true;
  if (!e->running) {
    const time_point due = e->work.deadline();
    const nanoseconds left = std::max(time_between(time_.now(), due), nanoseconds(0));
    static_cast<void>(move(id, *e, time_point(left)));
  }
  return true;
}

bool delay_queue::resume(timer_id id) noexcept {
  intrusive_ptr<delayed_tasks_owner> kept;
  {
    const mutex_lock lock(mu_);
    settle();
    entry* const e = table_.look_up(id);
    if (e == nullptr || !e->paused || stage_ == stage::stopped) return false;
    e->paused = false;
    if (e->running) return may_wait(*e, time_point());
    const nanoseconds left = e->work.deadline().time_since_epoch();
    if (move(id, *e, deadline_after(time_.now(), left))) kept = owner();
  }
  if (kept) kept->wake_for_delayed();
  return true;
}

clock::time_point delay_queue::next_time(timer_id id) noexcept {
  const mutex_lock lock(mu_);
  settle();
  const entry* const e = table_.look_up(id);
  return e == nullptr || !e->work || e->paused ? time_point::max() : e->work.deadline();
}

nanoseconds delay_queue::time_left(timer_id id) noexcept {
  const mutex_lock lock(mu_);
  settle();
  const entry* const e = table_.look_up(id);
  if (e == nullptr || !e->work || e->paused) return never;
  return time_between(time_.now(), e->work.deadline());
}

period_state delay_queue::look_at(timer_id /*id*/, const period_state& periods) noexcept {
  const mutex_lock lock(mu_);
  return periods;
}

void delay_queue::change_period(timer_id /*id*/, period_state& periods,
                                nanoseconds period) noexcept {
  const mutex_lock lock(mu_);
  periods.period = period;
}

// --- for workers

bool delay_queue::take_due(time_point now, task& t, ticket& which) noexcept {
  const mutex_lock lock(mu_);
  if (arriving() < next_in_order()) settle();
  reached_ = std::max(reached_, now);
  const std::uint64_t until = timer_key(std::min(reached_, time_point::max() - nanoseconds(1)));
  bool found = false;
  timer_id id;
  while (!found && order_.advance(until, std::span(&id, 1)) == 1) {
    entry& e = table_.value(id.index);
    found = stage_ == stage::open || goes_on(e, reached_);
    e.left_out = !found;  // for who has closed it, and will come to it
    if (!found) continue;
    t = std::move(e.work);
    e.running = true;
    --waiting_;
    ++running_;
    if (e.periods != nullptr) ++e.periods->runs;
    which = {id.index};
  }
  changed();
  order_.for_new_near([this](std::uint32_t index) { table_.prefetch(index); });
  return found;
}

void delay_queue::after_run(const ticket& which, task& t, run_result result,
                            const task_harness& harness) noexcept {
  const bool again = result >= run_result::again;
  const time_point now = again ? time_.now() : time_point();
  mutex_lock lock(mu_);
  entry& e = table_.value(which.index);
  time_point next;
  if (again) {
    std::uint64_t missed = 0;
    std::tie(next, missed) = next_run(*e.periods, t.deadline(), now);
    if (result == run_result::skipped) {
      --e.periods->runs;
      ++missed;
    }
    if (missed != 0) {
      e.periods->runs_missed += missed;
      missed_ += missed;
      lock.unlock();  // the entry is this worker's as long as it runs
      harness.report_missed(t, missed);
      lock.lock();
    }
  }
  --running_;
  e.running = false;
  // Who has cancelled it in between has left it to this worker.
  if (again && e.periods->moved_to) next = *std::exchange(e.periods->moved_to, std::nullopt);
  const bool goes_on = again && !t.is_cancelled() && may_wait(e, next);
  if (goes_on) {
    // What was left when it was paused is what is left now.
    if (e.paused) next = time_point(std::max(time_between(now, next), nanoseconds(0)));
    e.work = std::move(t);
    e.work.set_deadline(next);
    ++waiting_;
    order_.add_again(which.index, timer_key(key_of(e)));
    changed();  // the worker will look itself
    return;
  }
  remove(which.index);
  changed();
  const bool emptied = must_report_empty();
  if (again) ++cancelled_;
  lock.unlock();
  if (again) {
    harness.report(task_event::kind::cancelled, t);
    t.cancel();
  }
  if (emptied) owner_->on_delayed_empty();
}

void delay_queue::set_wakeup_deadline(time_point until) noexcept {
  if (until == last_attention_) return;
  last_attention_ = until;
  const mutex_lock lock(adding_);
  attention_ = until;
}

clock::time_point delay_queue::watch_next(bool wakes_for_all) noexcept {
  const mutex_lock lock(mu_);
  const mutex_lock adding(adding_);
  take_in();
  const time_point next = next_in_order();
  last_attention_ = attention_ = wakes_for_all ? time_point::max() : next;
  return next;
}

bool delay_queue::report_empty() noexcept {
  const mutex_lock lock(mu_);
  settle();
  changed();
  reports_empty_ = waiting_ + running_ != 0;
  return reports_empty_;
}

bool delay_queue::must_report_empty() noexcept {
  return waiting_ + running_ == 0 && std::exchange(reports_empty_, false);
}

bool delay_queue::empty() const noexcept {
  const mutex_lock lock(mu_);
  return waiting_ + running_ == 0 && !arrives();
}

std::size_t delay_queue::size() const noexcept {
  const mutex_lock lock(mu_);
  const mutex_lock adding(adding_);
  return waiting_ + arrivals_.size();
}

void delay_queue::add_counts_to(task_totals& totals) const noexcept {
  const mutex_lock lock(mu_);
  const mutex_lock adding(adding_);
  totals.submitted += submitted_;
  totals.cancelled += cancelled_;
  totals.returned += returned_;
  totals.rejected += rejected_;
  totals.missed += missed_;
}

// --- the end

// Whether it may be given that deadline.
bool delay_queue::may_wait(const entry& e, time_point due) const noexcept {
  if (stage_ != stage::closed) return stage_ == stage::open;
  if (e.paused || due == time_point::max()) return false;
  return e.periods != nullptr ? keep_.periodic : keep_.delayed;
}

// Whether one that waits is still to be run after shutdown. What has no time to come is not.
bool delay_queue::goes_on(const entry& e, time_point now) const noexcept {
  if (e.paused || e.work.deadline() == time_point::max()) return false;
  return e.periods != nullptr ? keep_.periodic : keep_.delayed || e.work.deadline() <= now;
}

// Takes some of those that wait, from a place on which moves on, as long as there are more.
template <class Wanted>
std::size_t delay_queue::take_some(std::uint32_t& from, batch& taken, Wanted wanted) noexcept {
  {
    const mutex_lock adding(adding_);
    reuse_retired();  // else it comes upon those
  }
  std::size_t count = 0;
  while (count < taken.size()) {
    const timer_id id = table_.find_from(from);
    if (id.generation == 0) break;
    from = id.index + 1;
    entry& e = *table_.look_up(id);
    if (!e.work || !wanted(id, e)) continue;
    take_out(e, taken[count++]);
    // In the end it stays, without its task: to take it out of the order is of no use then.
    if (stage_ != stage::stopped) remove(id.index);
  }
  changed();
  return count;
}

void delay_queue::close(bool stops) noexcept {
  const mutex_lock lock(mu_);
  const mutex_lock adding(adding_);
  open_ = false;
  give_up(std::exchange(holds_, 0));
  take_in();
  stage_ = std::max(stage_, stops ? stage::stopped : stage::closed);
}

// Cancels those that are not to be run after shutdown; and brings back those that a worker has left
// out because of that, and that are to be run now.
void delay_queue::cancel_unwanted() noexcept {
  batch taken;
  std::uint32_t from = 0;
  bool attend = false;
  std::size_t count = 0;
  do {
    const time_point now = time_.now();
    const auto unwanted = [&](timer_id id, entry& e) TAKT_REQUIRES(mu_) {
      if (!goes_on(e, now)) return true;
      if (e.left_out) attend |= move(id, e, e.work.deadline());
      return false;
    };
    {
      const mutex_lock lock(mu_);
      if (stage_ != stage::closed) return;
      count = take_some(from, taken, unwanted);
      cancelled_ += count;
    }
    for (task& t : std::span(taken).first(count)) {
      owner_->harness().report(task_event::kind::cancelled, t);
      t.cancel();
    }
  } while (count != 0);
  if (attend) owner_->wake_for_delayed();
}

void delay_queue::keep_after_shutdown(after_shutdown keep) noexcept {
  {
    const mutex_lock lock(mu_);
    keep_ = keep;
  }
  cancel_unwanted();
}

after_shutdown delay_queue::kept_after_shutdown() const noexcept {
  const mutex_lock lock(mu_);
  return keep_;
}

void delay_queue::stop(task_list& unstarted, bool give_back) noexcept {
  batch taken;
  std::uint32_t from = 0;
  for (;;) {
    std::size_t count = 0;
    {
      const mutex_lock lock(mu_);
      count = take_some(from, taken, [](timer_id, const entry&) { return true; });
    }
    if (count == 0) return;
    std::size_t returned = 0;
    for (task& t : std::span(taken).first(count)) {
      t.end_periods();
      const bool unwanted = t.is_cancelled() || resume_point::is_in(t);
      if (give_back && !unwanted && owner_->harness().keep_or_cancel(t, unstarted) == 0) {
        owner_->harness().mark_returned(unstarted.back());
        ++returned;
      } else if (t) {
        owner_->harness().report(task_event::kind::cancelled, t);
        t.cancel();
      }
    }
    const mutex_lock lock(mu_);
    returned_ += returned;
    cancelled_ += count - returned;
  }
}

void delay_queue::await_reports() noexcept {
  mutex_lock lock(mu_);
  while (telling_ != 0) told_.wait_until(lock, time_, time_point::max());
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
