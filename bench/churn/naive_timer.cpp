#include "peers/naive_timer.hpp"

#include "churn.hpp"

namespace bench {
namespace {

class naive_timers {
 public:
  explicit naive_timers(std::size_t count) : ids_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    ids_[index] = timer_.schedule(delay, callback);
  }

  bool cancel(std::size_t index) { return timer_.cancel(ids_[index]); }

  void settle() {}

 private:
  std::vector<naive_timer::id> ids_;
  naive_timer timer_;
};

}  // namespace

numbers churn_naive_timer(const request& asked) { return churn_with<naive_timers>(asked); }

}  // namespace bench
