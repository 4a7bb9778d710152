#include "churn_mt.hpp"
#include "workloads.hpp"

namespace bench {

workload churn_mt_workload() {
  return {.id = "churn-mt",
          .title = "100 k one-shots pending, scheduled and cancelled by several threads",
          .metrics = {{"not the head", "ns/pair"}, {"new head", "ns/pair"}},
          .parameters = {{"threads", {1, 2, 4}, {1, 4}}},
          .competitors = {{"naive_timer", churn_mt_naive_timer},
                          {"takt::scheduled_pool", churn_mt_takt},
                          {"takt::wheel_scheduler", churn_mt_takt_wheel},
                          {"takt::wheel_scheduler (stamp timer)", churn_mt_takt_wheel_unstamped},
                          {"java ScheduledThreadPoolExecutor", churn_mt_java},
                          {"Netty HashedWheelTimer", churn_mt_netty},
                          {"asio::steady_timer", churn_mt_asio}}};
}

}  // namespace bench
