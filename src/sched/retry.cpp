#include <takt/sched/retry.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

namespace takt::inline TAKT_ABI {

using std::chrono::nanoseconds;

nanoseconds backoff::delay_after(std::size_t failures) const noexcept {
  if (initial == nanoseconds(0) || failures == 0) return nanoseconds(0);
  // In floating point, so that a large result does not wrap around.
  const double delay =
      static_cast<double>(initial.count()) * std::pow(factor, static_cast<double>(failures - 1));
  if (!(delay < static_cast<double>(limit.count()))) return limit;
  return nanoseconds(static_cast<nanoseconds::rep>(delay));
}

void backoff::check() const {
  const auto check_delay = [](const char* name, nanoseconds delay) {
    if (delay >= nanoseconds(0)) return;
    throw std::invalid_argument(std::string("takt::backoff: ") + name + " is " +
                                std::to_string(delay.count()) + " ns; it has to be at least 0");
  };
  check_delay("initial", initial);
  check_delay("limit", limit);
  if (!(factor >= 1)) {  // or not a number
    throw std::invalid_argument("takt::backoff: factor is " + std::to_string(factor) +
                                "; it has to be at least 1");
  }
  if (attempts == 0) {
    throw std::invalid_argument("takt::backoff: attempts is 0; it has to be at least 1");
  }
}

}  // namespace takt::inline TAKT_ABI
