/// \file
/// Objects that live as long as somebody refers to them.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Counts the references to an object, and deletes it when the last one is given up. Derive from
/// it, with the class itself as its argument; made with `new`, which is the first reference.
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
/// **Memory ordering**: all that was done with the object before a release() happens before its
/// destruction. **Thread safety**: all members, by anyone who has a reference.
///
/// The count is written with every reference: with an Alignment of cache_line it is apart from what
/// others read.
template <class Derived, std::size_t Alignment = alignof(std::size_t)>
class ref_counted {
 public:
  /// One more reference, or several; the caller has one.
  void retain(std::size_t more = 1) noexcept {
    references_.fetch_add(more, std::memory_order_relaxed);  // relaxed: the caller has a reference
  }
  /// Gives up several; the caller has another one.
  void give_up(std::size_t references) noexcept {
    // release: as in release(), of which none is the last here
    references_.fetch_sub(references, std::memory_order_release);
  }

  /// One less; the last one deletes the object.
  void release() noexcept {
    // acquire, acq_rel: all uses by others happen before the destruction by the last. Who has the
    // only one need not write: nobody can come to have another.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete static_cast<Derived*>(this);
    }
  }

 private:
  friend Derived;
  ref_counted() = default;
  ~ref_counted() = default;

  // Written by who takes or gives up a reference.
  alignas(Alignment) alignas(sync::atomic<std::size_t>) sync::atomic<std::size_t> references_{1};
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
