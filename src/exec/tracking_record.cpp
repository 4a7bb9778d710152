#include <takt/exec/detail/tracking_record.hpp>

#include <stdexcept>
#include <string>

namespace takt::inline TAKT_ABI {
namespace detail {

tracking_record::~tracking_record() {
  const mutex_lock lock(mu_);  // uncontended; for the thread safety analysis
  while (tracked_task* t = cut_off_.pop_front()) delete t;
}

void tracking_record::call(std::unique_ptr<tracked_task> what, const sync::stop_token& stop) {
  {
    const mutex_lock lock(mu_);
    ++running_;
  }
  try {
    what->call(stop);
  } catch (...) {
    const mutex_lock lock(mu_);
    --running_;
    cut_off_.push_back(*what.release());
    throw;
  }
  what.reset();  // before the task counts as ended, and without the lock
  const mutex_lock lock(mu_);
  --running_;
}

std::vector<task> tracking_record::take_cut_off() {
  std::vector<task> taken;
  const mutex_lock lock(mu_);
  if (running_ != 0) {
    throw std::logic_error("takt::tracking_executor: " + std::to_string(running_) +
                           " tasks are still running");
  }
  std::size_t count = 0;
  for (const tracked_task& t : cut_off_) {
    static_cast<void>(t);
    ++count;
  }
  taken.reserve(count);
  while (!cut_off_.empty()) {
    taken.push_back(cut_off_.front().take());
    delete cut_off_.pop_front();
  }
  return taken;
}

void tracking_record::unwrap(task& t) noexcept {
  run* wrapped = t.target<run>();
  if (wrapped == nullptr) wrapped = t.target<run_with_token>();
  if (wrapped == nullptr) return;
  task given = wrapped->what().take();
  given.describe_as(t);
  t = std::move(given);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
