#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sanitizer.hpp"

extern "C" {
void takt_model_switch(void** save, void* load);
void takt_model_start();
}

// The C++ runtime's exceptions in flight of an OS thread. The Itanium ABI fixes the layout.
struct takt_eh_globals {
  void* caught;
  unsigned int uncaught;
};
namespace __cxxabiv1 {
extern "C" struct __cxa_eh_globals* __cxa_get_globals() noexcept;
}

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

takt_eh_globals& eh_globals() noexcept {
  return *reinterpret_cast<takt_eh_globals*>(__cxxabiv1::__cxa_get_globals());
}

std::size_t page_size() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

fiber* leaving = nullptr;  // the fiber that switched to the running one

}  // namespace

fiber::fiber(std::size_t stack_size) : size_(stack_size) {
  const std::size_t guard = page_size();
  void* memory = mmap(nullptr, size_ + guard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, guard, PROT_NONE);
  stack_ = static_cast<char*>(memory) + guard;
  mapped_ = true;
}

fiber::~fiber() {
  if (own_tsan_fiber_) sanitizer::tsan_destroy_fiber(tsan_fiber_);
  if (mapped_) munmap(stack_ - page_size(), size_ + page_size());
}

void enter_fiber(void* self) noexcept {
  auto& f = *static_cast<fiber*>(self);
  f.arrived();
  f.run_(f.argument_);
}

void fiber::prepare(entry run, void* argument) noexcept {
  run_ = run;
  argument_ = argument;
  caught_exceptions_ = nullptr;
  uncaught_exceptions_ = 0;
  asan_fake_stack_ = nullptr;
  sanitizer::asan_unpoison(stack_, size_);
  if (own_tsan_fiber_) sanitizer::tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = sanitizer::tsan_create_fiber();
  own_tsan_fiber_ = tsan_fiber_ != nullptr;

  // The frame that takt_model_switch pops. takt_model_start finds its function and argument in two
  // callee-saved registers.
  const auto top = reinterpret_cast<std::uintptr_t>(stack_ + size_) & ~std::uintptr_t{15};
  const auto start = reinterpret_cast<std::uintptr_t>(&takt_model_start);
  const auto enter = reinterpret_cast<std::uintptr_t>(&enter_fiber);
  const auto self = reinterpret_cast<std::uintptr_t>(this);
#if defined(__x86_64__)
  // r15 r14 r13 r12 rbx rbp and the return address, after which the stack is aligned again
  const std::uintptr_t frame[] = {0, 0, enter, self, 0, 0, start};
  auto* at = reinterpret_cast<void*>(top - 16 - sizeof frame);
  std::memcpy(at, frame, sizeof frame);
#else
  // x19 x20 ... x29 x30, then the floating-point registers
  std::uintptr_t frame[20] = {self, enter};
  frame[11] = start;
  auto* at = reinterpret_cast<void*>(top - sizeof frame);
  std::memcpy(at, frame, sizeof frame);
#endif
  stack_pointer_ = at;
}

void fiber::switch_to(fiber& to) noexcept {
  depart(to, false);
  arrived();
}

void fiber::leave_to(fiber& to) noexcept {
  depart(to, true);
  std::abort();
}

void fiber::depart(fiber& to, bool for_good) noexcept {
  auto& globals = eh_globals();
  caught_exceptions_ = globals.caught;
  uncaught_exceptions_ = globals.uncaught;
  globals.caught = to.caught_exceptions_;
  globals.uncaught = to.uncaught_exceptions_;

  if (!mapped_) tsan_fiber_ = sanitizer::tsan_current_fiber();
  leaving = this;
  sanitizer::tsan_release(&leaving);  // acquired by the host in arrived()
  sanitizer::asan_start_switch(for_good ? nullptr : &asan_fake_stack_, to.stack_, to.size_);
  sanitizer::tsan_switch_to(to.tsan_fiber_);
  takt_model_switch(&stack_pointer_, to.stack_pointer_);
}

void fiber::arrived() noexcept {
  const void* bottom = nullptr;
  std::size_t size = 0;
  sanitizer::asan_finish_switch(asan_fake_stack_, &bottom, &size);
  if (!mapped_) sanitizer::tsan_acquire(&leaving);
  if (!leaving->mapped_) {  // the host's stack: its bounds are known now
    leaving->stack_ = static_cast<char*>(const_cast<void*>(bottom));
    leaving->size_ = size;
  }
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
