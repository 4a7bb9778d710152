#include <future>

#include "task.hpp"

bench::numbers bench::task_std_packaged_task(const request& asked) {
  return task_life(asked, [](auto f) { return std::packaged_task<std::int64_t()>(std::move(f)); });
}
