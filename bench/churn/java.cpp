#include "peers/java.hpp"

#include <string>

#include "churn.hpp"

bench::numbers bench::churn_java(const request& asked) {
  return ask_java_timers("churn " + std::to_string(asked["pending"]) + ' ' +
                         std::to_string(churn_repetitions(asked)));
}
