#include "mpsc.hpp"
#include "workloads.hpp"

namespace bench {

workload mpsc_workload() {
  return {.id = "mpsc",
          .title = "1 M items from several threads to one",
          .metrics = {{"item", "ns/item"}},
          .parameters = {{"producers", {1, 2, 4}}},
          .competitors = {{"mutex + deque", mpsc_mutex_deque}, {"takt::mpsc_queue", mpsc_takt}},
          .bars = {{.subject = "takt::mpsc_queue", .at_least = 1.0, .of = "mutex + deque"}}};
}

}  // namespace bench
