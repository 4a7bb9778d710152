#include <takt/rx/refcount_subscription.hpp>

#include <cstddef>
#include <utility>

#include <takt/base/detail/sync.hpp>

#include "inner_subscription.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

class refcount_core final : public detail::linked_core {
 public:
  explicit refcount_core(subscription main) noexcept : main_(std::move(main)) {}

  // Adds a user. \return false if this is closing.
  bool enter() noexcept {
    std::size_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    do {  // relaxed below, too: no data is published
      if ((word & closing) != 0) return false;
    } while (!word_.compare_exchange_weak(word, word + one, std::memory_order_relaxed));
    return true;
  }
  void leave() {
    // acq_rel: what the other users did happens before the end
    if (word_.fetch_sub(one, std::memory_order_acq_rel) == (one | closing)) main_.unsubscribe();
  }

 private:
  static constexpr std::size_t closing = 1;
  static constexpr std::size_t one = 2;

  // Once this is closing and has no users, no other thread uses main_.
  detail::subscription_link* take_inner() noexcept override {
    // acq_rel: as in leave()
    if ((word_.fetch_or(closing, std::memory_order_acq_rel) & ~closing) != 0) return nullptr;
    return give_inner(main_, taken_);
  }

  subscription main_;
  detail::subscription_link taken_;
  // Atomic. The flag `closing`, and the number of users.
  sync::atomic<std::size_t> word_{0};
};

}  // namespace

refcount_subscription::refcount_subscription(const subscription& main)
    : subscription(*new refcount_core(main)) {}

subscription refcount_subscription::get() const {
  auto* const shared = static_cast<refcount_core*>(core());
  if (shared == nullptr) return {};
  // Created first, because this may throw.
  subscription one([main = static_cast<const subscription&>(*this)] {
    static_cast<refcount_core*>(main.core())->leave();
  });
  return shared->enter() ? one : subscription();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
