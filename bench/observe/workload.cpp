#include "observe.hpp"
#include "workloads.hpp"

namespace bench {

workload observe_workload() {
  return {.id = "observe",
          .title = "4 M durations recorded; for task_statistics, 4 M tasks of three events each",
          .metrics = {{"record", "ns"}},
          .parameters = {{"threads", {1, 2}}},
          .competitors = {{"mutex + buckets", observe_mutex},
                          {"bare atomic", observe_bare_atomic},
                          {"takt::histogram", observe_takt_histogram},
                          {"takt::task_statistics", observe_takt_statistics}},
          .bars = {{.subject = "takt::histogram", .at_least = 1.0, .of = "mutex + buckets"}}};
}

}  // namespace bench
