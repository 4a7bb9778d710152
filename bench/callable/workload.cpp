#include "callable.hpp"
#include "workloads.hpp"

namespace bench {

workload callable_workload() {
  return {.id = "callable",
          .title = "A type-erased callable is made, moved, called and destroyed",
          .metrics = {{"life", "ns"}},
          .parameters = {{"bytes", {24, 48, 200}}},
          .competitors = {{"std::function", callable_std_function},
                          {"takt::move_only_function", callable_takt}},
          .bars = {{.who = "takt::move_only_function", .at_least = 1.0, .of = "std::function"}}};
}

}  // namespace bench
