// A loop is
//   at work   somebody is in run() or the like, and looks for tasks before it waits
//   waiting   it found none, or who has another loop asked for next_deadline(): whoever changes
//             something that is earlier wakes it
//   left      nobody runs it, and nobody has asked: what comes is found when somebody does
//
//   at work -> waiting     arm(), under the lock, if nothing is to be done
//   left -> waiting        the same, by next_deadline()
//   waiting -> at work     disarm(): it was woken, or the time has come
//   waiting -> left        wake(), once: it leaves a token, and makes the descriptor readable
//
// Invariants
//   1. While it waits, the attention of the delayed tasks is their earliest deadline: who adds an
//      earlier one calls attend(). Else it is any time, and nobody calls.
//   2. What is in a list is there before waits_ is looked at, under the same lock: so it is found
//      by arm(), or its owner wakes the loop.
//   3. batch_ is what is left of the frame that has begun, frames_ what was asked of the next one;
//      frame_due_ is when that is, if there is a ticker and something was asked.
//   4. A task that was taken is counted when it has been run, before anything leaves the loop by an
//      exception.
//   5. It is over when it was shut down, nothing is left to be run, and no call holds it that ends
//      it: run() returns then. It terminates when it is over and nobody runs it, which the
//      destructor waits for.
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
#include "../exec/ledger.hpp"
#include "../exec/running_task.hpp"
#include "../task/delivery.hpp"
#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

namespace detail {

class loop_core final : public delayed_tasks_owner {
 public:
  using time_point = clock::time_point;
  enum class where : std::uint8_t { posts, microtasks, frames };

  // Takes over a reference to the queue.
  loop_core(delay_queue& delays, const event_loop_options& how)
      : delays_(delays),
        frame_(how.frame),
        time_(*how.time),
        start_(time_.now()),
        life_(time_),
        book_(time_, *how.unhandled, how.observer) {
    delays_.attach(*this);
    delays_.set_attention(time_point::min());
  }

  void execute(where to, task t) {
    if (!t) throw std::invalid_argument("takt::event_loop: the task is empty");
    if (future_core* state = t.state()) state->set_home(this);
    t.set_deadline(time_.now());
    {
      const mutex_lock lock(mu_);
      t.set_id(++book_.totals.submitted);
    }
    book_.tell(task_event::kind::submitted, t);
    mutex_lock lock(mu_);
    try {
      if (life_.state() == life_state::running) {
        add(to, t);
        wake();
        return;
      }
    } catch (...) {  // there is no memory
      ++book_.totals.rejected;
      lock.unlock();
      book_.tell(task_event::kind::rejected, t);
      throw;
    }
    ++book_.totals.rejected;
    lock.unlock();
    book_.tell(task_event::kind::rejected, t);
    t.reject(rejection::shut_down);
    throw rejected(rejection::shut_down);
  }

  // --- running

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
    wake();  // who has it in another loop, and has asked while it was stopped
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
    // relaxed: a thread knows whether it was itself; and if not, it does not matter who it was
    const sync::thread::id home = home_.load(std::memory_order_relaxed);
    return home == sync::thread::id() || home == sync::this_thread_id();
  }

  // --- in another loop

  time_point next_deadline() noexcept {
    const mutex_lock lock(mu_);
    if (!stopped_ && !is_over()) return arm();
    waits_ = true;  // for restart()
    return time_point::max();
  }
  int descriptor() {
    const mutex_lock lock(mu_);
    const int opened = signal_.open();
    if (signalled_) signal_.raise();  // it was woken before there was a descriptor
    return opened;
  }

  // --- the end

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
    const std::size_t cancelled = book_.end_unstarted(unwanted, false);
    const mutex_lock lock(mu_);
    book_.totals.cancelled += cancelled;
  }

  // Gives back what has not begun, or cancels it and gives back nothing.
  task_list stop_now(bool give_back) noexcept {
    const ending_guard ending(*this, life_);
    task_list unstarted;
    std::array<task_list, 3> more;
    {
      const mutex_lock lock(mu_);
      life_.advance_to(life_state::stop);
      delays_.close(true);  // before what runs is asked to stop
      unstarted = std::move(microtasks_);
      more = {std::move(batch_), std::move(posts_), std::move(frames_)};
      frame_due_ = time_point::max();
    }
    running_.request_stop();
    for (task_list& list : more) unstarted.append(std::move(list));
    const std::size_t cancelled = book_.end_unstarted(unstarted, give_back);
    const std::size_t returned = unstarted.size();
    delays_.stop(unstarted, give_back);  // counts its own
    const mutex_lock lock(mu_);
    book_.totals.cancelled += cancelled;
    book_.totals.returned += returned;
    return unstarted;
  }

  // For ending_guard.
  void end_if_over() noexcept {
    bool last = false;
    {
      const mutex_lock lock(mu_);
      wake();  // run(), which may have waited for this call
      last = !runs_ && life_.try_tidy(is_drained());
    }
    if (last) life_.terminate();
  }

  void destroy() noexcept {
    // After fork() the mutex is in no known state.
    if (!process_.is_here()) return;
    if (executor_scope::of(this) != nullptr || is_ending_here(life_)) {
      refuse_own_destruction("takt::event_loop");
    }
    static_cast<void>(stop_now(false));
    delays_.await_told();
    life_.await_unused();  // other calls that end it
    release();
  }

  [[nodiscard]] const lifecycle& life() const noexcept { return life_; }

  task_totals totals() const {
    const mutex_lock lock(mu_);
    task_totals all = book_.totals;
    delays_.add_counts_to(all);
    return all;
  }

  // --- for the delayed tasks
  bool attend() noexcept override {
    const mutex_lock lock(mu_);
    wake();
    return true;
  }
  void delayed_are_gone() noexcept override { attend(); }
  [[nodiscard]] const ledger& book() const noexcept override { return book_; }

 private:
  // On the stack of who runs it.
  class runner final : public executor_scope {
   public:
    explicit runner(loop_core& of) : executor_scope(&of), of_(of) {
      const mutex_lock lock(of.mu_);
      if (of.runs_) throw std::logic_error("takt::event_loop: it is being run already");
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

  // The next point of the grid.
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

  // What is to be done now: microtasks, the frame that has begun, and then by deadline.
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

  // Runs what is next; waits for it until the deadline. False if there is none.
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
    const run_result result = book_.run(t, life_, &running_, {}, &uncaught);
    {
      const mutex_lock lock(mu_);
      count(result, book_.totals);
    }
    if (which != nullptr) delays_.after_run(*which, t, result, book_);
    if (uncaught != nullptr) std::rethrow_exception(uncaught);
  }

  // When there is something to do. If that is not now, who makes it earlier wakes the loop.
  [[nodiscard]] time_point arm() noexcept TAKT_REQUIRES(mu_) {
    if (!microtasks_.empty() || !batch_.empty() || !posts_.empty()) return time_point::min();
    waits_ = true;
    if (life_.state() >= life_state::stop) return time_point::max();  // the ending call wakes it
    return std::min(delays_.watch_next(false), frame_due_);
  }

  void disarm() noexcept TAKT_REQUIRES(mu_) {
    waits_ = false;
    delays_.set_attention(time_point::min());
    if (std::exchange(signalled_, false)) signal_.clear();
  }

  void wake() noexcept TAKT_REQUIRES(mu_) {
    if (!std::exchange(waits_, false)) return;
    delays_.set_attention(time_point::min());
    wake_.unpark();
    signal_.raise();
    signalled_ = true;
  }

  // Constant after construction.
  delay_queue& delays_;  // counted
  const std::chrono::nanoseconds frame_;
  const clock& time_;
  const time_point start_;
  const fork_guard process_;

  lifecycle life_;
  ledger book_;  // its counts: guarded by mu_
  running_task running_;
  parker wake_;
  // Atomic. Written by who begins to run it.
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

detail::delay_queue& make_queue(const event_loop_options& how) {
  if (how.frame <= std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::event_loop: frame is " + std::to_string(how.frame.count()) +
                                " ns; it has to be above 0");
  }
  if (how.time == nullptr) throw std::invalid_argument("takt::event_loop: time is null");
  if (how.unhandled == nullptr) throw std::invalid_argument("takt::event_loop: unhandled is null");
  return *new detail::delay_queue({}, *how.time);
}

// Takes over the reference.
detail::loop_core& make_core(detail::delay_queue& delays, const event_loop_options& how) {
  detail::intrusive_ptr<detail::delay_queue> kept(&delays);
  auto* const made = new detail::loop_core(delays, how);
  static_cast<void>(kept.detach());
  return *made;
}

}  // namespace

event_loop::event_loop(const options& how) : event_loop(make_queue(how), how) {}

event_loop::event_loop(detail::delay_queue& delays, const options& how)
    : scheduler(delays, {.time = how.time, .unhandled = how.unhandled}, how.missed),
      delays_(delays),
      core_(make_core(delays, how)),
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
