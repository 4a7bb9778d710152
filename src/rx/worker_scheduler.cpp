#include <takt/rx/worker_scheduler.hpp>

#include <exception>
#include <utility>

#include "../exec/ending_guard.hpp"
#include "worker_core.hpp"
#include "worker_scheduler_core.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {

worker_scheduler_core::worker_scheduler_core(const rx::worker_options& options, const clock& time)
    : options_(options), time_(&time) {
  begin_group();
}

bool worker_scheduler_core::is_here() const noexcept { return home_.is_here(); }

worker_place worker_scheduler_core::take_place(rx::subscription& registry) {
  const mutex_lock lock(mu_);
  registry = open_;
  worker_place place = next_place();
  place.group = groups_.back().share();
  return place;
}

rx::worker worker_scheduler_core::create_worker() {
  rx::subscription registry;
  rx::worker made(take_place(registry), options_);
  registry.add(made.as_subscription());  // closes it if the scheduler is shut down
  return made;
}

// The worker is a child of its only task, and the task belongs to the worker: they close together.
rx::task_subscription worker_scheduler_core::run_alone(rx::worker::unscheduled what,
                                                       const due_time& due,
                                                       const rx::worker::series* rate) {
  rx::subscription registry;
  worker_place place = take_place(registry);
  auto* const core = new worker_core(std::move(place), options_);
  const rx::subscription alone(*core);
  core->count_in_group();
  try {
    what->add(*core);
    registry.add(alone);  // closes it if the scheduler is shut down
    return core->start(std::move(what), due, rate);
  } catch (...) {
    core->unsubscribe(*options_.unhandled);
    throw;
  }
}

void worker_scheduler_core::start() {
  const mutex_lock lock(mu_);
  if (!open_.is_unsubscribed() || ending_) return;
  rx::composite_subscription open;
  start_threads();  // a shutdown() in progress stops the previous ones
  begin_group();
  open_ = open;
}

void worker_scheduler_core::shutdown() noexcept {
  rx::subscription closed;
  intrusive_ptr<worker_group> group;
  shared_threads* stopped = nullptr;
  mutex_lock lock(mu_);
  closed = open_;
  group = groups_.back().share();
  stopped = threads();
  // Under the lock: either end() waits for this call, or this call finds nothing to end.
  const ending_guard ending(*group, group->life);
  lock.unlock();
  if (!ending) return;
  group->stopping.store(true, std::memory_order_relaxed);  // relaxed: this thread reads it
  closed.core()->unsubscribe(*options_.unhandled);
  group->life.advance_to(life_state::stop);
  if (stopped != nullptr) stopped->stop();
}

void worker_scheduler_core::end() noexcept {
  {
    const mutex_lock lock(mu_);
    ending_ = true;
  }
  shutdown();
  for (std::size_t at = 0;; ++at) {
    intrusive_ptr<worker_group> group;
    {
      const mutex_lock lock(mu_);
      if (at == groups_.size()) return;
      group = groups_[at].share();
    }
    group->life.await(clock::time_point::max(), {});
  }
}

bool worker_scheduler_core::is_shutdown() const noexcept {
  const mutex_lock lock(mu_);
  return open_.is_unsubscribed();
}

std::size_t worker_scheduler_core::workers() const noexcept {
  const mutex_lock lock(mu_);
  return open_.size();
}

}  // namespace detail

namespace rx {
namespace {

// The workers of worker_scheduler::from().
class executor_places final : public detail::worker_scheduler_core {
 public:
  executor_places(std::function<detail::worker_place()> places, const worker_options& options)
      : detail::worker_scheduler_core(options, time_of(places(), options)),
        places_(std::move(places)) {}

 private:
  static const clock& time_of(const detail::worker_place& place, const worker_options& options) {
    const takt::scheduler* const timers = place.timers != nullptr ? place.timers : options.timers;
    return timers != nullptr ? *timers->future_options().time : *options.time;
  }
  detail::worker_place next_place() override { return places_(); }

  const std::function<detail::worker_place()> places_;
};

}  // namespace

worker_scheduler::worker_scheduler(std::function<detail::worker_place()> places,
                                   const worker_options& options)
    : core_(std::make_unique<executor_places>(std::move(places),
                                              detail::worker_core::checked(options))) {}
worker_scheduler::worker_scheduler(std::unique_ptr<detail::worker_scheduler_core> core) noexcept
    : core_(std::move(core)) {}
worker_scheduler::~worker_scheduler() {
  if (core_->is_here()) {
    core_->end();
  } else {
    // After fork() the threads do not exist in this process, and locks are in an unknown state.
    [[maybe_unused]] const detail::worker_scheduler_core* const left = core_.release();
  }
}

worker worker_scheduler::create_worker() { return core_->create_worker(); }
task_subscription worker_scheduler::run_alone(worker::unscheduled what, const due_time& due,
                                              const worker::series* rate) {
  return core_->run_alone(std::move(what), due, rate);
}
void worker_scheduler::start() { core_->start(); }
void worker_scheduler::shutdown() noexcept { core_->shutdown(); }
void worker_scheduler::end() noexcept { core_->end(); }
bool worker_scheduler::is_here() const noexcept { return core_->is_here(); }
bool worker_scheduler::is_shutdown() const noexcept { return core_->is_shutdown(); }
std::size_t worker_scheduler::workers() const noexcept { return core_->workers(); }
clock::time_point worker_scheduler::now() const noexcept { return core_->time().now(); }

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
