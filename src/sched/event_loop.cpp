// A loop is
//
//   active    a thread is inside run() and will look for tasks before it waits
//   waiting   that thread found no task, or another loop that embeds this one has called
//             next_deadline(): a producer of an earlier task wakes the loop
//   inactive  no thread runs it or waits for it: the next call that runs it finds new tasks
//
//   active -> waiting      arm(), under the lock, if no task is due
//   inactive -> waiting    the same, by next_deadline()
//   waiting -> active      disarm(): it was woken, or the deadline has come
//   waiting -> inactive    wake(), once: unparks the thread, and makes the descriptor readable
//
// Invariants
//   1. While the loop waits, the wakeup deadline of its delayed tasks is their earliest deadline: a
//      producer of an earlier one calls wake_for_delayed(). Otherwise it is min(), and no producer
//      calls.
//   2. A task is in its queue before its producer reads waits_, both under mu_: so arm() finds the
//      task, or the producer wakes the loop.
//   3. batch_ is the rest of the frame that has begun, frames_ holds the tasks of the next one.
//      frame_due_ is the deadline of the next frame: max() if it has no task, or if there is no
//      grid.
//   4. A task that was taken is counted after it has run, and before its exception leaves the loop.
//   5. The loop is over when it was shut down, no task is left to run, and no other call that ends
//      it is in progress: then run() returns. It terminates when it is over and no thread runs it;
//      the destructor waits for that.
#include <takt/sched/event_loop.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/parker.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../base/os.hpp"
#include "../exec/ending_guard.hpp"
#include "../exec/running_task.hpp"
#include "../exec/task_harness.hpp"
#include "../task/delivery.hpp"
#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

namespace detail {

class loop_core final : public delayed_tasks_owner {
 public:
  using time_point = clock::time_point;
  enum class where : std::uint8_t { posts, microtasks, frames };

  // Adopts a reference to `delays`.
  loop_core(delay_queue& delays, const event_loop_options& options)
      : delays_(delays),
        frame_(options.frame),
        time_(*options.time),
        start_(time_.now()),
        life_(time_),
        harness_(time_, *options.unhandled, options.observer) {
    delays_.attach(*this);
    delays_.set_wakeup_deadline(time_point::min());
  }

  void execute(where to, task t) {
    if (!t) throw std::invalid_argument("takt::event_loop: the task is empty");
    if (future_core* state = t.state()) state->set_home(this);
    t.set_deadline(time_.now());
    {
      const mutex_lock lock(mu_);
      t.set_id(++harness_.totals.submitted);
    }
    harness_.report(task_event::kind::submitted, t);
    mutex_lock lock(mu_);
    try {
      if (life_.state() == life_state::running) {
        add(to, t);
        wake();
        return;
      }
    } catch (...) {  // out of memory
      ++harness_.totals.rejected;
      lock.unlock();
      harness_.report(task_event::kind::rejected, t);
      throw;
    }
    ++harness_.totals.rejected;
    lock.unlock();
    harness_.report(task_event::kind::rejected, t);
    t.reject(rejection::shut_down);
    throw rejected(rejection::shut_down);
  }

  // --- running tasks

  std::size_t run(time_point deadline, std::size_t most) {
    const delivery_scope deliveries;
    const runner here(*this);
    std::size_t ran = 0;
    while (ran < most && (deadline == time_point::max() || time_.now() < deadline) &&
           run_next(deadline)) {
      ++ran;
    }
    return ran;
  }

  std::size_t poll() {
    const delivery_scope deliveries;
    const runner here(*this);
    std::size_t ran = 0;
    while (run_next(time_point::min())) ++ran;
    return ran;
  }

  std::size_t run_frame() {
    const delivery_scope deliveries;
    const runner here(*this);
    {
      const mutex_lock lock(mu_);
      if (batch_.empty()) begin_frame();
    }
    for (std::size_t ran = 0;; ++ran) {
      task t;
      {
        const mutex_lock lock(mu_);
        if (stopped_ || life_.state() >= life_state::stop || !take_of_frame(t)) return ran;
      }
      run_one(t, nullptr);
    }
  }

  bool wants_frame() const noexcept {
    const mutex_lock lock(mu_);
    return !frames_.empty();
  }

  void stop() noexcept {
    const mutex_lock lock(mu_);
    stopped_ = true;
    wake();
  }
  void restart() noexcept {
    const mutex_lock lock(mu_);
    stopped_ = false;
    wake();  // next_deadline() may have been called while it was stopped
  }
  bool is_stopped() const noexcept {
    const mutex_lock lock(mu_);
    return stopped_;
  }

  bool is_running() const noexcept {
    const mutex_lock lock(mu_);
    return runs_;
  }
  bool running_in_this_thread() const noexcept {
    // relaxed: a thread sees its own store; for all others any other value gives the same result
    const sync::thread::id home = home_.load(std::memory_order_relaxed);
    return home == sync::thread::id() || home == sync::this_thread_id();
  }

  // --- embedding in another loop

  time_point next_deadline() noexcept {
    const mutex_lock lock(mu_);
    if (!stopped_ && !is_over()) return arm();
    waits_ = true;  // for restart()
    return time_point::max();
  }
  int descriptor() {
    const mutex_lock lock(mu_);
    const int opened = signal_.open();
    if (signalled_) signal_.raise();  // woken before the descriptor was opened
    return opened;
  }

  // --- ending

  void shutdown() noexcept {
    const ending_guard ending(*this, life_);
    task_list unwanted;
    {
      const mutex_lock lock(mu_);
      if (!life_.advance_to(life_state::shutdown)) return;
      delays_.close(false);
      unwanted = std::move(frames_);
      frame_due_ = time_point::max();
    }
    delays_.cancel_unwanted();
    const std::size_t cancelled = harness_.end_unstarted(unwanted, false);
    const mutex_lock lock(mu_);
    harness_.totals.cancelled += cancelled;
  }

  // Returns the tasks that have not begun if `give_back`, otherwise cancels them.
  task_list stop_now(bool give_back) noexcept {
    const ending_guard ending(*this, life_);
    task_list unstarted;
    std::array<task_list, 3> lists;
    {
      const mutex_lock lock(mu_);
      life_.advance_to(life_state::stop);
      delays_.close(true);  // before stop is requested: so no running task is queued again
      unstarted = std::move(microtasks_);
      lists = {std::move(batch_), std::move(posts_), std::move(frames_)};
      frame_due_ = time_point::max();
    }
    running_.request_stop();
    for (task_list& list : lists) unstarted.append(std::move(list));
    const std::size_t cancelled = harness_.end_unstarted(unstarted, give_back);
    const std::size_t returned = unstarted.size();
    delays_.stop(unstarted, give_back);  // counts these tasks itself
    const mutex_lock lock(mu_);
    harness_.totals.cancelled += cancelled;
    harness_.totals.returned += returned;
    return unstarted;
  }

  // Called by ending_guard.
  void end_if_over() noexcept {
    bool last = false;
    {
      const mutex_lock lock(mu_);
      wake();  // run() may be waiting for this call
      last = !runs_ && life_.try_tidy(is_drained());
    }
    if (last) life_.terminate();
  }

  void destroy() noexcept {
    // In a child process after fork() the state of the mutex is unknown.
    if (!process_.is_here()) return;
    if (executor_scope::of(this) != nullptr || is_ending_here(life_)) {
      refuse_own_destruction("takt::event_loop");
    }
    static_cast<void>(stop_now(false));
    delays_.await_reports();
    life_.await_unused();  // waits for other calls that end the loop, and for run()
    release();
  }

  [[nodiscard]] const lifecycle& life() const noexcept { return life_; }

  task_totals totals() const {
    const mutex_lock lock(mu_);
    task_totals all = harness_.totals;
    delays_.add_counts_to(all);
    return all;
  }

  // --- delayed_tasks_owner
  bool wake_for_delayed() noexcept override {
    const mutex_lock lock(mu_);
    wake();
    return true;
  }
  void on_delayed_empty() noexcept override { wake_for_delayed(); }
  [[nodiscard]] const task_harness& harness() const noexcept override { return harness_; }

 private:
  // On the stack of the thread that runs the loop.
  class runner final : public executor_scope {
   public:
    explicit runner(loop_core& of) : executor_scope(&of), of_(of) {
      const mutex_lock lock(of.mu_);
      if (of.runs_) throw std::logic_error("takt::event_loop: the loop is already being run");
      of.runs_ = true;
      of.home_.store(sync::this_thread_id(),
                     std::memory_order_relaxed);  // relaxed: see running_in_this_thread()
      of.disarm();
    }
    runner(const runner&) = delete;
    runner& operator=(const runner&) = delete;
    ~runner() {
      {
        const mutex_lock lock(of_.mu_);
        of_.runs_ = false;
        if (of_.life_.state() == life_state::running) return;
      }
      of_.end_if_over();
    }
    [[nodiscard]] bool begin_wait(task_wait& w) noexcept override {
      const mutex_lock lock(of_.mu_);
      return !w.depends_on(&of_);
    }

   private:
    loop_core& of_;
  };

  ~loop_core() override { delays_.release(); }

  void add(where to, task& t) TAKT_REQUIRES(mu_) {
    if (to == where::posts) {
      posts_.push_back(std::move(t));
    } else if (to == where::microtasks) {
      microtasks_.push_back(std::move(t));
    } else {
      const time_point asked = t.deadline();
      frames_.push_back(std::move(t));
      if (frame_ != never && frame_due_ == time_point::max()) frame_due_ = frame_after(asked);
    }
  }

  // The first point of the frame grid after `t`.
  [[nodiscard]] time_point frame_after(time_point t) const noexcept {
    const std::chrono::nanoseconds past = time_between(start_, t);
    return deadline_after(t, frame_ - past % frame_);
  }

  void begin_frame() noexcept TAKT_REQUIRES(mu_) {
    batch_ = std::move(frames_);
    frame_due_ = time_point::max();
  }

  [[nodiscard]] bool is_drained() const noexcept TAKT_REQUIRES(mu_) {
    return microtasks_.empty() && batch_.empty() && posts_.empty() && delays_.empty();
  }
  [[nodiscard]] bool is_over() const noexcept TAKT_REQUIRES(mu_) {
    const life_state state = life_.state();
    if (state == life_state::running) return false;
    if (life_.is_held() && !is_ending_here(life_)) return false;
    return state != life_state::shutdown || is_drained();
  }

  // Takes the next task: microtasks first, then the rest of the frame, then by deadline.
  bool take(task& t, delayed_tasks::ticket& which, bool& delayed) noexcept TAKT_REQUIRES(mu_) {
    if (take_of_frame(t)) return true;
    const time_point post = posts_.empty() ? time_point::max() : posts_[0].deadline();
    const time_point timer = delays_.next();
    const time_point earliest = std::min({post, timer, frame_due_});
    if (earliest == time_point::max()) return false;
    const time_point now = time_.now();
    if (timer == earliest && timer <= now) delayed = delays_.take_due(now, t, which);
    if (delayed) return true;
    if (frame_due_ < post && frame_due_ <= now) {
      begin_frame();
      return take_of_frame(t);
    }
    if (posts_.empty()) return false;
    posts_.pop_front(t);
    return true;
  }

  bool take_of_frame(task& t) noexcept TAKT_REQUIRES(mu_) {
    task_list& from = microtasks_.empty() ? batch_ : microtasks_;
    if (from.empty()) return false;
    from.pop_front(t);
    return true;
  }

  // Runs the next task, for which it waits until the deadline. False if it ran none.
  bool run_next(time_point deadline) {
    for (;;) {
      time_point until;
      {
        task t;
        delayed_tasks::ticket which;
        bool delayed = false;
        mutex_lock lock(mu_);
        if (stopped_) return false;
        if (life_.state() < life_state::stop && take(t, which, delayed)) {
          lock.unlock();
          run_one(t, delayed ? &which : nullptr);
          return true;
        }
        if (is_over() || (deadline != time_point::max() && time_.now() >= deadline)) return false;
        if (deferred_continuations::any()) {
          lock.unlock();
          deferred_continuations::run();
          continue;
        }
        until = std::min(arm(), deadline);
      }
      time_.park_until(wake_, until);
      const mutex_lock lock(mu_);
      disarm();
    }
  }

  void run_one(task& t, const delayed_tasks::ticket* which) {
    std::exception_ptr uncaught;
    const run_result result = harness_.run(t, life_, &running_, {}, &uncaught);
    {
      const mutex_lock lock(mu_);
      count(result, harness_.totals);
    }
    if (which != nullptr) delays_.after_run(*which, t, result, harness_);
    if (uncaught != nullptr) std::rethrow_exception(uncaught);
  }

  // When the next task is due: min() for queued tasks. Otherwise producers of earlier tasks wake
  // the loop.
  [[nodiscard]] time_point arm() noexcept TAKT_REQUIRES(mu_) {
    if (!microtasks_.empty() || !batch_.empty() || !posts_.empty()) return time_point::min();
    waits_ = true;
    if (life_.state() >= life_state::stop) return time_point::max();  // the ending call wakes it
    return std::min(delays_.watch_next(false), frame_due_);
  }

  void disarm() noexcept TAKT_REQUIRES(mu_) {
    waits_ = false;
    delays_.set_wakeup_deadline(time_point::min());
    if (std::exchange(signalled_, false)) signal_.clear();
  }

  void wake() noexcept TAKT_REQUIRES(mu_) {
    if (!std::exchange(waits_, false)) return;
    delays_.set_wakeup_deadline(time_point::min());
    wake_.unpark();
    signal_.raise();
    signalled_ = true;
  }

  // Constant after construction.
  delay_queue& delays_;  // the core holds a reference
  const std::chrono::nanoseconds frame_;
  const clock& time_;
  const time_point start_;
  const fork_guard process_;

  lifecycle life_;
  task_harness harness_;  // its counts: guarded by mu_
  running_task running_;
  parker wake_;
  // Atomic. Written by each thread that begins to run the loop.
  sync::atomic<sync::thread::id> home_{};

  mutable mutex mu_;
  bool runs_ TAKT_GUARDED_BY(mu_) = false;
  bool stopped_ TAKT_GUARDED_BY(mu_) = false;
  bool waits_ TAKT_GUARDED_BY(mu_) = false;
  bool signalled_ TAKT_GUARDED_BY(mu_) = false;
  os::signal_descriptor signal_ TAKT_GUARDED_BY(mu_);
  task_list microtasks_ TAKT_GUARDED_BY(mu_);
  task_list posts_ TAKT_GUARDED_BY(mu_);
  task_list frames_ TAKT_GUARDED_BY(mu_);
  task_list batch_ TAKT_GUARDED_BY(mu_);
  time_point frame_due_ TAKT_GUARDED_BY(mu_) = time_point::max();
};

}  // namespace detail

// --- loop_queue

void loop_queue::execute(task t) {
  core_.execute(frames_ ? detail::loop_core::where::frames : detail::loop_core::where::microtasks,
                std::move(t));
}

// --- event_loop

namespace {

detail::delay_queue& make_queue(const event_loop_options& options) {
  if (options.frame <= std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::event_loop: frame is " +
                                std::to_string(options.frame.count()) +
                                " ns; it has to be above 0");
  }
  if (options.time == nullptr) throw std::invalid_argument("takt::event_loop: time is null");
  if (options.unhandled == nullptr)
    throw std::invalid_argument("takt::event_loop: unhandled is null");
  return *new detail::delay_queue({}, *options.time);
}

// Adopts the reference to `delays`.
detail::loop_core& make_core(detail::delay_queue& delays, const event_loop_options& options) {
  detail::intrusive_ptr<detail::delay_queue> kept(&delays);
  auto* const made = new detail::loop_core(delays, options);
  static_cast<void>(kept.detach());
  return *made;
}

}  // namespace

event_loop::event_loop(const options_type& options) : event_loop(make_queue(options), options) {}

event_loop::event_loop(detail::delay_queue& delays, const options_type& options)
    : scheduler(delays, {.time = options.time, .unhandled = options.unhandled}, options.missed),
      delays_(delays),
      core_(make_core(delays, options)),
      microtasks_(core_, false, future_options()),
      frames_(core_, true, future_options()) {}

event_loop::~event_loop() { core_.destroy(); }

void event_loop::execute(task t) { core_.execute(detail::loop_core::where::posts, std::move(t)); }

std::size_t event_loop::run() { return core_.run(clock::time_point::max(), unbounded); }
std::size_t event_loop::run_until(clock::time_point deadline) {
  return core_.run(deadline, unbounded);
}
bool event_loop::run_one() { return core_.run(clock::time_point::max(), 1) != 0; }
std::size_t event_loop::poll() { return core_.poll(); }
std::size_t event_loop::run_frame() { return core_.run_frame(); }
bool event_loop::wants_frame() const noexcept { return core_.wants_frame(); }
void event_loop::stop() noexcept { core_.stop(); }
bool event_loop::is_stopped() const noexcept { return core_.is_stopped(); }
void event_loop::restart() noexcept { core_.restart(); }
bool event_loop::is_running() const noexcept { return core_.is_running(); }
bool event_loop::running_in_this_thread() const noexcept { return core_.running_in_this_thread(); }
clock::time_point event_loop::next_deadline() noexcept { return core_.next_deadline(); }
int event_loop::descriptor() { return core_.descriptor(); }
void event_loop::shutdown() noexcept { core_.shutdown(); }
task_list event_loop::shutdown_now() noexcept { return core_.stop_now(true); }
void event_loop::shutdown_and_cancel() noexcept { static_cast<void>(core_.stop_now(false)); }
bool event_loop::is_shutdown() const noexcept {
  return core_.life().state() != life_state::running;
}
task_totals event_loop::totals() const { return core_.totals(); }

}  // namespace takt::inline TAKT_ABI
