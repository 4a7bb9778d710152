#include <takt/rx/marble_observable.hpp>

#include <string>
#include <typeinfo>

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

struct error_text {
  const std::type_info* type = nullptr;
  std::string text{};
  friend bool operator==(const error_text&, const error_text&) = default;
};

error_text text_of(const std::exception_ptr& e) {
  if (e == nullptr) return {};
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    return {&typeid(known), known.what()};
  } catch (...) {
    return {&typeid(void), {}};
  }
}

}  // namespace

bool same_error(const std::exception_ptr& a, const std::exception_ptr& b) {
  return a == b || text_of(a) == text_of(b);
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
