#include <condition_variable>

#include <mutex>

#include "park.hpp"

namespace bench {
namespace {

class condition_parker {
 public:
  void park() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return token_; });
    token_ = false;
  }

  void unpark() {
    {
      const std::lock_guard lock(mutex_);
      token_ = true;
    }
    left_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  bool token_ = false;
};

}  // namespace

numbers park_condition_variable(const request& asked) { return ping_pong<condition_parker>(asked); }

}  // namespace bench
