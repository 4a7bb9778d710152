#include <deque>
#include <mutex>

#include "mpsc.hpp"

namespace bench {
namespace {

// The consumer swaps out the whole deque, so it takes the lock once for many items.
class mutex_deque {
 public:
  struct item {
    std::int64_t value = 0;
  };

  void push(item& pushed) {
    const std::lock_guard lock(mutex_);
    items_.push_back(&pushed);
  }

  template <class Function>
  void drain(Function function) {
    {
      const std::lock_guard lock(mutex_);
      items_.swap(drained_);
    }
    for (item* each : drained_) function(*each);
    drained_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<item*> items_;
  std::deque<item*> drained_;  // used only by the consumer
};

}  // namespace

numbers mpsc_mutex_deque(const request& asked) { return mpsc_through<mutex_deque>(asked); }

}  // namespace bench
