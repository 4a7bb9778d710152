#include "peers/java.hpp"

#include <string>

#include "churn.hpp"

bench::numbers bench::churn_java(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  return ask_java("scheduled/JavaTimers.java", "churn " + std::to_string(pending) + ' ' +
                                                   std::to_string(churn_repetitions(pending)));
}

bench::numbers bench::churn_mt_java(const request& asked) {
  return ask_java("scheduled/JavaTimers.java", "churn-mt " + std::to_string(churn_mt_pending) +
                                                   ' ' + std::to_string(asked["threads"]));
}
