#include <string>

#include "churn.hpp"
#include "peers/java.hpp"

namespace bench {
namespace {

numbers ask_netty(const std::string& question) {
  return ask_java("churn/NettyTimers.java", question,
                  {.path = "/usr/share/java/netty-common.jar", .package = "libnetty-java"});
}

}  // namespace

numbers churn_netty(const request& asked) {
  const auto pending = static_cast<std::size_t>(asked["pending"]);
  return ask_netty("churn " + std::to_string(pending) + ' ' +
                   std::to_string(churn_repetitions(pending)));
}

numbers churn_mt_netty(const request& asked) {
  return ask_netty("churn-mt " + std::to_string(churn_mt_pending) + ' ' +
                   std::to_string(asked["threads"]));
}

}  // namespace bench
