// Passes work from any thread to the thread that owns the data, and stops without losing any.
#include <cstdio>
#include <thread>
#include <utility>

#include <takt/takt.hpp>

int main() {
  using job = takt::move_only_function<void() &&>;
  takt::channel<job> mailbox{{.capacity = 64}};
  long sum = 0;  // used only by the owner thread

  // Create both producers before either ends: the channel closes with its last producer.
  auto count = [&sum](takt::channel<job>::producer out) {
    for (int i = 1; i <= 1000; ++i) out.push([&sum, i] { sum += i; });
  };
  std::thread owner([jobs = mailbox.make_consumer()]() mutable {
    while (auto next = jobs.pop()) std::move (*next)();  // until every producer has ended
  });
  auto first = mailbox.make_producer();
  auto second = mailbox.make_producer();
  std::thread one(count, std::move(first));
  std::thread two(count, std::move(second));
  one.join();
  two.join();
  owner.join();

  constexpr long expected = 2L * (1000 * 1001 / 2);
  std::printf("sum %ld, expected %ld\n", sum, expected);
  return sum == expected ? 0 : 1;
}
