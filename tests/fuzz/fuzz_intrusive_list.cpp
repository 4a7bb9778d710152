// Compares two intrusive lists with two std::list of the same elements.
#include <algorithm>
#include <array>
#include <list>

#include <takt/base/detail/intrusive_list.hpp>

#include "fuzz.hpp"

namespace {

struct element : takt::detail::list_node<> {};

struct pair_of_lists {
  takt::detail::intrusive_list<element> list;
  std::list<element*> model;

  void check() const {
    EXPECT(list.check_invariants());
    EXPECT(list.empty() == model.empty());
    EXPECT(std::equal(list.begin(), list.end(), model.begin(), model.end(),
                      [](const element& a, const element* b) { return &a == b; }));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<element, 16> elements;
  std::array<pair_of_lists, 2> lists;
  script input(data, size);

  while (!input.done()) {
    const std::size_t operation = input.next(7);
    auto& [list, model] = lists[input.next(2)];
    element& e = elements[input.next(elements.size())];
    const auto place = std::find(model.begin(), model.end(), &e);
    switch (operation) {
      case 0:
        if (!e.is_linked()) list.push_back(e), model.push_back(&e);
        break;
      case 1:
        if (!e.is_linked()) list.push_front(e), model.push_front(&e);
        break;
      case 2: {
        element* const first = list.pop_front();
        EXPECT(first == (model.empty() ? nullptr : model.front()));
        if (first != nullptr) model.pop_front();
        break;
      }
      case 3:
        if (place != model.end()) list.erase(e), model.erase(place);
        break;
      case 4: {  // before an element that is in the list
        element& added = elements[input.next(elements.size())];
        if (place == model.end() || added.is_linked()) break;
        const auto at = list.insert(takt::detail::intrusive_list<element>::iterator_to(e), added);
        EXPECT(&*at == &added);
        model.insert(place, &added);
        break;
      }
      case 5: {
        auto& [other, other_model] = &list == &lists[0].list ? lists[1] : lists[0];
        const auto position = place == model.end()
                                  ? list.end()
                                  : takt::detail::intrusive_list<element>::iterator_to(e);
        list.splice(position, other);
        model.splice(place, other_model);
        break;
      }
      default: {
        takt::detail::intrusive_list<element> moved(std::move(list));
        EXPECT(list.empty());  // NOLINT(bugprone-use-after-move): specified
        list.splice(list.begin(), moved);
        break;
      }
    }
    for (const auto& l : lists) l.check();
  }
  for (auto& l : lists) {
    while (l.list.pop_front() != nullptr) {
    }
  }
  return 0;
}
