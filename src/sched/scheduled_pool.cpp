#include <takt/sched/scheduled_pool.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../exec/ending_guard.hpp"
#include "../exec/pool_core.hpp"
#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

scheduled_pool::options scheduled_pool::single() { return {.threads = 1, .resizable = false}; }

namespace {

// Checks the options before anything is created.
detail::delay_queue& make_queue(const scheduled_pool_options& how) {
  if (how.keep_alive < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::scheduled_pool: keep_alive is negative (" +
                                std::to_string(how.keep_alive.count()) + " ns)");
  }
  if (how.keep_alive == std::chrono::nanoseconds(0) && (how.core_times_out || how.threads == 0)) {
    throw std::invalid_argument(
        "takt::scheduled_pool: keep_alive is 0 ns; it has to be above 0 if threads is 0 or "
        "core_times_out is set");
  }
  if (how.time == nullptr) throw std::invalid_argument("takt::scheduled_pool: time is null");
  if (how.unhandled == nullptr) {
    throw std::invalid_argument("takt::scheduled_pool: unhandled is null");
  }
  return *new detail::delay_queue(how.keep, *how.time);
}

}  // namespace

scheduled_pool::scheduled_pool(options how) : scheduled_pool(make_queue(how), std::move(how)) {}

// Adopts the reference to `delays`.
scheduled_pool::scheduled_pool(detail::delay_queue& delays, options&& how)
    : scheduler(delays, {.time = how.time, .unhandled = how.unhandled}, how.missed),
      delays_(delays) {
  detail::intrusive_ptr<detail::delay_queue> kept(&delays);
  core_ = new detail::pool_core({.core_threads = how.threads,
                                 .max_threads = std::max<std::size_t>(how.threads, 1),
                                 .keep_alive = how.keep_alive,
                                 .core_times_out = how.core_times_out,
                                 .name = std::move(how.name),
                                 .thread = std::move(how.thread),
                                 .resizable = how.resizable,
                                 .before = std::move(how.before),
                                 .after = std::move(how.after),
                                 .terminated = std::move(how.terminated),
                                 .time = how.time,
                                 .unhandled = how.unhandled,
                                 .observer = how.observer},
                                {.delayed = &delays, .decorate = std::move(how.decorate)});
  static_cast<void>(kept.detach());
  delays.attach(*core_);
}

scheduled_pool::~scheduled_pool() {
  // A child process after fork() has no threads of the pool, and the state of its mutex is unknown.
  if (core_->is_here()) core_->destroy("takt::scheduled_pool");
}

void scheduled_pool::execute(task t) {
  if (!t) throw std::invalid_argument("takt::scheduled_pool: the task is empty");
  core_->execute(std::move(t));
}

void scheduled_pool::shutdown() noexcept { core_->shutdown(); }
task_list scheduled_pool::shutdown_now() noexcept { return core_->stop(true); }
void scheduled_pool::shutdown_and_cancel() noexcept { static_cast<void>(core_->stop(false)); }
void scheduled_pool::keep_after_shutdown(after_shutdown what) noexcept {
  const ending_guard ending(*core_, core_->life());
  delays_.keep_after_shutdown(what);
}
after_shutdown scheduled_pool::kept_after_shutdown() const noexcept {
  return delays_.kept_after_shutdown();
}
std::size_t scheduled_pool::prestart(std::size_t at_most) { return core_->prestart(at_most); }
void scheduled_pool::resize(std::size_t threads) {
  core_->resize(threads, std::max<std::size_t>(threads, 1));
}
task_totals scheduled_pool::totals() const { return core_->totals(); }
pool_statistics scheduled_pool::statistics() const { return core_->statistics(); }
std::size_t scheduled_pool::threads() const { return core_->sizes().first; }
const lifecycle& scheduled_pool::life() const noexcept { return core_->life(); }
void scheduled_pool::throw_if_own_task() const { core_->throw_if_own_task(); }

}  // namespace takt::inline TAKT_ABI
