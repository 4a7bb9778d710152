// A stack of its own to run on, switched to and from by hand.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// The host (the thread that explores) and every thread of a run are fibers. Exactly one runs at a
// time. A fiber keeps what the C++ runtime keeps per OS thread about exceptions in flight.
class fiber {
 public:
  using entry = void (*)(void*);

  fiber() noexcept = default;  // the host: adopts the stack it is first switched away from
  explicit fiber(std::size_t stack_size);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  // Lets the next switch to this fiber call run(argument), on an empty stack. `run` never returns;
  // it ends by switching away for good.
  void prepare(entry run, void* argument) noexcept;

  // Goes on with `to`, and returns when somebody switches back.
  void switch_to(fiber& to) noexcept;
  // The same, for good: nobody will switch back.
  [[noreturn]] void leave_to(fiber& to) noexcept;

 private:
  friend void enter_fiber(void* self) noexcept;
  void depart(fiber& to, bool for_good) noexcept;
  void arrived() noexcept;

  void* stack_pointer_ = nullptr;  // while it is not running; not on its own stack
  char* stack_ = nullptr;          // lowest usable address
  std::size_t size_ = 0;
  bool mapped_ = false;  // the stack is ours, not the host's
  entry run_ = nullptr;
  void* argument_ = nullptr;
  void* caught_exceptions_ = nullptr;  // __cxa_eh_globals of this fiber
  unsigned int uncaught_exceptions_ = 0;
  void* asan_fake_stack_ = nullptr;
  void* tsan_fiber_ = nullptr;
  bool own_tsan_fiber_ = false;
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
