#include <takt/sched/timer_handle.hpp>

#include "delay_queue.hpp"

namespace takt::inline TAKT_ABI {

timer_place::timer_place(delay_queue& queue, timer_id id) noexcept : queue_(&queue), id_(id) {
  queue.retain();
}
timer_place::timer_place(const timer_place& other) noexcept : queue_(other.queue_), id_(other.id_) {
  if (queue_ != nullptr) queue_->retain();
}
timer_place::~timer_place() {
  if (queue_ != nullptr) queue_->release();
}
void timer_place::leave() const noexcept {
  if (queue_ != nullptr) queue_->cancel(id_);
}

cancel_result timer_handle::cancel() const noexcept {
  if (state_) return state_->cancel();
  if (place_.queue() == nullptr) return cancel_result::done;
  return place_.queue()->cancel(place_.id());
}

bool timer_handle::reschedule(when due) const noexcept {
  return place_.queue() != nullptr && place_.queue()->reschedule(place_.id(), due);
}

bool timer_handle::pause() const noexcept {
  return place_.queue() != nullptr && place_.queue()->pause(place_.id());
}
bool timer_handle::resume() const noexcept {
  return place_.queue() != nullptr && place_.queue()->resume(place_.id());
}

clock::time_point timer_handle::next_time() const noexcept {
  return place_.queue() == nullptr ? clock::time_point::max()
                                   : place_.queue()->next_time(place_.id());
}

std::chrono::nanoseconds timer_handle::get_delay() const noexcept {
  return place_.queue() == nullptr ? never : place_.queue()->time_left(place_.id());
}

std::uint64_t periodic_future::run_count() const noexcept {
  return place().queue() == nullptr ? 0 : place().queue()->look_at(*periods_).runs;
}
std::uint64_t periodic_future::missed_count() const noexcept {
  return place().queue() == nullptr ? 0 : place().queue()->look_at(*periods_).runs_missed;
}
void periodic_future::change_period(std::chrono::nanoseconds period) const {
  delay_queue::check_period(period);
  if (place().queue() != nullptr) place().queue()->change_period(*periods_, period);
}

}  // namespace takt::inline TAKT_ABI
