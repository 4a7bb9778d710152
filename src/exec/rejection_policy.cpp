#include <takt/exec/rejection_policy.hpp>

#include <stdexcept>
#include <utility>

namespace takt::inline TAKT_ABI {

rejection_policy rejection_policy::call(handler own) {
  if (own == nullptr) throw std::invalid_argument("takt::rejection_policy: the handler is empty");
  rejection_policy made(kind::call);
  made.own_ = std::move(own);
  return made;
}

}  // namespace takt::inline TAKT_ABI
