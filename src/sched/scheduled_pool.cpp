#include <takt/sched/scheduled_pool.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include "../exec/pool_core.hpp"
#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

scheduled_pool::options scheduled_pool::single() { return {.core = 1, .resizable = false}; }

scheduled_pool::scheduled_pool(options how) : missed_(how.missed) {
  if (how.keep_alive < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::scheduled_pool: keep_alive is negative (" +
                                std::to_string(how.keep_alive.count()) + " ns)");
  }
  if (how.keep_alive == std::chrono::nanoseconds(0) && (how.core_time_out || how.core == 0)) {
    throw std::invalid_argument(
        "takt::scheduled_pool: keep_alive is 0 ns, but has to be above 0 for threads to be kept "
        "with core_time_out, or if core is 0");
  }
  if (how.time == nullptr) throw std::invalid_argument("takt::scheduled_pool: time is null");
  if (how.unhandled == nullptr) {
    throw std::invalid_argument("takt::scheduled_pool: unhandled is null");
  }
  const clock& time = *how.time;
  state_ref<delay_queue> delays(new delay_queue(how.keep, time));
  delays_ = delays.get();
  core_ = new pool_core({.core = how.core,
                         .max = std::max<std::size_t>(how.core, 1),
                         .keep_alive = how.keep_alive,
                         .core_time_out = how.core_time_out,
                         .name = std::move(how.name),
                         .thread = std::move(how.thread),
                         .resizable = how.resizable,
                         .before = std::move(how.before),
                         .after = std::move(how.after),
                         .terminated = std::move(how.terminated),
                         .time = how.time,
                         .unhandled = how.unhandled,
                         .observer = how.observer},
                        {.delayed = delays_, .decorate = std::move(how.decorate)});
  static_cast<void>(delays.detach());
  delays_->attach(*core_);
}

scheduled_pool::~scheduled_pool() {
  // After fork() the threads are not in this process, and the mutex is in no known state.
  if (core_->is_here()) core_->destroy();
}

void scheduled_pool::execute(task t) {
  if (!t) throw std::invalid_argument("takt::scheduled_pool: the task is empty");
  core_->execute(std::move(t));
}

timer_handle scheduled_pool::execute(when due, task t, const timer_options& more) {
  if (!t) throw std::invalid_argument("takt::scheduled_pool: the task is empty");
  if (!more.name.view().empty()) t.set_name(more.name);
  return {add(due.on(time()), std::move(t), more.slack, nullptr, nullptr), {}};
}

timer_place scheduled_pool::add(clock::time_point due, task t, std::chrono::nanoseconds slack,
                                timer_place* place, period_state* periods) {
  if (slack < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::scheduled_pool: the slack is negative (" +
                                std::to_string(slack.count()) + " ns)");
  }
  return delays_->add(due, t, slack, place, periods);
}

void scheduled_pool::check_period(std::chrono::nanoseconds period) {
  delay_queue::check_period(period);
}

timer_awaiter::~timer_awaiter() {
  on_stop_.reset();
  if (!arrival_.valid()) return;  // it has been resumed
  arrival_.state().remove_continuation(*this);
  arrival_.cancel();
}

// Nothing resumes the coroutine before the last line, after which *this may be gone.
bool timer_awaiter::await_suspend(std::coroutine_handle<> waiting) {
  arrival_ = pool_.schedule(due_, resume_point());
  if (stop_.stop_possible()) on_stop_.emplace(stop_, cancel_arrival{*this});
  resumes = waiting;
  return arrival_.state().try_set_continuation(*this);
}

void scheduled_pool::shutdown() noexcept { core_->shutdown(); }
task_list scheduled_pool::shutdown_now() noexcept { return core_->stop(true); }
void scheduled_pool::shutdown_and_cancel() noexcept { static_cast<void>(core_->stop(false)); }
void scheduled_pool::keep_after_shutdown(after_shutdown what) noexcept {
  delays_->keep_after_shutdown(what);
}
after_shutdown scheduled_pool::kept_after_shutdown() const noexcept {
  return delays_->kept_after_shutdown();
}
std::size_t scheduled_pool::prestart(std::size_t at_most) { return core_->prestart(at_most); }
void scheduled_pool::resize(std::size_t core) {
  core_->resize(core, std::max<std::size_t>(core, 1));
}
pool_statistics scheduled_pool::statistics() const { return core_->statistics(); }
std::size_t scheduled_pool::core() const { return core_->sizes().first; }
task_options scheduled_pool::future_options() const noexcept { return core_->future_options(); }
const lifecycle& scheduled_pool::life() const noexcept { return core_->life(); }
void scheduled_pool::throw_if_own_task() const { core_->throw_if_own_task(); }
const clock& scheduled_pool::time() const noexcept { return core_->time(); }

}  // namespace takt::inline TAKT_ABI
