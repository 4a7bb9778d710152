#include <takt/rx/subscription.hpp>

#include <exception>

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

class empty_core final : public detail::linked_core {};

// A child of the subscription that it unsubscribes, whose memory it keeps. So it is destroyed with
// that subscription, and removes its stop callback then. That waits for a callback running on
// another thread, which needs nothing of this thread.
class stop_bridge final : public detail::linked_core {
 public:
  stop_bridge(sync::stop_token stop, detail::subscription_core& target, const unhandled_hook& hook)
      : target_(target), hook_(hook) {
    target_.retain();
    on_stop_.emplace(std::move(stop), unsubscribe_target{*this});
  }
  stop_bridge(const stop_bridge&) = delete;
  stop_bridge& operator=(const stop_bridge&) = delete;

 private:
  struct unsubscribe_target {
    stop_bridge& self;
    // unsubscribe() may destroy this callback while it runs.
    void operator()() const noexcept { self.target_.unsubscribe(self.hook_); }
  };

  ~stop_bridge() override {
    on_stop_.reset();
    target_.release();
  }

  detail::subscription_core& target_;
  const unhandled_hook& hook_;
  std::optional<sync::stop_callback<unsubscribe_target>> on_stop_;
};

}  // namespace

subscription subscription::empty() { return subscription(*new empty_core); }

void subscription::add(const subscription& child) const {
  if (child.core_ == nullptr) return;
  if (core_ != nullptr) {
    core_->add(*child.core_);
  } else {
    child.unsubscribe();
  }
}

void unsubscribe_on(sync::stop_token stop, const subscription& s, const unhandled_hook& hook) {
  if (s.core() == nullptr || !stop.stop_possible()) return;
  s.add(subscription(*new stop_bridge(std::move(stop), *s.core(), hook)));
}

sync::stop_token token_of(const subscription& s) {
  sync::stop_source source;
  s.add(stop_on_unsubscribe(source));
  return source.get_token();
}

subscription stop_on_unsubscribe(sync::stop_source source) {
  return {[source = std::move(source)]() mutable { source.request_stop(); }};
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
