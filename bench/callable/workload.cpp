#include "callable.hpp"
#include "workloads.hpp"

namespace bench {

workload callable_workload() {
  const auto ahead = [](double at_least, std::int64_t bytes) -> bar {
    return {.subject = "takt::move_only_function",
            .at_least = at_least,
            .of = "std::function",
            .where = {{"bytes", bytes}}};
  };
  return {.id = "callable",
          .title = "A type-erased callable is made, moved, called and destroyed",
          .metrics = {{"life", "ns"}},
          .parameters = {{"bytes", {24, 48, 200}}, {"batch", {1, 32}}},
          .competitors = {{"std::function", callable_std_function},
                          {"takt::move_only_function", callable_takt}},
          // At 200 bytes both allocate once and execute as many instructions: a bar of 1 would be
          // met or missed by chance.
          .bars = {ahead(1.0, 24), ahead(1.0, 48), ahead(0.9, 200)}};
}

}  // namespace bench
