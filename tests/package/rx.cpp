// A consumer of takt::rx.
#include <takt/exec/inline_executor.hpp>
#include <takt/rx/worker.hpp>

int main() {
  takt::inline_executor inline_executor;
  takt::rx::worker worker(inline_executor);
  bool ran = false;
  worker.schedule([&] { ran = true; });
  return ran ? 0 : 1;
}
