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

// Maximum number of tasks that a worker takes out of the shared queue at once.
constexpr std::size_t largest_batch = 32;
// After so many local tasks a worker takes one from the shared queue. A prime, as in Go and Tokio.
constexpr std::uint32_t global_queue_interval = 61;
// The local task with this number in an interval is the oldest one instead of the newest.
constexpr std::uint32_t oldest_interval = 30;

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
  const mutex_lock lock(mu_);  // uncontended; for the thread safety analysis
  while (vacant_.pop_front() != nullptr) {
  }
  worker* next = newest_.load(std::memory_order_relaxed);  // relaxed: no other thread is left
  while (next != nullptr) delete std::exchange(next, next->older);
  if (delayed_ != nullptr) delayed_->release();
}

// Blocked workers do not count against the limits, unless the size is fixed.
void pool_core::set_limits() noexcept {
  core_limit_ = options_.resizable ? saturating_sum(core_, blocked_) : core_;
  max_limit_ = options_.resizable ? saturating_sum(max_, blocked_) : max_;
  publish_wake_state();
}

// --- starting, waking and parking workers

bool pool_core::start_worker() noexcept {
  // Timer handles may call this when the pool is destroyed, and may_start() with it.
  if (life_.state() >= life_state::stop) return false;
  try {
    if (options_.thread.may_start != nullptr && !options_.thread.may_start()) return false;
    if (vacant_.empty()) {
      worker* const before = newest_.load(std::memory_order_relaxed);  // relaxed: under mu_
      const std::size_t number = before == nullptr ? 1 : before->number + 1;
      // One more for each worker: it may push a task while stop() empties its full queue.
      if (steals_) reserved_for_stop_.reserve(number * (local_capacity + 1));
      auto* const made = new worker(number, before, steals_);
      newest_.store(made, std::memory_order_release);  // release: the slot, to threads that steal
      vacant_.push_back(*made);
    }
    if (!life_.add_worker()) return false;
    worker& w = vacant_.front();
    // on_start may take long: until it has returned, the worker is free, but not searching.
    w.searching = options_.thread.on_start == nullptr;
    retain();
    try {
      w.thread = sync::thread([this, &w] { work(w); });
    } catch (...) {
      w.searching = false;
      release();  // not the last reference: the caller has one
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

// Claims an idle worker, if one is needed, for the caller to unpark after it has released the lock.
// Null if none is needed or idle. If none is idle, but fewer than core are running, and tasks are
// added without a check of that, it starts one.
pool_core::worker* pool_core::worker_to_wake() noexcept {
  if (!steals_ && idle_.empty() && queue_.is_open()) return nullptr;  // the common case
  publish_wake_state();
  if (searching_ != 0) return nullptr;
  const bool unwatched = delayed_ != nullptr && free_ == 0;  // no worker watches the clock
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

// Makes all idle workers go through take() again.
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

// Puts the worker into idle_. It becomes the leader if there is none, or if the leader would sleep
// too long. The leader parks until the earliest deadline of a delayed task, at most.
void pool_core::become_idle(worker& self, clock::time_point& deadline) noexcept {
  if (delayed_ != nullptr && leader_ == nullptr) {
    idle_.push_back(self);
    become_leader(self);
  } else {
    idle_.push_front(self);
  }
  publish_wake_state();
  // After the wakeup deadline was set: a producer that added an earlier task before that may have
  // relied on this worker.
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

// Updates what producers without the lock read: whether the queue is open, the wakeup deadline and
// wake_hint_. Called after a change of idle_, searching_, the number of workers, the limits or the
// state. A caller that may close the queue, or set the hint, looks into the queues afterwards.
void pool_core::publish_wake_state() noexcept {
  const life_state state = life_.state();
  const std::size_t workers = life_.workers();
  const bool has_core = has_core_threads();
  queue_.set_open(has_open_queue_ && state == life_state::running && has_core &&
                  (searching_ != 0 || idle_.empty()));
  if (delayed_ != nullptr) {
    // A worker that is searching or active checks the delayed tasks anyway. While there are fewer
    // than core workers, each insertion starts one.
    clock::time_point wakeup_deadline = leader_until_;
    if (searching_ != 0 || idle_.empty()) wakeup_deadline = clock::time_point::min();
    if (!has_core && state < life_state::stop) wakeup_deadline = clock::time_point::max();
    delayed_->set_wakeup_deadline(wakeup_deadline);
  }
  if (!steals_) return;
  const bool could_help = !idle_.empty() || workers < core_limit_;  // a worker to wake or start
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

// Waits for the worker's next task; its local queue is empty. \return false if the worker is not
// needed any more.
bool pool_core::take(worker& self, task& t) {
  clock::time_point idle_since = clock::time_point::max();  // max(): has not been idle yet
  bool searched = !steals_;
  for (;;) {
    const life_state state = life_.state();
    const std::size_t workers = life_.workers();
    if (state >= life_state::stop) return false;
    const bool found = queue_.find();
    if (workers > max_limit_) {
      // A surplus worker stays while tasks were accepted because it is free (3). The only worker
      // that does not wait for a future stays while there are tasks: others may wait for them.
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
    // The only free worker stays while a delayed task waits, to watch the clock (6).
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
        // A producer that added a task before this may rely on this worker, so it checks again. A
        // producer that adds one after this wakes or starts another.
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

// Takes a delayed task if one is due, and not later than the first task of the queue. `found`: the
// queue has one.
bool pool_core::take_delayed(worker& self, task& t, bool found) noexcept {
  const clock::time_point next = delayed_->next();
  if (next == clock::time_point::max()) return false;
  if (found && queue_.front().deadline() < next) return false;
  // The clock need not be read if the deadline is not later than that of the queued task, which is
  // the time of its submission, or than the worker's last reading.
  clock::time_point now = found ? queue_.front().deadline() : self.time;
  if (!found && now < next) now = self.time = options_.time->now();
  self.runs_delayed = next <= now && delayed_->take_due(now, t, self.ticket);
  return self.runs_delayed;
}

// Takes the first task of the shared queue. A worker that steals also moves its share of the rest
// to its local queue, so that it needs the lock less often.
void pool_core::take_from_queue(worker& self, task& t) noexcept {
  queue_.pop(t);
  if (!steals_ || options_.queue_capacity != unbounded) return;
  const std::size_t share = std::min(queue_.found() / life_.workers(), largest_batch - 1);
  for (std::size_t i = 0; i < share && self.local->has_room(); ++i) {
    queue_.pop(self.local->next_slot());
    self.local->add_next();  // without a look at the hint: worker_to_wake() follows, under the lock
  }
}

// Takes the worker's newest local task; at intervals the oldest local task, or the oldest one of
// the shared queue.
bool pool_core::take_local(worker& self, task& t) noexcept {
  // relaxed: only the moment matters; the thread that sets `stopping` empties the local queue
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

// Steals the oldest task of another worker, to run it, and half of that worker's other tasks for
// the own local queue, which is empty. Takes at most one child of a fork_join, as the last one, and
// runs it first: the oldest child is the largest part of its task, and its parent will wait for it.
bool pool_core::steal_from_others(worker& self, task& t) noexcept {
  const auto steal_from = [&](const worker& victim) {
    bool child = false;
    if (!victim.local->steal(t, &child)) return false;
    // size() is an estimate; so the loop also checks for room and for a task to steal.
    for (std::size_t left = victim.local->size() / 2;
         left != 0 && !child && self.local->has_room() &&
         victim.local->steal(self.local->next_slot(), &child);
         --left) {
      if (child) std::swap(t, self.local->next_slot());
      self.local->add_next();  // without a look at the hint: this worker is searching
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

// Ends the worker's membership: it is no longer counted, and its slot can be used again.
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
  [[maybe_unused]] const bool held = life_.hold();  // until on_exit has returned
  TAKT_ASSERT(held);                                // it is still counted as a worker
  life_.remove_worker();
  if (delayed_ != nullptr && life_.state() == life_state::shutdown && is_drained()) {
    wake_all_idle();  // when they became idle, a task was left
  }
  left.to_wake = worker_to_wake();
  workers_changed_.notify_all();
  return left;
}

// --- tasks that wait

bool pool_core::begin_wait(task_wait& w) noexcept {
  const mutex_lock lock(mu_);
  const std::size_t workers = life_.workers();
  // Workers whose wait is over, but which have not called end_wait() yet, are not stuck.
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
  // set_limits() may have set wake_hint_, so this looks into all local queues.
  if (free_ == 0 && life_.workers() < core_limit_ &&
      (has_due() || !queue_.empty() || !local_queues_are_empty())) {
    start_worker();
  }
  room_.notify_one();  // a waiting producer may start a worker for its task
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
  // As many workers as there are queued tasks, up to core.
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
  taken.reserve(1);  // take_if() leaves the task in the queue, silently, if there is no memory
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
                          "takt: a task of the pool waits for the termination of the pool");
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
