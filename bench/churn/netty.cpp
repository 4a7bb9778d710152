#include <string>

#include "churn.hpp"
#include "peers/java.hpp"

bench::numbers bench::churn_netty(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  return ask_netty("churn " + std::to_string(pending) + ' ' +
                   std::to_string(churn_repetitions(pending)));
}
