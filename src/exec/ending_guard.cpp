#include "ending_guard.hpp"

#include <cstdio>
#include <exception>

namespace takt::inline TAKT_ABI {

void refuse_own_destruction(const char* component) noexcept {
  std::fprintf(
      stderr,
      "%s: destroyed by one of its own tasks, or by its own end; the destructor would wait "
      "for its caller: let another thread destroy it\n",
      component);
  std::terminate();
}

}  // namespace takt::inline TAKT_ABI
