/// \file
/// A minimal observable for tests.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Callbacks of a subscriber of a test_observable; each may be empty.
template <class T>
struct test_observer {
  std::function<void(const T&)> next{};
  std::function<void(const std::exception_ptr&)> error{};
  std::function<void()> complete{};
};

/// Delivers values to the observer of one subscription. A test_observable passes it to its
/// function; see there for an example. After error(), complete() or unsubscribing it delivers
/// nothing more.
///
/// Copies name the same subscriber. **Thread safety**: for one thread.
template <class T>
class test_subscriber {
 public:
  explicit test_subscriber(test_observer<T> to)
      : state_(std::make_shared<state>(state{std::move(to), rx::subscription::empty()})) {}

  void next(const T& value) const {
    if (!is_closed() && state_->to.next) state_->to.next(value);
  }
  void error(const std::exception_ptr& e) const {
    end([&] {
      if (state_->to.error) state_->to.error(e);
    });
  }
  void complete() const {
    end([&] {
      if (state_->to.complete) state_->to.complete();
    });
  }
  [[nodiscard]] bool is_closed() const noexcept {
    return state_->stopped || state_->held.is_unsubscribed();
  }
  /// Returns the subscription, which closes after error() or complete(); add teardowns to it.
  [[nodiscard]] const rx::subscription& subscription() const noexcept { return state_->held; }

 private:
  struct state {
    test_observer<T> to;
    rx::subscription held;
    bool stopped = false;
  };

  template <class F>
  void end(F notify) const {
    if (is_closed()) return;
    const std::shared_ptr<state> kept = state_;
    kept->stopped = true;
    try {
      notify();
    } catch (...) {
      kept->held.unsubscribe();
      throw;
    }
    kept->held.unsubscribe();
  }

  std::shared_ptr<state> state_;
};

/// A source of values that can be subscribed to: as much of an Observable as tests of schedulers
/// need. It has no operators and is not for programs.
///
/// \code
/// takt::rx::test_observable<int> ticks([&](const takt::rx::test_subscriber<int>& to) {
///   to.subscription().add(async.schedule(1s, [to](auto& self, int n) {
///     to.next(n);
///     self.schedule(1s, n + 1);
///   }, 0));
/// });
/// test.expect(ticks, "^ 2500ms !").to_be("1s a 999ms b", {{"a", 0}, {"b", 1}});
/// \endcode
///
/// Copies name the same observable. **Thread safety**: for one thread.
template <class T>
class test_observable {
 public:
  using value_type = T;

  explicit test_observable(std::function<void(const test_subscriber<T>&)> on_subscribe)
      : on_subscribe_(std::make_shared<std::function<void(const test_subscriber<T>&)>>(
            std::move(on_subscribe))) {}

  /// Calls the function with a new subscriber. \return the subscription.
  subscription subscribe(test_observer<T> to) const {
    const test_subscriber<T> made(std::move(to));
    (*on_subscribe_)(made);
    return made.subscription();
  }

 private:
  std::shared_ptr<std::function<void(const test_subscriber<T>&)>> on_subscribe_;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
