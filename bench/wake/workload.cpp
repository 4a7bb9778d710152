#include "wake.hpp"
#include "workloads.hpp"

namespace bench {

workload wake_workload() {
  return {.id = "wake",
          .title = "One task into an idle pool of 2 workers, until it runs",
          .metrics = {{"p50", "us"}, {"p99", "us"}},
          .competitors = {{"naive_pool", wake_naive_pool}, {"asio::thread_pool", wake_asio}}};
}

}  // namespace bench
