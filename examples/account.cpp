// Data without a lock: only tasks of one serial executor use it, on any thread of the pool.
#include <cstdio>
#include <thread>

#include <takt/takt.hpp>

int main() {
  takt::thread_pool pool{{.core_threads = 4}};
  takt::serial_executor account{pool};
  long balance = 0;  // used only by tasks of `account`

  auto customer = [&] {
    for (int i = 0; i < 1000; ++i) {
      account.execute([&balance] { balance += 10; });
      account.execute([&balance] { balance -= 9; });
    }
  };
  std::thread one(customer);
  std::thread two(customer);
  one.join();
  two.join();

  const long now =
      account.submit([&balance] { return balance; }).get();  // runs after all tasks above
  std::printf("balance: %ld\n", now);
  return now == 2000 ? 0 : 1;
}
