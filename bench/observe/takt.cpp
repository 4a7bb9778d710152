#include <takt/observe/histogram.hpp>
#include <takt/observe/task_statistics.hpp>

#include "observe.hpp"

namespace bench {
namespace {

class histogram_recorder {
 public:
  void record(std::chrono::nanoseconds duration) { histogram_.record(duration); }
  [[nodiscard]] std::uint64_t count() const { return histogram_.snapshot().count(); }

 private:
  takt::histogram histogram_;
};

// One record is the whole life of a task: submitted, started, finished. Without time stamps.
class statistics_recorder {
 public:
  void record(std::chrono::nanoseconds duration) {
    using takt::task_event;
    const task_event::time_point due{};
    const task_event::time_point began = due + duration;
    takt::task_observer& observer = statistics_;
    escape(observer);  // an emitter does not know the type of its observer
    observer.on_event({.what = task_event::kind::submitted, .when = due, .due = due});
    observer.on_event({.what = task_event::kind::started, .when = began, .due = due});
    observer.on_event(
        {.what = task_event::kind::finished, .when = began + duration, .due = due, .began = began});
  }
  [[nodiscard]] std::uint64_t count() const { return statistics_.totals().finished; }

 private:
  takt::task_statistics statistics_;
};

}  // namespace

numbers observe_takt_histogram(const request& asked) {
  return observe_recording<histogram_recorder>(asked);
}

numbers observe_takt_statistics(const request& asked) {
  return observe_recording<statistics_recorder>(asked);
}

}  // namespace bench
