#include <takt/task/future_task.hpp>

#include "task.hpp"

bench::numbers bench::task_takt(const request& asked) {
  return task_life(asked, [](auto f) { return takt::future_task<std::int64_t>(std::move(f)); });
}
