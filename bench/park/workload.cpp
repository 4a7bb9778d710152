#include "park.hpp"
#include "workloads.hpp"

namespace bench {

workload park_workload() {
  return {.id = "park",
          .title = "Two threads that wake each other in turn",
          .metrics = {{"round trip", "ns"}},
          .competitors = {{"mutex + condition_variable", park_condition_variable},
                          {"std::binary_semaphore", park_binary_semaphore},
                          {"takt::parker", park_takt}}};  // no bar: none is met reliably
}

}  // namespace bench
