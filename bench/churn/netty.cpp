#include <string>

#include "churn.hpp"
#include "peers/java.hpp"

bench::numbers bench::churn_netty(const request& asked) {
  return ask_netty("churn " + std::to_string(asked["pending"]) + ' ' +
                   std::to_string(churn_repetitions(asked)));
}
