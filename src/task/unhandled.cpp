#include <takt/task/unhandled.hpp>

#include <cstdio>

namespace takt::inline TAKT_ABI {
namespace {

void report(unhandled kind, const std::exception_ptr& error) noexcept {
  const char* const which = kind == unhandled::uncaught ? "uncaught" : "unobserved";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "takt: %s exception: %s\n", which, e.what());
  } catch (...) {
    std::fprintf(stderr, "takt: %s exception\n", which);
  }
}

}  // namespace

void detail::terminating_hook::on_unhandled(unhandled kind,
                                            const std::exception_ptr& error) const noexcept {
  if (kind == unhandled::uncaught) std::rethrow_exception(error);  // terminates: noexcept
  report(kind, error);
}

void detail::logging_hook::on_unhandled(unhandled kind,
                                        const std::exception_ptr& error) const noexcept {
  report(kind, error);
}

}  // namespace takt::inline TAKT_ABI
