#include <takt/exec/stealing_pool.hpp>

#include <stdexcept>
#include <utility>

#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {

stealing_pool::stealing_pool(options_type options) {
  if (options.threads == 0) throw std::invalid_argument("takt::stealing_pool: threads is 0");
  if (options.time == nullptr) throw std::invalid_argument("takt::stealing_pool: time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt::stealing_pool: unhandled is null");
  }
  core_ = new detail::pool_core({.core_threads = options.threads,
                                 .queue_capacity = options.queue_capacity,
                                 .rejection = std::move(options.rejection),
                                 .name = std::move(options.name),
                                 .thread = std::move(options.thread),
                                 .before = std::move(options.before),
                                 .after = std::move(options.after),
                                 .terminated = std::move(options.terminated),
                                 .time = options.time,
                                 .unhandled = options.unhandled,
                                 .observer = options.observer},
                                {.steals = true});
}

stealing_pool::~stealing_pool() {
  // After fork() the threads are not in this process, and the mutex is in an unknown state.
  if (core_->is_here()) core_->destroy("takt::stealing_pool");
}

void stealing_pool::execute(task t) {
  if (!t) throw std::invalid_argument("takt::stealing_pool: the task is empty");
  core_->execute(std::move(t));
}

std::size_t stealing_pool::try_execute(std::span<task> tasks) noexcept {
  return core_->try_execute(tasks);
}

void stealing_pool::shutdown() noexcept { core_->shutdown(); }
task_list stealing_pool::shutdown_now() noexcept { return core_->stop(true); }
void stealing_pool::shutdown_and_cancel() noexcept { static_cast<void>(core_->stop(false)); }
std::size_t stealing_pool::prestart(std::size_t at_most) { return core_->prestart(at_most); }
task_totals stealing_pool::totals() const { return core_->totals(); }
pool_statistics stealing_pool::statistics() const { return core_->statistics(); }
const lifecycle& stealing_pool::life() const noexcept { return core_->life(); }
future_options stealing_pool::future_options() const noexcept { return core_->future_options(); }
void stealing_pool::throw_if_own_task() const { core_->throw_if_own_task(); }

}  // namespace takt::inline TAKT_ABI
