#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <takt/base/detail/assert.hpp>

#include "ending_guard.hpp"
#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

constexpr std::size_t largest_batch = 32;            // that a worker takes out of the queue at once
constexpr std::uint32_t global_queue_interval = 61;  // after so many tasks of its own; a prime
constexpr std::uint32_t oldest_interval = 30;  // of these, its own oldest instead of the newest

}  // namespace

pool_core::pool_core(thread_pool_options options, pool_extras extras)
    : options_(std::move(options)),
      decorate_(std::move(extras.decorate)),
      steals_(extras.steals),
      delayed_(extras.delayed),
      has_open_queue_(options_.queue_capacity == unbounded && options_.observer == nullptr),
      life_(*options_.time),
      core_(options_.core_threads),
      max_(options_.max_threads == 0 ? options_.core_threads : options_.max_threads),
      keep_alive_(options_.keep_alive),
      core_times_out_(options_.core_times_out),
      harness_(*options_.time, *options_.unhandled, options_.observer),
      queue_(options_.order) {}

pool_core::~pool_core() {
  const mutex_lock lock(mu_);  // nobody else is here; for the analysis
  while (vacant_.pop_front() != nullptr) {
  }
  worker* next = newest_.load(std::memory_order_relaxed);  // relaxed: nobody else is here
  while (next != nullptr) delete std::exchange(next, next->older);
  if (delayed_ != nullptr) delayed_->release();
}

// Those that are blocked do not count, unless the size is fixed.
void pool_core::set_limits() noexcept {
  core_limit_ = options_.resizable ? saturating_sum(core_, blocked_) : core_;
  max_limit_ = options_.resizable ? saturating_sum(max_, blocked_) : max_;
  publish_wake_state();
}

// --- coming and going

bool pool_core::start_worker() noexcept {
  // What is asked then may be gone: handles call this after the pool, too.
  if (life_.state() >= life_state::stop) return false;
  try {
    if (options_.thread.may_start != nullptr && !options_.thread.may_start()) return false;
    if (vacant_.empty()) {
      worker* const before = newest_.load(std::memory_order_relaxed);  // relaxed: under mu_
      const std::size_t number = before == nullptr ? 1 : before->number + 1;
      // One more each: what its owner adds while stop() takes out what is there.
      if (steals_) reserved_for_stop_.reserve(number * (local_capacity + 1));
      auto* const made = new worker(number, before, steals_);
      newest_.store(made, std::memory_order_release);  // release: the slot, to who searches
      vacant_.push_back(*made);
    }
    if (!life_.add_worker()) return false;
    worker& w = vacant_.front();
    // Nobody counts on one that has something to do first, which may take its time.
    w.searching = options_.thread.on_start == nullptr;
    retain();
    try {
      w.thread = sync::thread([this, &w] { work(w); });
    } catch (...) {
      w.searching = false;
      release();  // not the last: the caller has one
      life_.remove_worker();
      return false;
    }
    vacant_.erase(w);
    searching_ += w.searching ? 1U : 0U;
  } catch (...) {
    return false;
  }
  ++free_;
  room_.notify_one();
  publish_wake_state();
  largest_ = std::max(largest_, life_.workers());
  return true;
}

// An idle worker to be woken after unlocking, if one is needed. If none is idle, but one could be
// started, and tasks are added without looking at that, starts it.
pool_core::worker* pool_core::worker_to_wake() noexcept {
  if (!steals_ && idle_.empty() && queue_.is_open()) return nullptr;  // as with every task
  publish_wake_state();
  if (searching_ != 0) return nullptr;
  const bool unwatched = delayed_ != nullptr && free_ == 0;  // to look at the time
  if (idle_.empty() && (!(steals_ || unwatched) || life_.workers() >= core_limit_)) return nullptr;
  const bool delayed = delayed_ != nullptr && delayed_->next() < leader_until_;
  if (idle_.empty() && unwatched && !delayed) return nullptr;
  if (!delayed && queue_.empty() && local_queues_are_empty()) return nullptr;
  worker* to_wake = idle_.empty() ? nullptr : &idle_.front();
  if (delayed && leader_ != nullptr) to_wake = leader_;
  if (to_wake != nullptr) {
    leave_idle(*to_wake);
    to_wake->searching = true;
    ++searching_;
    publish_wake_state();
  } else {
    start_worker();
  }
  return to_wake;
}

// Has all idle workers look again.
void pool_core::wake_all_idle() noexcept {
  while (!idle_.empty()) {
    worker& w = idle_.front();
    leave_idle(w);
    w.wake.unpark();
  }
  publish_wake_state();
}

void pool_core::leave_idle(worker& w) noexcept {
  idle_.erase(w);
  if (leader_ != &w) return;
  leader_ = nullptr;
  leader_until_ = clock::time_point::max();
}

// If there is no leader, or that one would sleep too long, it becomes the leader, and sleeps no
// longer than that.
void pool_core::become_idle(worker& self, clock::time_point& deadline) noexcept {
  if (delayed_ != nullptr && leader_ == nullptr) {
    idle_.push_back(self);
    become_leader(self);
  } else {
    idle_.push_front(self);
  }
  publish_wake_state();
  // After the attention was set: who added an earlier one before may have counted on this worker.
  if (delayed_ == nullptr) return;
  if (leader_ != &self && searching_ == 0 && delayed_->next() < leader_until_) {
    idle_.erase(self);
    idle_.push_back(self);
    become_leader(self);
  }
  if (leader_ == &self) deadline = std::min(deadline, leader_until_);
}

void pool_core::become_leader(worker& self) noexcept {
  leader_ = &self;
  leader_until_ = delayed_->watch_next(!has_core_threads());
}

// After a change of idle_, searching_, the number of workers or the state. Who sets the alert looks
// into the rings, who closes the queue looks into the queue.
void pool_core::publish_wake_state() noexcept {
  const life_state state = life_.state();
  const std::size_t workers = life_.workers();
  const bool has_core = has_core_threads();
  queue_.set_open(has_open_queue_ && state == life_state::running && has_core &&
                  (searching_ != 0 || idle_.empty()));
  if (delayed_ != nullptr) {
    // Who is coming, or at work, looks anyway; and each one that is added is to start a worker
    // while there are too few.
    clock::time_point wakeup_deadline = leader_until_;
    if (searching_ != 0 || idle_.empty()) wakeup_deadline = clock::time_point::min();
    if (!has_core && state < life_state::stop) wakeup_deadline = clock::time_point::max();
    delayed_->set_wakeup_deadline(wakeup_deadline);
  }
  if (!steals_) return;
  const bool could_help = !idle_.empty() || workers < core_limit_;
  const std::uint32_t value =
      (searching_ == 0 && could_help ? sleeping : 0) | (state >= life_state::stop ? stopping : 0);
  if (wake_hint_.load(std::memory_order_relaxed) == value) return;  // relaxed: under mu_
  wake_hint_.store(value);                                          // seq_cst: see pool_core.hpp
}

bool pool_core::local_queues_are_empty() const noexcept {
  if (!steals_) return true;
  // acquire: the slots
  for (const worker* w = newest_.load(std::memory_order_acquire); w != nullptr; w = w->older) {
    if (!w->local->empty()) return false;
  }
  return true;
}

void pool_core::work(worker& self) noexcept {
  os::set_thread_name(options_.name, self.number);
  if (options_.thread.nice != 0) os::set_thread_nice(nice_);
  if (!options_.thread.cpus.empty()) os::set_thread_cpus(options_.thread.cpus);
  if (delayed_ != nullptr) os::wake_without_slack();
  if (options_.thread.on_start != nullptr) options_.thread.on_start();
  departure left;
  {
    const worker_scope here(*this, self);
    {
      task t;
      mutex_lock lock(mu_);
      if (std::exchange(self.searching, false)) --searching_;
      while (take(self, t)) {
        worker* const to_wake = worker_to_wake();
        lock.unlock();
        if (to_wake != nullptr) to_wake->wake.unpark();
        do {
          run_one(self, t);
        } while (take_local(self, t));
        lock.lock();
        ++free_;
        room_.notify_one();
      }
      left = depart(self);
    }
    if (left.to_wake != nullptr) left.to_wake->wake.unpark();
  }
  if (left.previous.joinable()) left.previous.join();
  if (options_.thread.on_exit != nullptr) options_.thread.on_exit();
  life_.release_hold();
  end_if_over();
  release();
}

void pool_core::run_one(worker& self, task& t) noexcept {
  const run_result result = run(t, &self.running);
  self.counts.count(result);
  if (std::exchange(self.runs_delayed, false))
    delayed_->after_run(self.ticket, t, result, harness_);
}

// The next task, if there is none in its own ring. False: this worker is not needed any more.
bool pool_core::take(worker& self, task& t) {
  clock::time_point idle_since = clock::time_point::max();  // not yet
  bool searched = !steals_;
  for (;;) {
    const life_state state = life_.state();
    const std::size_t workers = life_.workers();
    if (state >= life_state::stop) return false;
    const bool found = queue_.find();
    if (workers > max_limit_) {
      // One too many stays for what was accepted because it is free (3). The only one that does not
      // wait stays for what others may wait for, wherever that is.
      const bool needed = queue_.size() > saturating_sum(options_.queue_capacity, free_ - 1);
      const bool idle = !found && local_queues_are_empty() && !has_delayed();
      if (!needed && (workers - waiting_ > 1 || idle)) return false;
    }
    if (delayed_ != nullptr && take_delayed(self, t, found)) {
      --free_;
      return true;
    }
    if (found) {
      take_from_queue(self, t);
      --free_;
      return true;
    }
    if (!searched && searching_ == 0) {
      searched = true;
      ++searching_;
      stealing_ = true;
      publish_wake_state();
      mu_.unlock();
      const bool stolen = steal_from_others(self, t);
      mu_.lock();
      --searching_;
      stealing_ = false;
      if (life_.state() >= life_state::stop) workers_changed_.notify_all();
      if (!stolen) continue;
      --free_;
      return true;
    }
    if (state == life_state::shutdown && !has_delayed()) return false;
    clock::time_point deadline = clock::time_point::max();
    const bool times_out = core_times_out_ || workers > core_limit_;
    // The others are at work, or wait for something: it stays to look at the time.
    const bool only = free_ == 1;
    if (times_out && only && has_delayed()) {
      idle_since = clock::time_point::max();  // keep_alive begins when no delayed task is left
      if (!delayed_->report_empty()) continue;
    } else if (times_out) {
      const clock::time_point now = options_.time->now();
      idle_since = std::min(idle_since, now);
      deadline = deadline_after(idle_since, keep_alive_);
      if (now >= deadline) {
        if (!only || delayed_ == nullptr) return false;
        // Who added one before may have counted on this worker; who comes after calls another.
        delayed_->set_wakeup_deadline(clock::time_point::max());
        if (!has_delayed()) return false;
        continue;
      }
    }
    become_idle(self, deadline);
    if (searching_ != 0 || local_queues_are_empty()) {
      mu_.unlock();
      options_.time->park_until(self.wake, deadline);
      mu_.lock();
    }
    if (self.is_linked()) leave_idle(self);
    if (std::exchange(self.searching, false)) --searching_;
    searched = !steals_;
  }
}

// If one is due, and not behind what is first in the queue.
bool pool_core::take_delayed(worker& self, task& t, bool found) noexcept {
  const clock::time_point next = delayed_->next();
  if (next == clock::time_point::max()) return false;
  if (found && queue_.front().deadline() < next) return false;
  // What was queued after its deadline tells that this has come, or an earlier look at the clock.
  clock::time_point now = found ? queue_.front().deadline() : self.time;
  if (!found && now < next) now = self.time = options_.time->now();
  self.runs_delayed = next <= now && delayed_->take_due(now, t, self.ticket);
  return self.runs_delayed;
}

// The first one; and, for its ring, its share of what is left, so that it comes back less often.
void pool_core::take_from_queue(worker& self, task& t) noexcept {
  queue_.pop(t);
  if (!steals_ || options_.queue_capacity != unbounded) return;
  const std::size_t share = std::min(queue_.found() / life_.workers(), largest_batch - 1);
  for (std::size_t i = 0; i < share && self.local->has_room(); ++i) {
    queue_.pop(self.local->next_slot());
    self.local->add_next();  // see worker_to_wake(): it has the lock
  }
}

// The newest of its own; now and then its oldest, and the oldest that waits for anybody.
bool pool_core::take_local(worker& self, task& t) noexcept {
  // relaxed: it is a matter of when, and who sets it empties the ring
  if (!steals_ || (wake_hint_.load(std::memory_order_relaxed) & stopping) != 0) return false;
  if (++self.since_queue == global_queue_interval) {
    self.since_queue = 0;
    if (take_oldest(self, t)) return true;
  } else if (self.since_queue == oldest_interval && self.local->steal(t)) {
    return true;
  }
  t = self.local->pop();
  return static_cast<bool>(t);
}

bool pool_core::take_oldest(worker& self, task& t) noexcept {
  {
    const mutex_lock lock(mu_);
    if (life_.state() < life_state::stop && queue_.find()) {
      queue_.pop(t);
      room_.notify_one();
      return true;
    }
  }
  return self.local->steal(t);
}

// One task of another worker, and half of what it has for the own ring, which is empty. Of a task
// that is split only one part: it is the largest, and others wait for those that follow. For the
// same reason it is what is run first.
bool pool_core::steal_from_others(worker& self, task& t) noexcept {
  const auto steal_from = [&](const worker& victim) {
    bool child = false;
    if (!victim.local->steal(t, &child)) return false;
    // It may have grown meanwhile: the size is an estimate.
    for (std::size_t more = victim.local->size() / 2;
         more != 0 && !child && self.local->has_room() &&
         victim.local->steal(self.local->next_slot(), &child);
         --more) {
      if (child) std::swap(t, self.local->next_slot());
      self.local->add_next();  // it is coming, and will look itself
    }
    return true;
  };
  for (const worker* w = self.older; w != nullptr; w = w->older) {
    if (steal_from(*w)) return true;
  }
  // acquire: the slots
  for (const worker* w = newest_.load(std::memory_order_acquire); w != &self; w = w->older) {
    if (steal_from(*w)) return true;
  }
  return false;
}

// From here on it does not count, and its slot can be given to another.
pool_core::departure pool_core::depart(worker& self) noexcept {
  departure left;
  --free_;
  left.previous = std::exchange(unjoined_, sync::thread());
  if (orphaned_) {
    self.thread.detach();
  } else {
    unjoined_ = std::move(self.thread);
  }
  vacant_.push_front(self);
  [[maybe_unused]] const bool held = life_.hold();  // until its on_exit has returned
  TAKT_ASSERT(held);                                // as it is a worker
  life_.remove_worker();
  if (delayed_ != nullptr && life_.state() == life_state::shutdown && is_drained()) {
    wake_all_idle();  // it was not so when they became idle
  }
  left.to_wake = worker_to_wake();
  workers_changed_.notify_all();
  return left;
}

// --- tasks that wait

bool pool_core::begin_wait(task_wait& w) noexcept {
  const mutex_lock lock(mu_);
  const std::size_t workers = life_.workers();
  // Those that have just got what they wait for, and have not said so yet, are not stuck.
  std::size_t stuck = 0;
  if (waiting_ + 1 >= workers && w.depends_on(this)) {
    stuck = 1;
    for (const task_wait& other : waits_) stuck += other.depends_on(this) ? 1U : 0U;
  }
  if (stuck != 0 && stuck >= workers && (workers >= core_limit_ || !start_worker())) return false;
  ++waiting_;
  waits_.push_back(w);
  return true;
}

void pool_core::end_wait(task_wait& w) noexcept {
  const mutex_lock lock(mu_);
  waits_.erase(w);
  --waiting_;
}

void pool_core::begin_blocking() noexcept {
  const mutex_lock lock(mu_);
  ++blocked_;
  set_limits();
  // It may have set wake_hint_, and so looks into all rings.
  if (free_ == 0 && life_.workers() < core_limit_ &&
      (has_due() || !queue_.empty() || !local_queues_are_empty())) {
    start_worker();
  }
  room_.notify_one();  // it may start one for its task
}

void pool_core::end_blocking() noexcept {
  const mutex_lock lock(mu_);
  --blocked_;
  set_limits();
}

// --- the rest

std::size_t pool_core::prestart(std::size_t at_most) {
  const mutex_lock lock(mu_);
  std::size_t started = 0;
  while (started < at_most && life_.state() == life_state::running &&
         life_.workers() < core_limit_ && start_worker()) {
    ++started;
  }
  return started;
}

void pool_core::resize(std::size_t core, std::size_t max) {
  if (!options_.resizable) throw std::logic_error("takt: the size of this pool cannot be changed");
  const mutex_lock lock(mu_);
  core_ = core;
  max_ = max;
  set_limits();
  wake_all_idle();
  if (life_.state() >= life_state::stop) return;
  // As many as the queue needs.
  while (life_.workers() < core_limit_ && free_ < queue_.size() && start_worker()) {
  }
  if (free_ == 0 && life_.workers() < core_limit_ && has_due()) start_worker();
  room_.notify_all();  // more workers, more room
}

void pool_core::change_keep_alive(std::chrono::nanoseconds time, bool core_times_out) {
  const mutex_lock lock(mu_);
  keep_alive_ = time;
  core_times_out_ = core_times_out;
  wake_all_idle();
}

task pool_core::take_back(const future_core& state) {
  task_list taken;
  taken.reserve(1);  // or it would be left where it is, without a word
  {
    const mutex_lock lock(mu_);
    queue_.take_if([&](const task& t) { return t.state() == &state; }, taken);
    if (taken.empty()) return {};
    taken[0].state()->set_home(nullptr);
    ++harness_.totals.returned;
    room_.notify_one();
  }
  harness_.report(task_event::kind::returned, taken[0]);
  return std::move(taken[0]);
}

std::size_t pool_core::purge() {
  task_list taken;
  {
    const mutex_lock lock(mu_);
    queue_.take_if([](const task& t) { return t.is_cancelled(); }, taken);
    harness_.totals.cancelled += taken.size();
    room_.notify_all();
  }
  return harness_.end_unstarted(taken, false);
}

task_totals pool_core::totals() const {
  const mutex_lock lock(mu_);
  task_totals tasks = harness_.totals;
  // acquire: the slots
  const worker* const newest = newest_.load(std::memory_order_acquire);
  for (const worker* w = newest; w != nullptr; w = w->older) w->counts.add_ends_to(tasks);
  for (const worker* w = newest; w != nullptr; w = w->older) w->counts.add_submissions_to(tasks);
  if (delayed_ != nullptr) delayed_->add_counts_to(tasks);
  queue_.add_counts_to(tasks);
  tasks.started += life_.workers() - free_;
  return tasks;
}

pool_statistics pool_core::statistics() const {
  const mutex_lock lock(mu_);
  const std::size_t workers = life_.workers();
  std::size_t queued = queue_.size();
  if (steals_) {
    // acquire: the slots
    const worker* w = newest_.load(std::memory_order_acquire);
    for (; w != nullptr; w = w->older) queued += w->local->size();
  }
  return {.queued = queued,
          .delayed = delayed_ == nullptr ? 0 : delayed_->size(),
          .active = workers - free_,
          .threads = workers,
          .largest = largest_};
}

std::pair<std::size_t, std::size_t> pool_core::sizes() const {
  const mutex_lock lock(mu_);
  return {core_, max_};
}

bool pool_core::is_own_task() const noexcept {
  return executor_scope::of(this) != nullptr || is_ending_here(life_);
}

void pool_core::throw_if_own_task() const {
  if (!is_own_task()) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt: a task of a pool waits for the end of the pool");
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
