#include "churn.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr const char* naive = "naive_timer";
constexpr const char* pool = "takt::scheduled_pool";
constexpr const char* wheel = "takt::wheel_scheduler";
constexpr const char* unstamped = "takt::wheel_scheduler (stamp timer)";  // reads no clock
constexpr const char* java = "java ScheduledThreadPoolExecutor";
constexpr const char* netty = "Netty HashedWheelTimer";
constexpr const char* asio = "asio::steady_timer";

bar ahead_of(const char* peer, const char* subject, double at_least) {
  return {.subject = subject,
          .at_least = at_least,
          .of = peer,
          .metric = "both",
          .where = {{"pending", 1'000'000}}};
}

bar hardly_grows(const char* subject) {
  return {.subject = subject,
          .at_most = 2,
          .metric = "both",
          .where = {{"pending", 1'000'000}},
          .grown_from = {{"pending", 1'000}}};
}

}  // namespace

workload churn_workload() {
  workload what{.id = "churn",
                .title = "One-shots pending with delays of 10 to 110 s, then all cancelled",
                .metrics = {{"schedule", "ns"}, {"cancel", "ns"}, {"both", "ns"}},
                .parameters = {{"pending", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 100'000}}},
                .competitors = {{naive, churn_naive_timer},
                                {pool, churn_takt},
                                {"takt::scheduled_pool (future)", churn_takt_with_futures},
                                {wheel, churn_takt_wheel},
                                {unstamped, churn_takt_wheel_unstamped},
                                {java, churn_java},
                                {netty, churn_netty},
                                {asio, churn_asio},
                                {"libuv (no threads)", churn_libuv},
                                {"libevent (no threads)", churn_libevent}},
                .bars = {ahead_of(java, pool, 2)}};
  for (const char* const subject : {wheel, unstamped}) {
    // A competitor that is ahead of each thread-safe peer is ahead of the best one.
    for (const char* const peer : {naive, java, netty, asio}) {
      what.bars.push_back(ahead_of(peer, subject, 1.5));
    }
    what.bars.push_back(hardly_grows(subject));
  }
  return what;
}

// churn with up to ten times as many timers, for its plot, and so with fewer competitors.
workload growth_workload() {
  return {.id = "growth",
          .title = "As churn, with up to 10 M one-shots pending",
          .metrics = {{"schedule", "ns"}, {"cancel", "ns"}, {"both", "ns"}},
          .parameters = {{"pending",
                          {1'000, 10'000, 100'000, 1'000'000, 10'000'000},
                          {1'000, 100'000}}},
          .competitors = {{java, churn_java},
                          {pool, churn_takt},
                          {wheel, churn_takt_wheel},
                          {netty, churn_netty},
                          {asio, churn_asio}}};
}

}  // namespace bench
