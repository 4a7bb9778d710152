#include "submit.hpp"
#include "workloads.hpp"

namespace bench {

workload submit_workload() {
  return {.id = "submit",
          .title = "1 M empty tasks from outside threads into a pool of 2 workers",
          .metrics = {{"task", "ns/task"}},
          .parameters = {{"producers", {1, 2, 4}}},
          .competitors = {{"naive_pool", submit_naive_pool}, {"asio::thread_pool", submit_asio}}};
}

}  // namespace bench
