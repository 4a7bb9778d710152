#include <takt/base/detail/mpsc_queue.hpp>

#include "mpsc.hpp"

namespace bench {
namespace {

class takt_queue {
 public:
  struct item : takt::detail::mpsc_node {
    std::int64_t value = 0;
  };

  void push(item& pushed) { queue_.push(pushed); }

  template <class Function>
  void drain(Function function) {
    while (item* each = queue_.pop()) function(*each);
  }

 private:
  takt::detail::mpsc_queue<item> queue_;
};

}  // namespace

numbers mpsc_takt(const request& asked) { return mpsc_through<takt_queue>(asked); }

}  // namespace bench
