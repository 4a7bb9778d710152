// Invariants
//   1. A run is in runs_ from its `started` to its `ran` or `finished` event, which comes from the
//      same thread. Runs of other pools, or of the same, may begin and end within it.
//   2. Whenever mu_ is free, next_look_ is at or before the limit of every run in runs_ that has
//   not
//      been reported; looks_ is due at that time, or is running look().
// The end of a run does not move the timer: it then expires in vain, and finds the next limit. So
// there is at most one wake-up per limit.
#include <takt/sched/watchdog.hpp>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <takt/clock/time.hpp>
#include <takt/sched/scheduler.hpp>

namespace takt::inline TAKT_ABI {
namespace {

watchdog_options checked(watchdog_options options) {
  if (options.limit <= std::chrono::nanoseconds(0)) {
    throw std::invalid_argument("takt::watchdog: the limit is " +
                                std::to_string(options.limit.count()) +
                                " ns; it has to be above 0");
  }
  if (options.timers == nullptr) throw std::invalid_argument("takt::watchdog: timers is null");
  if (!options.report) throw std::invalid_argument("takt::watchdog: report is empty");
  return options;
}

}  // namespace

watchdog::watchdog(options_type options)
    : options_(checked(std::move(options))),
      time_(*options_.timers->future_options().time),
      looks_(options_.timers->schedule_with_fixed_delay(never, never, [this] { look(); },
                                                        {.name = "takt::watchdog"})) {}

watchdog::~watchdog() { looks_.cancel_and_join(); }

void watchdog::on_event(const task_event& event) noexcept {
  if (options_.next != nullptr) options_.next->on_event(event);
  using kind = task_event::kind;
  if (event.what == kind::started) begin(event);
  if (event.what == kind::ran || event.what == kind::finished) end(event);
}

task_event watchdog::run::event() const noexcept {
  task_event e = started;
  e.name = std::string_view(name.data(), name_size);
  return e;
}

clock::time_point watchdog::limit_of(const run& r) const noexcept {
  return deadline_after(r.started.when, options_.limit);
}

void watchdog::begin(const task_event& event) noexcept {
  run r{.started = event, .thread = sync::this_thread_id()};
  r.name_size = event.name.copy(r.name.data(), r.name.size() - 1);
  const detail::mutex_lock lock(mu_);
  try {
    runs_.push_back(r);
  } catch (const std::bad_alloc&) {
    return;
  }
  if (limit_of(r) >= next_look_) return;
  next_look_ = limit_of(r);
  looks_.reschedule(next_look_);
}

void watchdog::end(const task_event& event) noexcept {
  const sync::thread::id self = sync::this_thread_id();
  const detail::mutex_lock lock(mu_);
  const auto last = std::find_if(runs_.rbegin(), runs_.rend(), [&](const run& r) {
    return r.thread == self && r.started.id == event.id;
  });
  if (last != runs_.rend()) runs_.erase(std::next(last).base());
}

void watchdog::look() noexcept {
  for (;;) {
    run late;
    std::chrono::nanoseconds so_far{0};
    {
      const detail::mutex_lock lock(mu_);
      const clock::time_point now = time_.now();
      run* first = nullptr;
      for (run& r : runs_) {
        if (!r.reported && (first == nullptr || limit_of(r) < limit_of(*first))) first = &r;
      }
      next_look_ = first == nullptr ? clock::time_point::max() : limit_of(*first);
      if (next_look_ > now) {
        if (first != nullptr) looks_.reschedule(next_look_);
        return;
      }
      first->reported = true;
      late = *first;
      so_far = now - late.started.when;
    }
    options_.report(late.event(), so_far);
  }
}

}  // namespace takt::inline TAKT_ABI
