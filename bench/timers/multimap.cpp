#include <map>

#include "timers.hpp"

namespace bench {
namespace {

class multimap_timers {
 public:
  explicit multimap_timers(std::size_t count) : places_(count) {}

  void schedule(std::size_t i, std::int64_t deadline, const timer_value& value) {
    places_[i] = timers_.emplace(deadline, value);
  }

  timer_value cancel(std::size_t i) {
    const timer_value value = places_[i]->second;
    timers_.erase(places_[i]);
    return value;
  }

  template <class Function>
  void fire(std::int64_t now, Function function) {
    while (!timers_.empty() && timers_.begin()->first <= now) {
      function(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
  }

 private:
  using map = std::multimap<std::int64_t, timer_value>;

  map timers_;
  std::vector<map::iterator> places_;
};

}  // namespace

numbers timers_multimap(const request& asked) { return timers_with<multimap_timers>(asked); }

}  // namespace bench
