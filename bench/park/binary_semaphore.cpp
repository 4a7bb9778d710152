#include <semaphore>

#include "park.hpp"

namespace bench {
namespace {

class semaphore_parker {
 public:
  void park() { token_.acquire(); }
  void unpark() { token_.release(); }

 private:
  std::binary_semaphore token_{0};
};

}  // namespace

numbers park_binary_semaphore(const request& asked) { return ping_pong<semaphore_parker>(asked); }

}  // namespace bench
