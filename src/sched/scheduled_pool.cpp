#include <takt/sched/scheduled_pool.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "../exec/ending_guard.hpp"
#include "../exec/pool_core.hpp"
#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

scheduled_pool::options_type scheduled_pool::single() { return {.threads = 1, .resizable = false}; }

namespace {

// Checks the options before anything is created.
detail::delay_queue& make_queue(const scheduled_pool_options& options) {
  if (options.keep_alive < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::scheduled_pool: keep_alive is negative (" +
                                std::to_string(options.keep_alive.count()) + " ns)");
  }
  if (options.keep_alive == std::chrono::nanoseconds(0) &&
      (options.core_times_out || options.threads == 0)) {
    throw std::invalid_argument(
        "takt::scheduled_pool: keep_alive is 0 ns; it has to be above 0 if threads is 0 or "
        "core_times_out is set");
  }
  if (options.time == nullptr) throw std::invalid_argument("takt::scheduled_pool: time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt::scheduled_pool: unhandled is null");
  }
  return *new detail::delay_queue(options.keep, *options.time);
}

}  // namespace

scheduled_pool::scheduled_pool(options_type options)
    : scheduled_pool(make_queue(options), std::move(options)) {}

// Adopts the reference to `delays`.
scheduled_pool::scheduled_pool(detail::delay_queue& delays, options_type&& options)
    : scheduler(delays, {.time = options.time, .unhandled = options.unhandled}, options.missed),
      delays_(delays) {
  detail::intrusive_ptr<detail::delay_queue> kept(&delays);
  core_ = new detail::pool_core({.core_threads = options.threads,
                                 .max_threads = std::max<std::size_t>(options.threads, 1),
                                 .keep_alive = options.keep_alive,
                                 .core_times_out = options.core_times_out,
                                 .name = std::move(options.name),
                                 .thread = std::move(options.thread),
                                 .resizable = options.resizable,
                                 .before = std::move(options.before),
                                 .after = std::move(options.after),
                                 .terminated = std::move(options.terminated),
                                 .time = options.time,
                                 .unhandled = options.unhandled,
                                 .observer = options.observer},
                                {.delayed = &delays, .decorate = std::move(options.decorate)});
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
void scheduled_pool::keep_after_shutdown(after_shutdown policy) noexcept {
  const ending_guard ending(*core_, core_->life());
  delays_.keep_after_shutdown(policy);
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
