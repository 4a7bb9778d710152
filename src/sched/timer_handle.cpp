#include <takt/sched/timer_handle.hpp>

#include <stdexcept>
#include <string>

namespace takt::inline TAKT_ABI {
namespace {

// The entry of a running task stays after the task was cancelled.
bool is_cancelled(const detail::intrusive_ptr<detail::future_core>& state) noexcept {
  return state && state->is_cancelled();
}

}  // namespace

void detail::timer_driver::check_period(std::chrono::nanoseconds period) const {
  if (period > std::chrono::nanoseconds(0)) return;
  throw std::invalid_argument("takt: the period is " + std::to_string(period.count()) +
                              " ns; it has to be above 0");
}

cancel_result timer_handle::cancel() const noexcept {
  if (state_) return state_->cancel();
  if (place_.source() == nullptr) return cancel_result::done;
  return place_.source()->cancel(place_.id());
}

bool timer_handle::reschedule(due_time due) const noexcept {
  return place_.source() != nullptr && !is_cancelled(state_) &&
         place_.source()->reschedule(place_.id(), due);
}

bool timer_handle::pause() const noexcept {
  return place_.source() != nullptr && !is_cancelled(state_) && place_.source()->pause(place_.id());
}
bool timer_handle::resume() const noexcept {
  return place_.source() != nullptr && !is_cancelled(state_) &&
         place_.source()->resume(place_.id());
}

clock::time_point timer_handle::next_time() const noexcept {
  return place_.source() == nullptr ? clock::time_point::max()
                                    : place_.source()->next_time(place_.id());
}

std::chrono::nanoseconds timer_handle::time_left() const noexcept {
  return place_.source() == nullptr ? never : place_.source()->time_left(place_.id());
}

void periodic_future::request_stop() const {
  detail::future_core& work = state();
  const detail::state_guard mine(work);  // a stop callback may release the last reference
  if (run_count() != 0) static_cast<void>(work.request_stop_of_run());
}

std::uint64_t periodic_future::run_count() const noexcept {
  return place().source() == nullptr ? 0 : place().source()->look_at(place().id(), *periods_).runs;
}
std::uint64_t periodic_future::missed_count() const noexcept {
  return place().source() == nullptr
             ? 0
             : place().source()->look_at(place().id(), *periods_).runs_missed;
}
void periodic_future::change_period(std::chrono::nanoseconds period) const {
  if (place().source() == nullptr) return;
  place().source()->check_period(period);
  place().source()->change_period(place().id(), *periods_, period);
}

}  // namespace takt::inline TAKT_ABI
