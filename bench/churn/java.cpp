#include "peers/java.hpp"

#include <string>

#include "churn.hpp"

bench::numbers bench::churn_java(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  return ask_java_timers("churn " + std::to_string(pending) + ' ' +
                         std::to_string(churn_repetitions(pending)));
}
