#include <takt/rx/virtual_time_scheduler.hpp>

#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <takt/rx/detail/error_collector.hpp>

#include "../task/delivery.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

virtual_time_scheduler::virtual_time_scheduler(const options_type& options)
    : start_(options.start),
      max_time_(options.max_time),
      now_(options.start),
      time_(options.start) {}

void virtual_time_scheduler::request(action_node& a, std::chrono::nanoseconds delay) {
  a.due_ = deadline_after(now_, delay);
  a.timed_entry_ = timed_.insert(a.due_, action_ref(a));
}

bool virtual_time_scheduler::recycle(action_node& a, action_delay /*delay*/) noexcept {
  timed_.remove(std::exchange(a.timed_entry_, timer_id()));
  return false;
}

std::size_t virtual_time_scheduler::flush() {
  const clock::time_point until = limit();
  std::size_t ran = 0;
  while (step(until)) ++ran;
  return ran;
}

bool virtual_time_scheduler::step(clock::time_point until) {
  const delivery_scope deliveries;
  const clock::time_point next = timed_.next_deadline();
  if (next == clock::time_point::max() || next > until) return false;
  if (next > now_) {
    now_ = next;
    time_.advance_to(next);
  }
  timer_id id;
  timed_.advance_to(now_, std::span(&id, 1));
  const action_ref a = std::move(*timed_.remove(id));
  a->timed_entry_ = timer_id();
  const std::exception_ptr error = execute(*a);
  if (error == nullptr) return true;
  detail::error_collector errors;
  errors.run([&] { std::rethrow_exception(error); });
  // As in RxJS, actions that a teardown schedules meanwhile are closed, too.
  while (first_pending()) close_pending(errors);
  errors.throw_if_any();
  return true;
}

// Closes the actions that are pending now: by due time, and for equal times in the order of
// schedule().
void virtual_time_scheduler::close_pending(detail::error_collector& errors) {
  std::multimap<clock::time_point, action_ref> rest;
  try {
    for (action_ref& each : pending()) rest.emplace(each->due_, std::move(each));
  } catch (const std::bad_alloc&) {  // then only in the order of schedule()
    rest.clear();
    while (const action_ref first = first_pending()) errors.run([&] { first->unsubscribe(); });
  }
  for (const auto& each : rest) errors.run([&] { each.second->unsubscribe(); });
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
