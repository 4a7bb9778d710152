#include "allocation.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <takt/model/engine.hpp>

#include "sanitizer.hpp"

#if defined(TAKT_MODEL_ASAN) || defined(TAKT_MODEL_TSAN)

namespace takt::inline TAKT_ABI {
namespace model {
bool track_allocations(bool) noexcept { return false; }
allocations end_of_allocations() noexcept { return {}; }
}  // namespace model
}  // namespace takt::inline TAKT_ABI

#else

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

// Precedes every block. Live blocks of the run are linked in one list, freed ones in another.
struct alignas(std::max_align_t) header {
  header* previous;
  header* next;
  void* start;  // the result of malloc
  std::size_t size;
  enum class state : std::uint32_t { outside, alive, freed } where;
};

bool tracking = false;
header alive{&alive, &alive, nullptr, 0, header::state::outside};
header freed{&freed, &freed, nullptr, 0, header::state::outside};

void link(header& list, header& h) noexcept {
  h.previous = list.previous;
  h.next = &list;
  h.previous->next = &h;
  list.previous = &h;
}
void unlink(header& h) noexcept {
  h.previous->next = h.next;
  h.next->previous = h.previous;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  const std::size_t room = sizeof(header) + (alignment > alignof(header) ? alignment : 0);
  if (size > SIZE_MAX - room) return nullptr;
  void* start = std::malloc(size + room);
  if (start == nullptr) return nullptr;
  auto at = reinterpret_cast<std::uintptr_t>(start) + sizeof(header);
  if (alignment > alignof(header)) at = (at + alignment - 1) & ~(alignment - 1);
  auto* h = new (reinterpret_cast<void*>(at - sizeof(header)))
      header{nullptr, nullptr, start, size, header::state::outside};
  if (tracking) {
    h->where = header::state::alive;
    link(alive, *h);
  }
  return reinterpret_cast<void*>(at);
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  auto* h = reinterpret_cast<header*>(static_cast<char*>(block) - sizeof(header));
  switch (h->where) {
    case header::state::outside:
      std::free(h->start);
      return;
    case header::state::alive:
      unlink(*h);
      h->where = header::state::freed;
      link(freed, *h);
      return;
    case header::state::freed:
      fail("double free of a block of " + std::to_string(h->size) + " bytes");
  }
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

bool track_allocations(bool on) noexcept { return std::exchange(tracking, on); }

allocations end_of_allocations() noexcept {
  tracking = false;
  for (header* h = freed.next; h != &freed;) {
    header* const next = h->next;
    std::free(h->start);
    h = next;
  }
  freed.previous = freed.next = &freed;
  allocations left;
  for (header* h = alive.next; h != &alive;) {
    header* const next = h->next;
    ++left.blocks;
    left.bytes += h->size;
    h->where = header::state::outside;
    h = next;
  }
  alive.previous = alive.next = &alive;
  return left;
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI

using takt::model::allocate;
using takt::model::allocate_or_throw;
using takt::model::release;

void* operator new(std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, 1); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }

#endif
