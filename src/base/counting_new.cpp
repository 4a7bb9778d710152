// In a source file of its own: where GCC sees both these bodies and the calls, it reports free() as
// a mismatch with operator new.
#include "counting_new.hpp"

#include <cstdlib>
#include <new>

#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace {

struct allocation_count;
struct deallocation_count;
struct allocation_failure;
struct allocations_left;

[[maybe_unused]] void* counted(void* p) {
  ++sync::tls<std::size_t, allocation_count>::get();
  if (p != nullptr && !sync::tls<bool, allocation_failure>::get()) return p;
  std::size_t& left = sync::tls<std::size_t, allocations_left>::get();
  if (p != nullptr && left != 0) {
    --left;
    return p;
  }
  std::free(p);
  throw std::bad_alloc();
}

[[maybe_unused]] void counted_free(void* p) noexcept {
  if (p != nullptr) ++sync::tls<std::size_t, deallocation_count>::get();
  std::free(p);
}

}  // namespace

std::size_t allocations() noexcept { return sync::tls<std::size_t, allocation_count>::get(); }
std::size_t deallocations() noexcept { return sync::tls<std::size_t, deallocation_count>::get(); }

no_memory::no_memory(std::size_t after) noexcept {
  sync::tls<bool, allocation_failure>::get() = true;
  sync::tls<std::size_t, allocations_left>::get() = after;
}
no_memory::~no_memory() { sync::tls<bool, allocation_failure>::get() = false; }

}  // namespace takt::inline TAKT_ABI

#if !defined(TAKT_FOREIGN_NEW)

void* operator new(std::size_t size) { return takt::counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t align) {
  const auto a = static_cast<std::size_t>(align);
  return takt::counted(std::aligned_alloc(a, (size + a - 1) / a * a));
}
void operator delete(void* p) noexcept { takt::counted_free(p); }
void operator delete(void* p, std::size_t) noexcept { takt::counted_free(p); }
void operator delete(void* p, std::align_val_t) noexcept { takt::counted_free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { takt::counted_free(p); }

#endif
