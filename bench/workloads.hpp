/// \file
/// The workloads. Each is declared in <name>/workload.cpp, those of pools in pool/workloads.cpp,
/// those of timers with threads in scheduled/workloads.cpp.
#pragma once

#include "harness.hpp"

namespace bench {

workload submit_workload();
workload spawn_workload();
workload wake_workload();
workload serial_workload();
workload stop_workload();
workload churn_workload();
workload growth_workload();
workload churn_mt_workload();
workload reschedule_workload();
workload rx_workload();
workload fire_workload();
workload periodic_workload();
workload late_workload();
workload idle_workload();
workload memory_workload();
workload memory_resident_workload();
workload stop_delayed_workload();
workload callable_workload();
workload mpsc_workload();
workload park_workload();
workload observe_workload();
workload task_workload();
workload timers_workload();

}  // namespace bench
