// Fibers: stacks that are switched by hand.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// The host (the thread that calls explore()) and every thread of a run are fibers, of which exactly
// one runs at a time. A fiber saves the C++ runtime's per-thread state of exceptions in flight.
class fiber {
 public:
  using entry = void (*)(void*);

  fiber() noexcept = default;  // the host: adopts the current stack at its first switch
  explicit fiber(std::size_t stack_size);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  // Makes the next switch to this fiber call run(argument) on an empty stack. `run` never returns;
  // it ends with leave_to().
  void prepare(entry run, void* argument) noexcept;

  // Switches to `to`; returns when another fiber switches back.
  void switch_to(fiber& to) noexcept;
  // Switches to `to` for good: no fiber switches back.
  [[noreturn]] void leave_to(fiber& to) noexcept;

 private:
  friend void enter_fiber(void* self) noexcept;
  void depart(fiber& to, bool for_good) noexcept;
  void arrived() noexcept;

  void* stack_pointer_ = nullptr;  // valid while the fiber does not run
  char* stack_ = nullptr;          // lowest usable address
  std::size_t size_ = 0;
  bool mapped_ = false;  // this object owns the stack (false: the host)
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
