#include "churn.hpp"
#include "workloads.hpp"

namespace bench {

workload churn_workload() {
  return {.id = "churn",
          .title = "One-shots pending with delays of 10 to 110 s, then all cancelled",
          .metrics = {{"schedule", "ns"}, {"cancel", "ns"}},
          .parameters = {{"pending", {1'000, 10'000, 100'000, 1'000'000}, {1'000, 100'000}}},
          .competitors = {{"naive_timer", churn_naive_timer}, {"asio::steady_timer", churn_asio}}};
}

}  // namespace bench
