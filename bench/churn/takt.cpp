#include <type_traits>
#include <utility>

#include <takt/sched/scheduled_pool.hpp>

#include "churn.hpp"

namespace bench {
namespace {

// Handle is what the user keeps of a timer.
template <class Handle>
class takt_timers {
 public:
  explicit takt_timers(std::size_t count) {
    handles_.reserve(count);
    pool_.prestart();
  }

  void schedule(std::size_t /*index*/, std::chrono::nanoseconds delay, timer_callback callback) {
    if constexpr (std::is_same_v<Handle, takt::timer_handle>) {
      handles_.push_back(pool_.execute(delay, callback));
    } else {
      handles_.push_back(pool_.schedule(delay, callback));
    }
  }

  bool cancel(std::size_t index) {
    const Handle handle = std::move(handles_[index]);
    return handle.cancel() == takt::cancel_result::prevented;
  }

  void settle() { handles_.clear(); }

 private:
  std::vector<Handle> handles_;
  takt::scheduled_pool pool_{{.core = 1}};
};

}  // namespace

numbers churn_takt(const request& asked) {
  return churn_with<takt_timers<takt::timer_handle>>(asked);
}

numbers churn_takt_with_futures(const request& asked) {
  return churn_with<takt_timers<takt::scheduled_future<void>>>(asked);
}

}  // namespace bench
