#include <takt/base/detail/assert.hpp>

#if defined(TAKT_MODEL)
#include <string>

#include <takt/model/explore.hpp>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace takt::inline TAKT_ABI {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
#if defined(TAKT_MODEL)
  model::fail(std::string("assertion failed: ") + expression + " at " + file + ":" +
              std::to_string(line));
#else
  std::fprintf(stderr, "takt: assertion failed: %s at %s:%d\n", expression, file, line);
  std::abort();
#endif
}

}  // namespace takt::inline TAKT_ABI
