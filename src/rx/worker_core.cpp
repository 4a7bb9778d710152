#include "worker_core.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/rx/detail/error_collector.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>

#include "../exec/ending_guard.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

// Owns its task twice: for the thread that runs it, and for running_.
class worker_core::task_run {
 public:
  task_run(worker_task& a, bool passes_on) noexcept : what_(&a), passes_on_(passes_on) {
    if (a.tracked_) {
      a.own(2);
    } else {
      a.own_unshared(2);
    }
  }
  // Takes over what one that has passed it on owned.
  explicit task_run(worker_task& owned) noexcept : what_(&owned), passes_on_(false) {}
  task_run(task_run&& other) noexcept
      : what_(std::exchange(other.what_, nullptr)), passes_on_(other.passes_on_) {}
  task_run& operator=(task_run&&) = delete;
  ~task_run() {
    if (what_ == nullptr) return;
    what_->worker_->drop(*what_);
    what_->disown(2);
  }

  void operator()() {
    worker_task& a = *std::exchange(what_, nullptr);
    if (passes_on_) {
      a.worker_->pass_on(a);
      return;
    }
    struct ended_after {
      worker_task& ran;
      ~ended_after() { ran.worker_->end_run(ran); }
    } const guard{a};
    a.worker_->run(a);
  }

  // By who ends the executor; or because it was cancelled while it waited for its time.
  void cancelled() noexcept {
    worker_task& a = *std::exchange(what_, nullptr);
    worker_core& worker = *a.worker_;
    if (worker.has_to_end(a)) a.unsubscribe(*worker.options_.unhandled);
    a.disown(2);
  }

  [[nodiscard]] worker_task& what() const noexcept { return *what_; }

 private:
  worker_task* what_;  // owned; null: it has come to its end
  bool passes_on_;
};

}  // namespace detail

template <>
inline constexpr bool moves_as_bytes<detail::worker_core::task_run> = true;

namespace detail {

// Marks the thread that runs a task of the worker, for the destructor.
class worker_core::runner final : public executor_scope {
 public:
  explicit runner(const worker_core& of) noexcept : executor_scope(&of) {}
  [[nodiscard]] bool begin_wait(task_wait& /*w*/) noexcept override { return true; }
};

rx::worker_options worker_core::checked(const rx::worker_options& options) {
  if (options.batch == 0) throw std::invalid_argument("takt::rx::worker: batch is 0");
  if (options.time == nullptr) throw std::invalid_argument("takt::rx::worker: time is null");
  if (options.unhandled == nullptr)
    throw std::invalid_argument("takt::rx::worker: unhandled is null");
  return options;
}

takt::scheduler* worker_core::timers_of(event_loop* own, const worker_place& place,
                                        const rx::worker_options& options) noexcept {
  if (own != nullptr) return own;
  return place.timers != nullptr ? place.timers : options.timers;
}

worker_core::worker_core(worker_place place, const rx::worker_options& options)
    : options_(checked(options)),
      kind_(place.access),
      errors_leave_run_(place.errors_leave_run),
      group_(std::move(place.group)),
      owned_(std::move(place.owned)),
      loop_(kind_ == worker_place::kind::trampoline
                ? std::make_unique<event_loop>(event_loop_options{
                      .frame = never, .time = options.time, .unhandled = options.unhandled})
                : nullptr),
      timers_(timers_of(loop_.get(), place, options)),
      time_(timers_ != nullptr ? timers_->future_options().time : options.time),
      executor_(place.executor),
      life_(*time_) {
  if (kind_ == worker_place::kind::strand) {
    strand_.emplace(*executor_,
                    serial_executor_options{
                        .batch = options.batch, .time = time_, .unhandled = options.unhandled},
                    &taken_out);
  }
}

worker_core::~worker_core() = default;

rx::task_subscription worker_core::start(rx::worker::unscheduled what, const due_time& due,
                                         const rx::worker::series* rate) {
  using std::chrono::nanoseconds;
  if (rate != nullptr && rate->period <= nanoseconds(0)) {
    throw std::invalid_argument("takt::rx::worker: the period is not above 0 (" +
                                std::to_string(rate->period.count()) + " ns)");
  }
  const bool maybe_delayed = !due.is_delay() || due.delay() > nanoseconds(0);
  const bool by_time =
      kind_ == worker_place::kind::trampoline || kind_ == worker_place::kind::immediate;
  clock::time_point asked{};  // who needs no deadline does not look at the clock
  clock::time_point deadline{};
  if (maybe_delayed || rate != nullptr || by_time) {
    asked = now();
    deadline = due.is_delay() ? deadline_after(asked, std::max(due.delay(), nanoseconds(0)))
                              : due.on(*time_);
  }
  const bool delayed = deadline > asked;
  if (timers_ == nullptr && !by_time && (delayed || rate != nullptr)) {
    throw std::logic_error("takt::rx::worker: its executor cannot wait, and it has no timers");
  }
  if (is_unsubscribed()) return rx::task_subscription::refused();

  worker_task& a = *what;
  a.worker_ = this;
  retain();
  if (delayed || rate != nullptr || kind_ == worker_place::kind::trampoline) {
    a.timing_ = std::make_unique<worker_task_timing>();
    a.timing_->due = deadline;
  }
  if (rate != nullptr) {
    a.periodic_ = true;
    a.timing_->periods.period = rate->period;
    a.timing_->periods.after_end = rate->after_end;
    a.timing_->periods.missed = rate->missed.value_or(options_.missed);
  }
  rx::task_subscription handle(*what.release());
  // relaxed: nobody else has it; the executor publishes it
  a.submission_.store(worker_task::submission::under_way, std::memory_order_relaxed);
  bool too_late = false;  // the worker was closed meanwhile
  if (kind_ == worker_place::kind::strand && a.timing_ == nullptr) {
    // relaxed: what this thread knows of; a figure
    a.number_ = last_number_.load(std::memory_order_relaxed);
    plain_scheduled_.fetch_add(1, std::memory_order_relaxed);
  } else {
    too_late = !track(a);
  }
  std::exception_ptr error;
  bool gone = false;
  try {
    if (!too_late) submit(a, delayed);
  } catch (const rejected& why) {
    error = std::current_exception();
    gone = why.reason() == rejection::shut_down;
  } catch (...) {
    error = std::current_exception();
  }
  // acq_rel: what was done by who dropped it
  const auto was = a.submission_.exchange(worker_task::submission::over, std::memory_order_acq_rel);
  if (too_late || error != nullptr) {
    a.mark_rejected();
    a.unsubscribe(*options_.unhandled);
    if (gone) unsubscribe(*options_.unhandled);
    if (error != nullptr && !gone) std::rethrow_exception(error);
  } else if (was == worker_task::submission::dropped) {
    report_dropped();
  }
  return handle;
}

void worker_core::submit(worker_task& a, bool delayed) {
  switch (kind_) {
    case worker_place::kind::strand:
      if (delayed) break;
      strand_->execute(task(task_run(a, false)));
      return;
    case worker_place::kind::direct:
      if (delayed) break;
      executor_->execute(task(task_run(a, false)));
      return;
    case worker_place::kind::trampoline:
      break;
    case worker_place::kind::immediate:
      do a.wait_until_due();
      while (run(a));
      return;
  }
  const std::uint64_t run = a.run_count();
  const bool passes_on = kind_ == worker_place::kind::strand;
  a.keep_timer(timers_->execute(a.timing_->due, task(task_run(a, passes_on))), run);
  if (kind_ == worker_place::kind::trampoline) run_trampoline();
}

// The time of a delayed one has come: on the thread of the timers.
void worker_core::pass_on(worker_task& a) noexcept {
  if (!life_.add_worker()) {
    a.disown(2);
    return;
  }
  retain();
  const intrusive_ptr<worker_core> kept(this);  // it may be run, and be gone, by then
  const runner here(*this);  // what is refused is closed here, and that may destroy the worker
  try {
    strand_->execute(task(task_run(a)));
  } catch (const rejected& why) {  // drop() has reported it
    if (why.reason() == rejection::shut_down) unsubscribe(*options_.unhandled);
  } catch (...) {
  }
  leave();
}

// \return whether the caller is to run it again; only if it is immediate.
bool worker_core::run(worker_task& a) {
  if (!life_.add_worker()) return false;  // who closes the worker has cancelled it, or will
  std::exception_ptr error;
  const bool again = run_once(a, error);
  leave();
  if (error != nullptr) std::rethrow_exception(error);
  return again;
}

bool worker_core::run_once(worker_task& a, std::exception_ptr& error) {
  const runner here(*this);
  if (!a.begin()) return false;
  worker_task::result came = a.run();
  if (came.again) return run_again(a);
  a.close(*options_.unhandled);
  if (came.error == nullptr) return false;
  if (errors_leave_run_) {
    error = std::move(came.error);
  } else {
    options_.unhandled->on_unhandled(unhandled::uncaught, came.error);
  }
  return false;
}

bool worker_core::run_again(worker_task& a) noexcept {
  if (kind_ == worker_place::kind::immediate) return true;
  try {
    submit(a, a.timing_->due > now());
  } catch (const rejected& why) {  // drop() has reported it
    if (why.reason() == rejection::shut_down) unsubscribe(*options_.unhandled);
  } catch (...) {
  }
  return false;
}

// Whether nobody else sees to the end of a task whose task_run is gone.
bool worker_core::has_to_end(const worker_task& a) const noexcept {
  return !a.is_ending() && !(a.tracked_ && is_unsubscribed());
}

// A task_run is gone without having been run.
void worker_core::drop(worker_task& a) noexcept {
  if (!has_to_end(a)) return;
  if (is_unsubscribed()) {
    a.unsubscribe(*options_.unhandled);
    return;
  }
  auto was = worker_task::submission::under_way;
  // acq_rel: what was done until then, to who submits it
  const bool told = a.submission_.compare_exchange_strong(was, worker_task::submission::dropped,
                                                          std::memory_order_acq_rel);
  a.mark_rejected();
  a.unsubscribe(*options_.unhandled);
  if (!told) report_dropped();
}

void worker_core::report_dropped() const noexcept {
  options_.unhandled->on_unhandled(unhandled::unobserved,
                                   std::make_exception_ptr(rejected(rejection::dropped)));
}

// Who is the first to schedule runs all that comes until nothing is left.
void worker_core::run_trampoline() {
  // acq_rel: what the one before did with the loop
  if (trampoline_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  std::size_t seen = 1;
  while (seen != 0) {
    while (loop_->next_deadline() != clock::time_point::max()) loop_->run_one();
    seen = trampoline_.fetch_sub(seen, std::memory_order_acq_rel) - seen;  // acq_rel: as above
  }
}

void worker_core::wake() noexcept {
  // relaxed: who has begun to wait has read the timer that is gone now, and so is seen
  if (loop_ == nullptr || trampoline_.load(std::memory_order_relaxed) == 0) return;
  try {
    loop_->execute([] {});
  } catch (...) {  // without memory it waits until the former time
  }
}

void worker_core::on_unsubscribe() {
  const ending_guard ending(*this, life_);  // until all closures are destroyed
  task_list queued;
  worker_task* running = nullptr;
  if (strand_) {
    queued = strand_->shutdown_now();
    running = running_.exchange(nullptr, std::memory_order_acq_rel);  // acq_rel: it is scheduled
  }
  life_.advance_to(life_state::stop);  // now: a thread that may not run it leaves running_
  if (owned_ != nullptr) {
    stops_.store(true, std::memory_order_relaxed);  // relaxed: read by this thread
    owned_->stop();
  }
  error_collector errors;
  const auto end = [&](worker_task& a) {
    close_tracked(a.number_, errors);  // what was scheduled before it
    errors.run([&a] { a.unsubscribe(); });
  };
  if (running != nullptr) {
    end(*running);
    running->disown();
  }
  for (task& t : queued) {
    end(t.target<task_run>()->what());
    t = task();
  }
  close_tracked(std::numeric_limits<std::uint64_t>::max(), errors);
  errors.run([this] { clear(); });  // the teardowns that were added to it, while the guard is there
  errors.throw_if_any();
}

// Under the strand's lock.
void worker_core::taken_out(task& t) noexcept {
  worker_task& a = t.target<task_run>()->what();
  // release: it is scheduled
  if (!a.tracked_) a.worker_->running_.store(&a, std::memory_order_release);
}

void worker_core::destroy() noexcept {
  // After fork() the threads are not in this process, and locks are in no known state.
  if (!home_.is_here()) return;
  stops_.store(true, std::memory_order_relaxed);  // relaxed: read by this thread
  unsubscribe(*options_.unhandled);
  if (strand_) strand_->shutdown_and_cancel();
  if (executor_scope::of(this) == nullptr && !is_ending_here(life_)) {
    stop_what_runs();  // also what was cancelled before
    life_.await_unused();
    owned_.reset();
  }
  disown();
}

void worker_core::leave() noexcept {
  life_.remove_worker();
  end_if_over();
}

void worker_core::end_if_over() noexcept {
  if (!life_.try_tidy(true)) return;
  life_.terminate();
  if (!counted_) return;
  group_->life.remove_worker();  // from here on the scheduler may be gone, but not the group
  group_->end_if_over();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
