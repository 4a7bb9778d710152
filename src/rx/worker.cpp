#include <takt/rx/worker.hpp>

#include "worker_core.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

worker::worker(detail::worker_place place, const options_type& options)
    : core_(new detail::worker_core(std::move(place), options)) {}

worker::~worker() {
  if (core_ != nullptr) core_->destroy();
}

task_subscription worker::start(unscheduled what, const due_time& due, const series* rate) {
  if (core_ == nullptr) return task_subscription::refused();
  return core_->start(std::move(what), due, rate);
}

bool worker::is_unsubscribed() const noexcept {
  return core_ == nullptr || core_->is_unsubscribed();
}

subscription worker::as_subscription() const noexcept {
  if (core_ == nullptr) return {};
  core_->own();
  return subscription(*core_);
}

std::size_t worker::tracked() const noexcept { return core_ == nullptr ? 0 : core_->tracked(); }

clock::time_point worker::now() const noexcept {
  return core_ == nullptr ? clock::time_point() : core_->now();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
