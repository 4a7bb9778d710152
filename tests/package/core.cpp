// A consumer of takt::core.
#include <takt/exec/thread_pool.hpp>

int main() {
  takt::thread_pool pool{{.core_threads = 1}};
  return pool.submit([] { return 42; }).get() == 42 ? 0 : 1;
}
