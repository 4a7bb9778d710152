#include "rx.hpp"
#include "workloads.hpp"

namespace bench {

workload rx_workload() {
  return {.id = "rx",
          .title = "Actions that schedule themselves, in batches, and in virtual time",
          .metrics = {{"queue", "ns"}, {"asap", "ns"}, {"virtual time", "ns"}},
          .competitors = {{"rxjs", rx_rxjs}, {"takt", rx_takt}},
          .bars = {{.subject = "takt", .at_least = 1.0, .of = "rxjs"}}};
}

}  // namespace bench
