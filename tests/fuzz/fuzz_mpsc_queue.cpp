// Compares two queues, used by one thread, with two std::deque: order, emptiness, elements that
// move from one queue to the other. The model checker covers concurrency.
#include <array>
#include <deque>

#include <takt/base/detail/mpsc_queue.hpp>

#include "fuzz.hpp"

namespace {

struct element : takt::detail::mpsc_node {
  bool queued = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<element, 8> elements;
  std::array<takt::detail::mpsc_queue<element>, 2> queues;
  std::array<std::deque<element*>, 2> models;
  script input(data, size);

  auto pop = [&](std::size_t i) {
    element* const first = queues[i].pop();
    EXPECT(first == (models[i].empty() ? nullptr : models[i].front()));
    if (first == nullptr) return false;
    models[i].pop_front();
    first->queued = false;
    return true;
  };

  while (!input.done()) {
    const std::size_t i = input.next(2);
    element& e = elements[input.next(2 * elements.size()) / 2];
    if (input.next(2) == 0) {
      pop(i);
    } else if (!e.queued) {
      queues[i].push(e);
      models[i].push_back(&e);
      e.queued = true;
    }
    EXPECT(queues[i].empty() == models[i].empty());
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    while (pop(i)) {
    }
  }
  return 0;
}
