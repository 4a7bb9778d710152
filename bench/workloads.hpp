/// \file
/// The workloads, each declared in <name>/workload.cpp.
#pragma once

#include "harness.hpp"

namespace bench {

workload submit_workload();
workload wake_workload();
workload churn_workload();
workload callable_workload();
workload mpsc_workload();
workload park_workload();
workload observe_workload();
workload task_workload();

}  // namespace bench
