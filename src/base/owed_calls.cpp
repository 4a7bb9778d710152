#include <takt/base/owed_calls.hpp>

#include <takt/base/assert.hpp>
#include <takt/base/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace {

// Has no destructor: a thread's last futures may end after its thread-local data.
struct put_off {
  void (*all)() noexcept = nullptr;
};

}  // namespace

bool owed_calls::any() noexcept { return sync::tls<put_off>::get().all != nullptr; }

bool owed_calls::make() noexcept {
  put_off& here = sync::tls<put_off>::get();
  if (here.all == nullptr) return false;
  here.all();
  here.all = nullptr;  // not before: one of them may wait, for one that follows it
  return true;
}

void owed_calls::add(void (*all)() noexcept) noexcept {
  put_off& here = sync::tls<put_off>::get();
  TAKT_ASSERT(here.all == nullptr || here.all == all);
  here.all = all;
}

}  // namespace takt::inline TAKT_ABI
