#include "task.hpp"
#include "workloads.hpp"

namespace bench {

workload task_workload() {
  return {.id = "task",
          .title = "A task is made, run, and its result fetched from its future",
          .metrics = {{"life", "ns"}},
          .competitors = {{"std::packaged_task", task_std_packaged_task},
                          {"takt::future_task", task_takt}},
          .bars = {{.subject = "takt::future_task", .at_least = 1.0, .of = "std::packaged_task"}}};
}

}  // namespace bench
