#include "reschedule.hpp"
#include "workloads.hpp"

namespace bench {

workload reschedule_workload() {
  return {.id = "reschedule",
          .title = "1 M one-shots pending, moved to a minute later",
          .metrics = {{"move", "ns"}},
          .competitors = {{"naive_timer (cancel, schedule)", reschedule_naive_timer},
                          {"takt::scheduled_pool", reschedule_takt},
                          {"takt::wheel_scheduler", reschedule_takt_wheel},
                          {"takt::wheel_scheduler (stamp timer)", reschedule_takt_wheel_unstamped},
                          {"asio::steady_timer", reschedule_asio},
                          {"libuv (no threads)", reschedule_libuv},
                          {"libevent (no threads)", reschedule_libevent}}};
}

}  // namespace bench
