#include "peers/naive_timer.hpp"

#include "churn.hpp"

namespace bench {
namespace {

class naive_timers {
 public:
  using service = naive_timer;

  naive_timers(service& where, std::size_t count) : timer_(where), ids_(count) {}

  void schedule(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    ids_[index] = timer_.schedule(delay, callback);
  }

  bool cancel(std::size_t index) { return timer_.cancel(ids_[index]); }

  bool move(std::size_t index, std::chrono::nanoseconds delay, timer_callback callback) {
    const bool moved = cancel(index);
    schedule(index, delay, callback);
    return moved;
  }

  void settle() {}

 private:
  naive_timer& timer_;
  std::vector<naive_timer::id> ids_;
};

}  // namespace

numbers churn_naive_timer(const request& asked) { return churn_with<naive_timers>(asked); }
numbers churn_mt_naive_timer(const request& asked) { return churn_mt_with<naive_timers>(asked); }
numbers reschedule_naive_timer(const request& asked) {
  return reschedule_with<naive_timers>(asked);
}

}  // namespace bench
