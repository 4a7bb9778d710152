#include <takt/rx/scheduler.hpp>

#include <exception>
#include <utility>

#include "../exec/ending_guard.hpp"
#include "scheduler_core.hpp"
#include "worker_core.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

scheduler_core::scheduler_core(const worker_options& how, const clock& time)
    : how_(how), time_(&time) {
  begin_group();
}

bool scheduler_core::is_here() const noexcept { return home_.is_here(); }

worker_place scheduler_core::take_place(subscription& registry) {
  const detail::mutex_lock lock(mu_);
  registry = open_;
  worker_place place = next_place();
  place.group = groups_.back().share();
  return place;
}

worker scheduler_core::create_worker() {
  subscription registry;
  worker made(take_place(registry), how_);
  registry.add(made.as_subscription());  // closes it, if that is closed
  return made;
}

// The worker is a child of its only task, which is a child of the worker: they end together.
task_subscription scheduler_core::run_alone(worker::unscheduled what, const when& due,
                                            const worker::series* rate) {
  subscription registry;
  worker_place place = take_place(registry);
  auto* const core = new worker_core(std::move(place), how_);
  const subscription alone(*core);
  core->count_in_group();
  try {
    what->add(*core);
    registry.add(alone);  // closes it, if that is closed
    return core->start(std::move(what), due, rate);
  } catch (...) {
    core->unsubscribe(*how_.unhandled);
    throw;
  }
}

void scheduler_core::start() {
  const detail::mutex_lock lock(mu_);
  if (!open_.is_unsubscribed() || ending_) return;
  composite open;
  start_threads();  // the former ones are stopped by the shutdown() that may be under way
  begin_group();
  open_ = open;
}

void scheduler_core::shutdown() noexcept {
  subscription closed;
  state_ref<worker_group> group;
  shared_threads* stopped = nullptr;
  detail::mutex_lock lock(mu_);
  closed = open_;
  group = groups_.back().share();
  stopped = threads();
  // Under the lock: end() waits for this call, or this call finds nothing to end.
  const ending_guard ending(*group, group->life);
  lock.unlock();
  if (!ending) return;
  group->stopping.store(true, std::memory_order_relaxed);  // relaxed: to who closes them: this one
  closed.core()->unsubscribe(*how_.unhandled);
  group->life.advance_to(life_state::stop);
  if (stopped != nullptr) stopped->stop();
}

void scheduler_core::end() noexcept {
  {
    const detail::mutex_lock lock(mu_);
    ending_ = true;
  }
  shutdown();
  for (std::size_t at = 0;; ++at) {
    state_ref<worker_group> group;
    {
      const detail::mutex_lock lock(mu_);
      if (at == groups_.size()) return;
      group = groups_[at].share();
    }
    group->life.await(clock::time_point::max(), {});
  }
}

bool scheduler_core::is_shutdown() const noexcept {
  const detail::mutex_lock lock(mu_);
  return open_.is_unsubscribed();
}

std::size_t scheduler_core::workers() const noexcept {
  const detail::mutex_lock lock(mu_);
  return open_.size();
}

namespace {

// Those of from().
class executor_places final : public scheduler_core {
 public:
  executor_places(std::function<worker_place()> places, const worker_options& how)
      : scheduler_core(how, time_of(places(), how)), places_(std::move(places)) {}

 private:
  static const clock& time_of(const worker_place& place, const worker_options& how) {
    const takt::scheduler* const timers = place.timers != nullptr ? place.timers : how.timers;
    return timers != nullptr ? *timers->future_options().time : *how.time;
  }
  worker_place next_place() override { return places_(); }

  const std::function<worker_place()> places_;
};

}  // namespace

scheduler::scheduler(std::function<worker_place()> places, const worker_options& how)
    : core_(std::make_unique<executor_places>(std::move(places), worker_core::checked(how))) {}
scheduler::scheduler(std::unique_ptr<scheduler_core> core) noexcept : core_(std::move(core)) {}
scheduler::~scheduler() {
  if (core_->is_here()) {
    core_->end();
  } else {
    // After fork() the threads are not in this process, and locks are in no known state.
    [[maybe_unused]] const scheduler_core* const left = core_.release();
  }
}

worker scheduler::create_worker() { return core_->create_worker(); }
task_subscription scheduler::run_alone(worker::unscheduled what, const when& due,
                                       const worker::series* rate) {
  return core_->run_alone(std::move(what), due, rate);
}
void scheduler::start() { core_->start(); }
void scheduler::shutdown() noexcept { core_->shutdown(); }
void scheduler::end() noexcept { core_->end(); }
bool scheduler::is_here() const noexcept { return core_->is_here(); }
bool scheduler::is_shutdown() const noexcept { return core_->is_shutdown(); }
std::size_t scheduler::workers() const noexcept { return core_->workers(); }
clock::time_point scheduler::now() const noexcept { return core_->time().now(); }

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
