#include <takt/rx/loop_requests.hpp>

#include <optional>

#include <takt/base/detail/require_callable.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

loop_requests::~loop_requests() {
  for (handle h = core_->calls.find_from(0); h.generation != 0;
       h = core_->calls.find_from(h.index + 1)) {
    clear(h);
  }
  core_->release();
}

loop_requests::handle loop_requests::set(move_only_function<void()> f) {
  detail::require_callable(f, "takt::rx::loop_requests: the function is empty");
  if (core_->calls.full()) core_->calls.grow();
  const handle made = core_->calls.add(std::move(f));
  core_->retain();
  try {
    queue_.execute([kept = detail::intrusive_ptr<core>(core_), made] {
      if (kept->calls.find(made) == nullptr) return;
      auto call = kept->calls.take(made.index);
      (*call)();
    });
  } catch (...) {
    clear(made);
    throw;
  }
  return made;
}

bool loop_requests::clear(handle which) noexcept {
  if (core_->calls.find(which) == nullptr) return false;
  core_->calls.take(which.index);  // removed first, then destroyed
  return true;
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
