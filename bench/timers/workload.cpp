#include "timers.hpp"
#include "workloads.hpp"

namespace bench {

workload timers_workload() {
  return {.id = "timers",
          .title = "1 M timers, without threads: scheduled, some cancelled, the others fired",
          .metrics = {{"schedule", "ns/timer"},
                      {"cancel", "ns/timer"},
                      {"fire", "ns/timer"},
                      {"life", "ns/timer"}},
          .parameters = {{"cancelled of 10", {9, 0}}},
          .competitors = {{"std::multimap", timers_multimap},
                          {"linked wheel", timers_linked_wheel},
                          {"takt::delay_heap", timers_delay_heap},
                          {"takt::hashed_wheel", timers_hashed_wheel},
                          {"takt::timer_wheel", timers_timer_wheel}},
          .bars = {{.subject = "takt::timer_wheel",
                    .at_least = 1.3,
                    .of = "linked wheel",
                    .metric = "life",
                    .where = {{"cancelled of 10", 9}}},
                   {.subject = "takt::timer_wheel",
                    .at_least = 2.5,
                    .of = "linked wheel",
                    .metric = "life",
                    .where = {{"cancelled of 10", 0}}}}};
}

}  // namespace bench
