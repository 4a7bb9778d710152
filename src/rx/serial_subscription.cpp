#include <takt/rx/serial_subscription.hpp>

#include <takt/base/detail/mutex.hpp>

#include "inner_subscription.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

class slot_core final : public detail::linked_core {
 public:
  explicit slot_core(bool unsubscribes_previous) noexcept
      : unsubscribes_previous_(unsubscribes_previous) {}

  void set(subscription next) {
    if (next.core() == this) return;
    {
      const detail::mutex_lock lock(mu_);
      if (!is_unsubscribed()) {
        current_.swap(next);
        if (!unsubscribes_previous_) return;
      }
    }
    next.unsubscribe();  // the previous one; or, if this is closed, the new one
  }

  subscription get() const noexcept {
    const detail::mutex_lock lock(mu_);
    return current_;
  }

 private:
  detail::subscription_link* take_inner() noexcept override {
    const detail::mutex_lock lock(mu_);
    return give_inner(current_, taken_);
  }

  const bool unsubscribes_previous_;
  mutable detail::mutex mu_;
  subscription current_ TAKT_GUARDED_BY(mu_);
  detail::subscription_link taken_;  // used by the thread that has taken the core
};

}  // namespace

subscription_slot::subscription_slot(bool unsubscribes_previous)
    : subscription(*new slot_core(unsubscribes_previous)) {}

void subscription_slot::set(const subscription& next) const {
  if (core() != nullptr) {
    static_cast<slot_core*>(core())->set(next);
  } else {
    next.unsubscribe();
  }
}

subscription subscription_slot::get() const {
  return core() == nullptr ? subscription() : static_cast<slot_core*>(core())->get();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
