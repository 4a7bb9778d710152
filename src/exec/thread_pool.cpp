#include <takt/exec/thread_pool.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace {

void check_sizes(std::size_t core, std::size_t max, std::size_t queue_capacity) {
  if (max == 0) {
    throw std::invalid_argument(
        "takt::thread_pool: core_threads and max_threads are 0; a pool needs a thread");
  }
  if (max < core) {
    throw std::invalid_argument("takt::thread_pool: max_threads (" + std::to_string(max) +
                                ") is less than core_threads (" + std::to_string(core) + ")");
  }
  if (max > std::max<std::size_t>(core, 1) && queue_capacity == unbounded) {
    throw std::invalid_argument("takt::thread_pool: max_threads (" + std::to_string(max) +
                                ") is more than core_threads (" + std::to_string(core) +
                                "), but an unbounded queue is never full; set queue_capacity");
  }
}

void check_keep_alive(std::chrono::nanoseconds time, bool core_times_out) {
  if (time < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::thread_pool: keep_alive is negative (" +
                                std::to_string(time.count()) + " ns)");
  }
  if (core_times_out && time == std::chrono::nanoseconds(0)) {
    throw std::invalid_argument(
        "takt::thread_pool: core_times_out needs a keep_alive above 0, or no thread would be kept");
  }
}

}  // namespace

thread_pool::options_type thread_pool::fixed(std::size_t threads) {
  return {.core_threads = threads};
}

thread_pool::options_type thread_pool::cached() {
  return {.core_threads = 0, .max_threads = unbounded, .queue_capacity = 0};
}

thread_pool::options_type thread_pool::single() { return {.core_threads = 1, .resizable = false}; }

thread_pool::thread_pool(options_type options) {
  check_sizes(options.core_threads,
              options.max_threads == 0 ? options.core_threads : options.max_threads,
              options.queue_capacity);
  check_keep_alive(options.keep_alive, options.core_times_out);
  if (options.time == nullptr) throw std::invalid_argument("takt::thread_pool: time is null");
  if (options.unhandled == nullptr)
    throw std::invalid_argument("takt::thread_pool: unhandled is null");
  if (options.order == queue_order::priority && options.rejection.drops_oldest()) {
    throw std::invalid_argument(
        "takt::thread_pool: drop_oldest() would drop the most urgent task of a priority queue");
  }
  core_ = new detail::pool_core(std::move(options));
}

thread_pool::~thread_pool() {
  // After fork() the threads are not in this process, and the mutex is in an unknown state.
  if (core_->is_here()) core_->destroy("takt::thread_pool");
}

void thread_pool::execute(task t) {
  if (!t) throw std::invalid_argument("takt::thread_pool: the task is empty");
  core_->execute(std::move(t));
}
std::size_t thread_pool::try_execute(std::span<task> tasks) noexcept {
  return core_->try_execute(tasks);
}
void thread_pool::shutdown() noexcept { core_->shutdown(); }
task_list thread_pool::shutdown_now() noexcept { return core_->stop(true); }
void thread_pool::shutdown_and_cancel() noexcept { static_cast<void>(core_->stop(false)); }
std::size_t thread_pool::prestart(std::size_t at_most) { return core_->prestart(at_most); }
void thread_pool::resize(std::size_t core, std::size_t max) {
  if (max == 0) max = core;
  check_sizes(core, max, core_->queue_capacity());
  core_->resize(core, max);
}
std::size_t thread_pool::purge() { return core_->purge(); }
task_totals thread_pool::totals() const { return core_->totals(); }
pool_statistics thread_pool::statistics() const { return core_->statistics(); }
std::size_t thread_pool::core_threads() const { return core_->sizes().first; }
std::size_t thread_pool::max_threads() const { return core_->sizes().second; }
const lifecycle& thread_pool::life() const noexcept { return core_->life(); }

future_options thread_pool::future_options() const noexcept { return core_->future_options(); }
void thread_pool::throw_if_own_task() const { core_->throw_if_own_task(); }

void thread_pool::change_keep_alive(std::chrono::nanoseconds time, bool core_times_out) {
  check_keep_alive(time, core_times_out);
  core_->change_keep_alive(time, core_times_out);
}

task thread_pool::take_back(const detail::future_core& state) { return core_->take_back(state); }

}  // namespace takt::inline TAKT_ABI
