// One mutex guards the queue, the workers' bookkeeping and the ledger; tasks, hooks and observers
// run without it.
//
// A worker is
//   coming   started or called, and on its way to the lock
//   idle     in idle_, parked
//   free     coming, idle, or looking for a task: all that do not run one
//   active   runs a task
//   gone     its slot is in vacant_, its thread ends
//
//   (none) -> coming           start_worker()
//   coming -> active           take() finds a task
//   coming, active -> idle     take() finds none
//   idle   -> coming           call_worker(), by whoever finds a task queued
//   idle   -> looks again      recall_idle(), by whoever changes the rules
//   any free -> gone           take() finds that it is not needed: stop; shutdown and nothing
//                              queued; more than max; idle for too long, and more than core
//
// Invariants
//   1. A task that is queued has a worker: one that is free or will be. Workers leave only if
//      nothing is queued, or others remain, or the pool stops.
//   2. If a task is queued and a worker idle, some worker is coming; it calls the next one when it
//      has taken its task, if more are queued. So a burst costs its producer one wake-up, and no
//      task waits while a worker sleeps.
//   3. Of the queued tasks, at most `capacity` have no free worker to take them. So there is room
//      when a worker becomes free, and not when it takes a task.
//   4. A slot is never freed before the pool: who calls a worker does so after unlocking, and may
//      be late.
//   5. Each worker that leaves joins the one that left before it; so at most one ended thread is
//      unjoined, and the last one knows that all others have ended.
//   6. shutdown_now() asks the slots to stop after it has changed the state: see running_task.
#include <takt/exec/thread_pool.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <takt/base/assert.hpp>
#include <takt/base/counted.hpp>
#include <takt/base/intrusive_list.hpp>
#include <takt/base/mutex.hpp>
#include <takt/base/parker.hpp>
#include <takt/base/sync.hpp>
#include <takt/clock/timed_condition.hpp>
#include <takt/task/task_runner.hpp>

#include "ledger.hpp"
#include "os.hpp"
#include "running_task.hpp"
#include "task_queue.hpp"

namespace takt::inline TAKT_ABI {
namespace {

constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

void check_sizes(std::size_t core, std::size_t max) {
  if (max == 0) {
    throw std::invalid_argument("takt::thread_pool: core and max are 0; a pool needs a thread");
  }
  if (max < core) {
    throw std::invalid_argument("takt::thread_pool: max (" + std::to_string(max) +
                                ") is less than core (" + std::to_string(core) + ")");
  }
}

void check_keep_alive(std::chrono::nanoseconds time, bool core_time_out) {
  if (time < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::thread_pool: keep_alive is negative (" +
                                std::to_string(time.count()) + " ns)");
  }
  if (core_time_out && time == std::chrono::nanoseconds(0)) {
    throw std::invalid_argument(
        "takt::thread_pool: core_time_out needs a keep_alive above 0, or no thread would be kept");
  }
}

}  // namespace

rejection_policy rejection_policy::call(handler own) {
  if (own == nullptr) throw std::invalid_argument("takt::rejection_policy: the handler is empty");
  rejection_policy made(kind::call);
  made.own_ = std::move(own);
  return made;
}

class thread_pool::impl : public counted<impl> {
 public:
  explicit impl(options how);

  void execute(task&& t);
  void shutdown() noexcept;
  task_list stop(bool give_back) noexcept;
  void destroy() noexcept;

  std::size_t prestart(std::size_t at_most);
  void resize(std::size_t core, std::size_t max);
  void change_keep_alive(std::chrono::nanoseconds time, bool core_time_out);
  task take_back(const future_core& state);
  std::size_t purge();
  thread_pool_statistics statistics() const;
  std::pair<std::size_t, std::size_t> sizes() const;

  // Constant after construction.
  const options how_;
  const long process_ = os::process_id();
  const int nice_ = os::thread_nice() + how_.threads.nice;

  lifecycle life_;

 private:
  using kind = rejection_policy::kind;

  struct worker : list_node<> {
    explicit worker(std::size_t n) : number(n) {}

    // Constant after construction.
    const std::size_t number;
    parker wake;

    // Guarded by the pool's mutex.
    sync::thread thread;
    bool called = false;  // out of idle_, and counted in coming_

    running_task running;
  };

  // On the stack of a worker.
  class runner final : public task_runner {
   public:
    explicit runner(impl& pool) noexcept : task_runner(&pool), pool_(pool) {}
    [[nodiscard]] bool begin_wait(task_wait& w) noexcept override { return pool_.begin_wait(w); }
    void end_wait(task_wait& w) noexcept override { pool_.end_wait(w); }
    void begin_blocking() noexcept override { pool_.begin_blocking(); }
    void end_blocking() noexcept override { pool_.end_blocking(); }

   private:
    impl& pool_;
  };

  friend class counted<impl>;
  ~impl() {
    const mutex_lock lock(mu_);  // nobody else is here; for the analysis
    while (vacant_.pop_front() != nullptr) {
    }
  }

  std::optional<rejection> offer(task& t) TAKT_REQUIRES(mu_);
  void run_here(task t);
  void refuse(task t, rejection why);
  bool start_worker() noexcept TAKT_REQUIRES(mu_);
  [[nodiscard]] worker* call_worker() noexcept TAKT_REQUIRES(mu_);
  void recall_idle() noexcept TAKT_REQUIRES(mu_);
  std::size_t core_size() const noexcept TAKT_REQUIRES(mu_);
  std::size_t max_size() const noexcept TAKT_REQUIRES(mu_);

  void work(worker& self) noexcept;
  bool take(worker& self, task& t) TAKT_REQUIRES(mu_);
  // What a worker has to do after it has left.
  struct departure {
    sync::thread before;       // to be joined
    worker* called = nullptr;  // to be woken
    bool last = false;         // the pool is at its end
  };
  departure depart(worker& self) noexcept TAKT_REQUIRES(mu_);
  void end() noexcept;

  run_result run(task& t, running_task* where) const noexcept {
    return book_.run(t, life_, where, {&how_.before, &how_.after});
  }

  bool begin_wait(task_wait& w) noexcept;
  void end_wait(task_wait& w) noexcept;
  void begin_blocking() noexcept;
  void end_blocking() noexcept;

  mutable mutex mu_;
  std::size_t core_ TAKT_GUARDED_BY(mu_);
  std::size_t max_ TAKT_GUARDED_BY(mu_);
  std::chrono::nanoseconds keep_alive_ TAKT_GUARDED_BY(mu_);
  bool core_time_out_ TAKT_GUARDED_BY(mu_);
  std::uint64_t last_id_ TAKT_GUARDED_BY(mu_) = 0;
  ledger book_;  // its counts: guarded by mu_

  task_queue queue_ TAKT_GUARDED_BY(mu_);
  timed_condition room_ TAKT_GUARDED_BY(mu_);  // producers that wait for it

  std::deque<worker> slots_ TAKT_GUARDED_BY(mu_);
  intrusive_list<worker> idle_ TAKT_GUARDED_BY(mu_);    // the last to become idle first
  intrusive_list<worker> vacant_ TAKT_GUARDED_BY(mu_);  // slots without a worker
  std::size_t free_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t coming_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t waiting_ TAKT_GUARDED_BY(mu_) = 0;  // for futures of this pool
  intrusive_list<task_wait> waits_ TAKT_GUARDED_BY(mu_);
  std::size_t blocked_ TAKT_GUARDED_BY(mu_) = 0;  // in a blocking_region
  std::size_t holds_ TAKT_GUARDED_BY(mu_) = 0;    // counted as workers, but are none
  std::size_t largest_ TAKT_GUARDED_BY(mu_) = 0;
  sync::thread last_gone_ TAKT_GUARDED_BY(mu_);
  bool orphaned_ TAKT_GUARDED_BY(mu_) = false;  // destroyed by the only worker left
  timed_condition gone_ TAKT_GUARDED_BY(mu_);   // a worker has left
};

thread_pool::impl::impl(options how)
    : how_(std::move(how)),
      life_(*how_.time),
      core_(how_.core),
      max_(how_.max == 0 ? how_.core : how_.max),
      keep_alive_(how_.keep_alive),
      core_time_out_(how_.core_time_out),
      book_(*how_.time, *how_.unhandled, how_.observer),
      queue_(how_.order) {}

std::size_t thread_pool::impl::core_size() const noexcept {
  return how_.resizable ? saturating_sum(core_, blocked_) : core_;
}
std::size_t thread_pool::impl::max_size() const noexcept {
  return how_.resizable ? saturating_sum(max_, blocked_) : max_;
}

// --- submission

void thread_pool::impl::execute(task&& t) {
  if (!t) throw std::invalid_argument("takt::thread_pool: the task is empty");
  if (future_core* state = t.state()) state->set_home(this);
  mutex_lock lock(mu_);
  t.set_id(++last_id_);
  ++book_.totals.submitted;
  if (book_.observed()) {
    lock.unlock();
    book_.tell_submitted(t);
    lock.lock();
  }
  std::optional<rejection> refused = offer(t);
  if (refused == rejection::saturated && how_.rejection.kind_ == kind::block &&
      task_runner::of(this) == nullptr) {
    const auto deadline = deadline_after(how_.time->now(), how_.rejection.timeout_);
    while (refused == rejection::saturated) {
      const bool notified = room_.wait_until(lock, *how_.time, deadline);
      refused = offer(t);
      if (!notified && refused == rejection::saturated) refused = rejection::wait_timed_out;
    }
  }
  while (refused == rejection::saturated && how_.rejection.kind_ == kind::discard_oldest &&
         !queue_.empty()) {
    task oldest;
    queue_.pop(oldest);
    ++book_.totals.rejected;
    refused = offer(t);
    lock.unlock();
    book_.tell(task_event::kind::rejected, oldest);
    oldest.reject(rejection::discarded);
    lock.lock();
    if (refused == rejection::saturated) refused = offer(t);
  }
  worker* const called = call_worker();
  // A task that is queued may destroy the pool before its worker has been woken.
  const bool keeps = called != nullptr && !refused;
  if (keeps) retain();
  const bool runs_here =
      refused == rejection::saturated && how_.rejection.kind_ == kind::caller_runs;
  if (refused && !runs_here) ++book_.totals.rejected;
  lock.unlock();
  if (called != nullptr) called->wake.unpark();
  if (keeps) {
    release();
    return;
  }
  if (runs_here) {
    run_here(std::move(t));
  } else if (refused) {
    refuse(std::move(t), *refused);
  }
}

// Queues the task, and starts a worker if there is to be one; or says why not.
std::optional<rejection> thread_pool::impl::offer(task& t) {
  if (life_.state() != life_state::running) return rejection::shut_down;
  const std::size_t workers = life_.workers();
  const bool room = queue_.size() < saturating_sum(how_.queue_capacity, free_);
  const bool wanted = workers < core_size() || workers == 0 || (!room && workers < max_size());
  if (!wanted || !start_worker()) {
    if (workers == 0) return rejection::no_thread;
    if (!room) return rejection::saturated;
  }
  try {
    queue_.push(std::move(t));
  } catch (...) {
    ++book_.totals.rejected;
    throw;
  }
  return std::nullopt;
}

void thread_pool::impl::run_here(task t) {
  if (future_core* state = t.state()) state->set_home(nullptr);
  retain();  // it may destroy the pool
  const run_result result = run(t, nullptr);
  {
    const mutex_lock lock(mu_);
    book_.count(result);
  }
  release();
}

// What has been counted as rejected.
void thread_pool::impl::refuse(task t, rejection why) {
  const kind policy = how_.rejection.kind_;
  book_.tell(task_event::kind::rejected, t);
  if (policy == kind::call) {
    if (future_core* state = t.state()) state->set_home(nullptr);
    how_.rejection.own_(std::move(t), why);
    return;
  }
  if (policy == kind::discard || policy == kind::discard_oldest) {
    t.reject(why == rejection::saturated ? rejection::discarded : why);
    return;
  }
  t.reject(why);
  throw rejected(why);
}

// --- workers

bool thread_pool::impl::start_worker() noexcept {
  try {
    if (how_.threads.may_start != nullptr && !how_.threads.may_start()) return false;
    if (vacant_.empty()) vacant_.push_back(slots_.emplace_back(slots_.size() + 1));
    if (!life_.add_worker()) return false;
    worker& w = vacant_.front();
    retain();
    try {
      w.thread = sync::thread([this, &w] { work(w); });
    } catch (...) {
      release();  // not the last: the caller has one
      life_.remove_worker();
      return false;
    }
    vacant_.erase(w);
  } catch (...) {
    return false;
  }
  ++free_;
  room_.notify_one();
  ++coming_;
  largest_ = std::max(largest_, life_.workers());
  return true;
}

// An idle worker to be woken after unlocking, if one is needed.
thread_pool::impl::worker* thread_pool::impl::call_worker() noexcept {
  if (coming_ != 0 || queue_.empty()) return nullptr;
  worker* const called = idle_.pop_front();
  if (called != nullptr) {
    called->called = true;
    ++coming_;
  }
  return called;
}

// Has all idle workers look again.
void thread_pool::impl::recall_idle() noexcept {
  while (worker* w = idle_.pop_front()) w->wake.unpark();
}

void thread_pool::impl::work(worker& self) noexcept {
  os::set_thread_name(how_.name + "-" + std::to_string(self.number));
  if (how_.threads.nice != 0) os::set_thread_nice(nice_);
  if (!how_.threads.cpus.empty()) os::set_thread_cpus(how_.threads.cpus);
  if (how_.threads.on_start != nullptr) how_.threads.on_start();
  departure gone;
  {
    const runner here(*this);
    {
      task t;
      mutex_lock lock(mu_);
      --coming_;
      while (take(self, t)) {
        worker* const called = call_worker();
        lock.unlock();
        if (called != nullptr) called->wake.unpark();
        const run_result result = run(t, &self.running);
        lock.lock();
        ++free_;
        room_.notify_one();
        book_.count(result);
      }
      gone = depart(self);
    }
    if (gone.called != nullptr) gone.called->wake.unpark();
  }
  if (gone.before.joinable()) gone.before.join();
  if (how_.threads.on_exit != nullptr) how_.threads.on_exit();
  if (gone.last) end();
  release();
}

// The next task. False: this worker is not needed any more.
bool thread_pool::impl::take(worker& self, task& t) {
  std::optional<clock::time_point> idle_since;
  for (;;) {
    const life_state state = life_.state();
    const std::size_t workers = life_.workers();
    if (state >= life_state::stop) return false;
    const bool empty = queue_.empty();
    if (empty && state == life_state::shutdown) return false;
    if (workers > max_size() && (empty || workers - waiting_ > 1)) return false;
    if (!empty) {
      queue_.pop(t);
      --free_;
      return true;
    }
    clock::time_point deadline = clock::time_point::max();
    if (core_time_out_ || workers > core_size()) {
      const clock::time_point now = how_.time->now();
      if (!idle_since) idle_since = now;
      deadline = deadline_after(*idle_since, keep_alive_);
      if (now >= deadline) return false;
    }
    idle_.push_front(self);
    mu_.unlock();
    how_.time->park_until(self.wake, deadline);
    mu_.lock();
    if (self.is_linked()) idle_.erase(self);
    if (std::exchange(self.called, false)) --coming_;
  }
}

// From here on it does not count, and its slot can be given to another.
thread_pool::impl::departure thread_pool::impl::depart(worker& self) noexcept {
  departure gone;
  --free_;
  gone.before = std::exchange(last_gone_, sync::thread());
  if (orphaned_) {
    self.thread.detach();
  } else {
    last_gone_ = std::move(self.thread);
  }
  vacant_.push_front(self);
  gone.called = call_worker();
  life_.remove_worker();
  gone.last = life_.try_tidy(queue_.empty());
  gone_.notify_all();
  return gone;
}

void thread_pool::impl::end() noexcept {
  if (how_.terminated != nullptr) how_.terminated();
  life_.terminate();
}

// --- tasks that wait

bool thread_pool::impl::begin_wait(task_wait& w) noexcept {
  const mutex_lock lock(mu_);
  const std::size_t workers = life_.workers();
  // Those that have just got what they wait for, and have not said so yet, are not stuck.
  std::size_t stuck = 0;
  if (waiting_ + 1 >= workers && w.depends_on(this)) {
    stuck = 1;
    for (const task_wait& other : waits_) stuck += other.depends_on(this) ? 1U : 0U;
  }
  if (stuck != 0 && stuck >= workers && (workers >= core_size() || !start_worker())) return false;
  ++waiting_;
  waits_.push_back(w);
  return true;
}

void thread_pool::impl::end_wait(task_wait& w) noexcept {
  const mutex_lock lock(mu_);
  waits_.erase(w);
  --waiting_;
}

void thread_pool::impl::begin_blocking() noexcept {
  const mutex_lock lock(mu_);
  ++blocked_;
  if (!queue_.empty() && free_ == 0 && life_.workers() < core_size()) {
    start_worker();
  }
  room_.notify_one();  // it may start one for its task
}

void thread_pool::impl::end_blocking() noexcept {
  const mutex_lock lock(mu_);
  --blocked_;
}

// --- the end

void thread_pool::impl::shutdown() noexcept {
  mutex_lock lock(mu_);
  if (!life_.advance_to(life_state::shutdown)) return;
  recall_idle();
  room_.notify_all();
  const bool last = life_.try_tidy(queue_.empty());
  lock.unlock();
  if (last) end();
}

// Gives back what has not begun, or cancels it and gives back nothing.
task_list thread_pool::impl::stop(bool give_back) noexcept {
  task_list unstarted;
  std::size_t slots = 0;
  bool holds = false;
  {
    const mutex_lock lock(mu_);
    // Counts as a worker, so that the pool does not end before what was queued has ended.
    holds = life_.add_worker();
    holds_ += holds ? 1U : 0U;
    life_.advance_to(life_state::stop);
    unstarted = queue_.take_all();
    recall_idle();
    room_.notify_all();
    slots = slots_.size();
  }
  for (std::size_t i = 0; i < slots; ++i) {
    worker* slot = nullptr;
    {
      const mutex_lock lock(mu_);
      slot = &slots_[i];
    }
    slot->running.request_stop();
  }
  task_queue::sort(unstarted, how_.order);
  const std::size_t cancelled = book_.end_unstarted(unstarted, give_back);
  bool last = false;
  {
    const mutex_lock lock(mu_);
    book_.totals.cancelled += cancelled;
    book_.totals.returned += unstarted.size();
    if (holds) {
      --holds_;
      life_.remove_worker();
      gone_.notify_all();
    }
    last = life_.try_tidy(true);
  }
  if (last) end();
  return unstarted;
}

void thread_pool::impl::destroy() noexcept {
  static_cast<void>(stop(false));
  sync::thread last;
  if (task_runner::of(this) == nullptr) {
    life_.await(clock::time_point::max(), {});
    const mutex_lock lock(mu_);
    last = std::move(last_gone_);
  } else {
    mutex_lock lock(mu_);
    while (life_.workers() != 1) gone_.wait_until(lock, *how_.time, clock::time_point::max());
    last = std::move(last_gone_);
    orphaned_ = true;
  }
  if (last.joinable()) last.join();
  release();
}

// --- the rest

std::size_t thread_pool::impl::prestart(std::size_t at_most) {
  const mutex_lock lock(mu_);
  std::size_t started = 0;
  while (started < at_most && life_.state() == life_state::running &&
         life_.workers() < core_size() && start_worker()) {
    ++started;
  }
  return started;
}

void thread_pool::impl::resize(std::size_t core, std::size_t max) {
  if (!how_.resizable) throw std::logic_error("takt::thread_pool: its size cannot be changed");
  if (max == 0) max = core;
  check_sizes(core, max);
  const mutex_lock lock(mu_);
  core_ = core;
  max_ = max;
  recall_idle();
  if (life_.state() >= life_state::stop) return;
  // As many as the queue needs.
  while (life_.workers() < core_size() && free_ < queue_.size() && start_worker()) {
  }
  room_.notify_all();  // more workers, more room
}

void thread_pool::impl::change_keep_alive(std::chrono::nanoseconds time, bool core_time_out) {
  check_keep_alive(time, core_time_out);
  const mutex_lock lock(mu_);
  keep_alive_ = time;
  core_time_out_ = core_time_out;
  recall_idle();
}

task thread_pool::impl::take_back(const future_core& state) {
  task_list taken;
  {
    const mutex_lock lock(mu_);
    queue_.take_if([&](const task& t) { return t.state() == &state; }, taken);
    if (taken.empty()) return {};
    taken[0].state()->set_home(nullptr);
    ++book_.totals.returned;
    room_.notify_one();
  }
  book_.tell(task_event::kind::returned, taken[0]);
  return std::move(taken[0]);
}

std::size_t thread_pool::impl::purge() {
  task_list taken;
  {
    const mutex_lock lock(mu_);
    queue_.take_if([](const task& t) { return t.is_cancelled(); }, taken);
    book_.totals.cancelled += taken.size();
    room_.notify_all();
  }
  return book_.end_unstarted(taken, false);
}

thread_pool_statistics thread_pool::impl::statistics() const {
  const mutex_lock lock(mu_);
  const std::size_t workers = life_.workers() - holds_;
  return {.tasks = book_.totals,
          .queued = queue_.size(),
          .active = workers - free_,
          .workers = workers,
          .largest = largest_};
}

std::pair<std::size_t, std::size_t> thread_pool::impl::sizes() const {
  const mutex_lock lock(mu_);
  return {core_, max_};
}

// --- thread_pool

thread_pool::options thread_pool::fixed(std::size_t threads) { return {.core = threads}; }

thread_pool::options thread_pool::cached() {
  return {.core = 0, .max = unbounded, .queue_capacity = 0};
}

thread_pool::options thread_pool::single() { return {.core = 1, .resizable = false}; }

thread_pool::thread_pool(options how) {
  check_sizes(how.core, how.max == 0 ? how.core : how.max);
  check_keep_alive(how.keep_alive, how.core_time_out);
  if (how.time == nullptr) throw std::invalid_argument("takt::thread_pool: time is null");
  if (how.unhandled == nullptr) throw std::invalid_argument("takt::thread_pool: unhandled is null");
  if (how.order == queue_order::priority &&
      how.rejection.kind_ == rejection_policy::kind::discard_oldest) {
    throw std::invalid_argument(
        "takt::thread_pool: discard_oldest() would drop the most urgent task of a priority queue");
  }
  impl_ = new impl(std::move(how));
}

thread_pool::~thread_pool() {
  // After fork() the threads are not in this process, and the mutex is in no known state.
  if (os::process_id() == impl_->process_) impl_->destroy();
}

void thread_pool::execute(task t) { impl_->execute(std::move(t)); }
void thread_pool::shutdown() noexcept { impl_->shutdown(); }
task_list thread_pool::shutdown_now() noexcept { return impl_->stop(true); }
void thread_pool::shutdown_and_cancel() noexcept { static_cast<void>(impl_->stop(false)); }
std::size_t thread_pool::prestart(std::size_t at_most) { return impl_->prestart(at_most); }
void thread_pool::resize(std::size_t core, std::size_t max) { impl_->resize(core, max); }
std::size_t thread_pool::purge() { return impl_->purge(); }
thread_pool_statistics thread_pool::statistics() const { return impl_->statistics(); }
std::size_t thread_pool::core() const { return impl_->sizes().first; }
std::size_t thread_pool::max() const { return impl_->sizes().second; }
const lifecycle& thread_pool::life() const noexcept { return impl_->life_; }

task_options thread_pool::future_options() const noexcept {
  return {.time = impl_->how_.time, .unhandled = impl_->how_.unhandled};
}

void thread_pool::throw_if_own_task() const {
  if (task_runner::of(impl_) == nullptr) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::thread_pool: one of its own tasks waits for its end");
}

void thread_pool::change_keep_alive(std::chrono::nanoseconds time, bool core_time_out) {
  impl_->change_keep_alive(time, core_time_out);
}

task thread_pool::take_back(const future_core& state) { return impl_->take_back(state); }

}  // namespace takt::inline TAKT_ABI
