/// \file
/// Intrusive reference counting.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A base class that counts references to its object and deletes the object with the last one.
/// Derive with the class itself as the argument; create objects with `new`, which counts as the
/// first reference.
///
/// \code
/// class state : public takt::detail::ref_counted<state> { ... };
///
/// auto* s = new state;
/// s->retain();                                       // for another thread
/// std::jthread t{[s] { use(*s); s->release(); }};
/// s->release();
/// \endcode
///
/// **Memory ordering**: every use of the object before a release() happens before its destruction.
/// **Thread safety**: all members, from any thread that owns a reference.
///
/// Each retain() and release() writes the count. With an Alignment of cache_line the count starts a
/// cache line. The first field of the derived class needs the same alignment, otherwise it may
/// share that line.
template <class Derived, std::size_t Alignment = alignof(std::size_t)>
class ref_counted {
 public:
  /// Adds `count` references. The caller owns one.
  void retain(std::size_t count = 1) noexcept {
    // relaxed: the caller owns a reference
    references_.fetch_add(count, std::memory_order_relaxed);
  }
  /// Drops several references; the caller owns at least one more.
  void give_up(std::size_t references) noexcept {
    // release: as in release(), but none of these is the last reference
    references_.fetch_sub(references, std::memory_order_release);
  }

  /// Drops one reference; the last one deletes the object.
  void release() noexcept {
    // acquire, acq_rel: all uses by other owners happen before the destruction. The only owner
    // skips the write: no other thread can gain a reference.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete static_cast<Derived*>(this);
    }
  }

 private:
  friend Derived;
  ref_counted() = default;
  ~ref_counted() = default;

  // Written by every owner of a reference.
  alignas(Alignment) alignas(sync::atomic<std::size_t>) sync::atomic<std::size_t> references_{1};
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
