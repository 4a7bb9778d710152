#include <takt/base/detail/deferred_continuations.hpp>

#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace {

// Trivially destructible: a thread's last futures may complete after the destruction of its
// thread-local data.
struct deferred {
  void (*all)() noexcept = nullptr;
};

}  // namespace

bool detail::deferred_continuations::any() noexcept {
  return sync::tls<deferred>::get().all != nullptr;
}

bool detail::deferred_continuations::run() noexcept {
  deferred& here = sync::tls<deferred>::get();
  if (here.all == nullptr) return false;
  here.all();
  here.all = nullptr;  // after the call: a continuation that blocks runs the later ones
  return true;
}

void detail::deferred_continuations::add(void (*all)() noexcept) noexcept {
  deferred& here = sync::tls<deferred>::get();
  TAKT_ASSERT(here.all == nullptr || here.all == all);
  here.all = all;
}

}  // namespace takt::inline TAKT_ABI
