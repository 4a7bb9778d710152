// A consumer of takt::service.
#include <takt/service/channel.hpp>

int main() {
  takt::channel<int> numbers{{.capacity = 1}};
  auto out = numbers.make_producer();
  auto in = numbers.make_consumer();
  return out.push(42) && in.pop() == 42 ? 0 : 1;
}
