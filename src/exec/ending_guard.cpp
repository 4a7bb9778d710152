#include "ending_guard.hpp"

#include <cstdio>
#include <exception>

namespace takt::inline TAKT_ABI {

void refuse_own_destruction(const char* component) noexcept {
  std::fprintf(
      stderr,
      "%s: destroyed by one of its own tasks, or within a call that ends it; the destructor would "
      "wait for its caller. Destroy it on another thread.\n",
      component);
  std::terminate();
}

}  // namespace takt::inline TAKT_ABI
