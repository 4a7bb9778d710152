#include "peers/java.hpp"

#include <string>

#include "churn_mt.hpp"

bench::numbers bench::churn_mt_java(const request& asked) {
  return ask_java_timers("churn-mt " + std::to_string(churn_mt_pending) + ' ' +
                         std::to_string(asked["threads"]));
}
