#include "churn.hpp"
#include "workloads.hpp"

namespace bench {

workload churn_workload() {
  constexpr const char* pool = "takt::scheduled_pool";
  constexpr const char* java = "java ScheduledThreadPoolExecutor";
  return {.id = "churn",
          .title = "One-shots pending with delays of 10 to 110 s, then all cancelled",
          .metrics = {{"schedule", "ns"}, {"cancel", "ns"}, {"both", "ns"}},
          .parameters = {{"pending", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 100'000}}},
          .competitors = {{"naive_timer", churn_naive_timer},
                          {pool, churn_takt},
                          {"takt::scheduled_pool (future)", churn_takt_with_futures},
                          {java, churn_java},
                          {"asio::steady_timer", churn_asio},
                          {"libuv (no threads)", churn_libuv},
                          {"libevent (no threads)", churn_libevent}},
          .bars = {{.who = pool,
                    .at_least = 2,
                    .of = java,
                    .metric = "both",
                    .where = {{"pending", 1'000'000}}}}};
}

}  // namespace bench
