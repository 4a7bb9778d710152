#include <takt/observe/task_statistics.hpp>

namespace takt::inline TAKT_ABI {

void task_statistics::on_event(const task_event& event) noexcept {
  switch (event.what) {
    case task_event::kind::submitted:
      submitted_.add();
      break;
    case task_event::kind::rejected:
      rejected_.add();
      break;
    case task_event::kind::started:
      delays_.record(event.delay());
      started_.add();
      break;
    case task_event::kind::ran:
    case task_event::kind::finished:
      run_times_.record(event.run_time());
      (event.what == task_event::kind::ran ? ran_ : finished_).add();
      if (event.failed) failed_.add();
      break;
    case task_event::kind::cancelled:
      cancelled_.add();
      break;
    case task_event::kind::returned:
      returned_.add();
      break;
    case task_event::kind::missed:
      missed_.add(event.runs_missed);
      break;
  }
}

task_totals task_statistics::totals() const noexcept {
  // In the reverse order of the additions for a task, so that no difference is negative: see
  // counter.
  task_totals seen;
  seen.failed = failed_.value();
  seen.missed = missed_.value();
  seen.returned = returned_.value();
  seen.cancelled = cancelled_.value();
  seen.rejected = rejected_.value();
  seen.finished = finished_.value();
  seen.ran = ran_.value();
  seen.started = started_.value();
  seen.submitted = submitted_.value();
  return seen;
}

}  // namespace takt::inline TAKT_ABI
