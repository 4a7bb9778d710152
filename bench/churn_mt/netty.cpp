#include <string>

#include "churn_mt.hpp"
#include "peers/java.hpp"

bench::numbers bench::churn_mt_netty(const request& asked) {
  return ask_netty("churn-mt " + std::to_string(churn_mt_pending) + ' ' +
                   std::to_string(asked["threads"]));
}
