// Runs a script of list operations, two bytes each, beside std::list.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <utility>

#include <takt/base/intrusive_list.hpp>

namespace {

struct item : takt::list_node<> {
  std::size_t id = 0;
};
using item_list = takt::intrusive_list<item>;

void require(bool holds) {
  if (!holds) std::abort();
}

class script {
 public:
  script() {
    for (std::size_t i = 0; i < items_.size(); ++i) items_[i].id = i;
  }

  ~script() {
    for (item_list& list : lists_) {
      while (list.pop_front() != nullptr) {
      }
    }
  }

  void step(std::uint8_t operation, std::uint8_t argument) {
    const std::size_t w = argument & 1U;
    item_list& list = lists_[w];
    std::list<std::size_t>& model = models_[w];
    item& element = items_[(argument >> 1U) % items_.size()];
    const auto in_model = std::find(model.begin(), model.end(), element.id);
    const bool here = in_model != model.end();
    switch (operation % 7) {
      case 0:
        if (element.is_linked()) break;
        list.push_back(element);
        model.push_back(element.id);
        break;
      case 1:
        if (element.is_linked()) break;
        list.push_front(element);
        model.push_front(element.id);
        break;
      case 2: {
        item& added = items_[operation / 7 % items_.size()];
        if (!here || added.is_linked()) break;
        const auto at = list.insert(item_list::iterator_to(element), added);
        require(&*at == &added);
        model.insert(in_model, added.id);
        break;
      }
      case 3: {
        const item* const first = list.pop_front();
        require((first == nullptr) == model.empty());
        if (first == nullptr) break;
        require(first->id == model.front());
        model.pop_front();
        break;
      }
      case 4:
        if (!here) break;
        if (operation >= 128) {
          item_list::unlink(element);
          model.erase(in_model);
        } else {
          const auto next = list.erase(element);
          const auto next_in_model = model.erase(in_model);
          require((next == list.end()) == (next_in_model == model.end()));
          require(next == list.end() || next->id == *next_in_model);
        }
        break;
      case 5:
        list.splice(here ? item_list::iterator_to(element) : list.end(), lists_[1 - w]);
        model.splice(in_model, models_[1 - w]);
        break;
      case 6: {
        item_list moved = std::move(list);
        list.splice(list.end(), moved);
        break;
      }
    }
    check();
  }

 private:
  void check() const {
    std::array<bool, 16> linked{};
    for (std::size_t w = 0; w < lists_.size(); ++w) {
      require(lists_[w].check_invariants());
      require(std::equal(lists_[w].begin(), lists_[w].end(), models_[w].begin(), models_[w].end(),
                         [](const item& i, std::size_t id) { return i.id == id; }));
      require(lists_[w].empty() == models_[w].empty());
      for (const std::size_t id : models_[w]) linked[id] = true;
    }
    for (const item& i : items_) require(i.is_linked() == linked[i.id]);
  }

  std::array<item, 16> items_;
  std::array<item_list, 2> lists_;
  std::array<std::list<std::size_t>, 2> models_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  script s;
  for (std::size_t i = 0; i + 1 < size; i += 2) s.step(data[i], data[i + 1]);
  return 0;
}
