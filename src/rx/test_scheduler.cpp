#include <takt/rx/test_scheduler.hpp>

#include <stdexcept>
#include <string>

#include <takt/sched/event_loop.hpp>

#include "worker_scheduler_core.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

// A base class, so that the clock exists before the base class that refers to it.
struct virtual_time {
  explicit virtual_time(clock::time_point start) noexcept : now(start) {}
  manual_clock now;
};

}  // namespace

class test_scheduler::core final : private virtual_time, public detail::worker_scheduler_core {
 public:
  explicit core(const options_type& options)
      : virtual_time(options.start),
        detail::worker_scheduler_core(
            {.interruptible = options.interruptible, .missed = options.missed, .time = &now}, now),
        loop_({.frame = never, .time = &now}) {}

  std::size_t advance_to(clock::time_point target) {
    if (target < now.now()) {
      throw std::invalid_argument("takt::rx::test_scheduler: time does not go back");
    }
    std::size_t ran = 0;
    for (;;) {
      const clock::time_point next = loop_.next_deadline();
      if (next > target || next == clock::time_point::max()) break;
      if (next > now.now()) now.advance_to(next);
      ran += loop_.poll();
    }
    now.advance_to(target);
    return ran;
  }
  manual_clock& clock_of() noexcept { return now; }

 private:
  detail::worker_place next_place() override {
    detail::worker_place place = worker::place_on(loop_);
    place.errors_leave_run = true;
    return place;
  }

  event_loop loop_;
};

test_scheduler::test_scheduler(const options_type& options)
    : test_scheduler(std::make_unique<core>(options)) {}
test_scheduler::test_scheduler(std::unique_ptr<core> made) noexcept
    : worker_scheduler(std::unique_ptr<detail::worker_scheduler_core>(made.get())),
      core_(*made.release()) {}

std::size_t test_scheduler::advance_to(clock::time_point time) { return core_.advance_to(time); }
manual_clock& test_scheduler::time() noexcept { return core_.clock_of(); }

clock::time_point test_scheduler::target_after(std::chrono::nanoseconds time) const {
  if (time < std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::rx::test_scheduler: the time to pass is negative (" +
                                std::to_string(time.count()) + " ns)");
  }
  return deadline_after(now(), time);
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
