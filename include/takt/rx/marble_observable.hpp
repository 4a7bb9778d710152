/// \file
/// Observables defined by diagrams, for tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/rx/marbles.hpp>
#include <takt/rx/test_observable.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

class marble_scheduler;

/// The error that a `#` stands for, unless another one is given.
class marble_error final : public std::runtime_error {
 public:
  marble_error() : std::runtime_error("error") {}
};

/// Maps characters of a diagram to values.
template <class T>
using marble_values = std::map<std::string, T, std::less<>>;

/// An event of a diagram, with its value or error.
template <class T>
struct marble_message {
  std::chrono::nanoseconds time{0};
  marble_kind kind = marble_kind::next;
  std::optional<T> value{};    ///< For `next`.
  std::exception_ptr error{};  ///< For `error`.
};

/// For the rx module: returns true if two errors have the same type and what(). \throws
/// std::bad_alloc.
[[nodiscard]] bool same_error(const std::exception_ptr& a, const std::exception_ptr& b);

template <class T>
bool operator==(const marble_message<T>& a, const marble_message<T>& b) {
  return a.time == b.time && a.kind == b.kind && a.value == b.value && same_error(a.error, b.error);
}

/// An observable that is defined by a diagram and records its subscriptions. Created by
/// marble_scheduler::hot() and cold().
///
/// \code
/// auto keys = test.hot("-a-b-|");
/// ...
/// EXPECT_EQ(keys.subscriptions().size(), 1);   // after test.flush()
/// \endcode
///
/// Copies name the same observable. The scheduler must outlive all of them.
///
/// **Thread safety**: for one thread.
template <class T>
class marble_observable : public test_observable<T> {
 public:
  /// Returns the events of the diagram.
  [[nodiscard]] const std::vector<marble_message<T>>& messages() const noexcept {
    return state_->messages;
  }
  /// Returns the subscriptions so far, in the order in which they began.
  [[nodiscard]] const std::vector<subscription_times>& subscriptions() const noexcept {
    return state_->log;
  }

 private:
  friend class marble_scheduler;
  struct state {
    virtual_time_scheduler& scheduler;
    std::vector<marble_message<T>> messages;
    std::vector<subscription_times> log{};
    std::vector<test_subscriber<T>> subscribers{};  // of a hot observable
    std::optional<std::size_t> end{};  // of a hot one: index of the message that ended it

    void log_subscription(const test_subscriber<T>& to, const std::shared_ptr<state>& self) {
      log.push_back({.subscribed = scheduler.elapsed()});
      const std::weak_ptr<state> kept = self;
      to.subscription().add([kept, index = log.size() - 1] {
        if (const auto s = kept.lock()) s->log[index].unsubscribed = s->scheduler.elapsed();
      });
    }
  };

  static void deliver(const test_subscriber<T>& to, const marble_message<T>& m) {
    if (m.kind == marble_kind::next) {
      to.next(*m.value);
    } else if (m.kind == marble_kind::error) {
      to.error(m.error);
    } else {
      to.complete();
    }
  }
  static void start_cold(const std::shared_ptr<state>& s, const test_subscriber<T>& to) {
    s->log_subscription(to, s);
    for (std::size_t i = 0; i < s->messages.size(); ++i) {
      to.subscription().add(s->scheduler.schedule(s->messages[i].time, [s, to, i](auto& self) {
        self.unsubscribe();
        deliver(to, s->messages[i]);
      }));
    }
  }
  static void start_hot(const std::shared_ptr<state>& s) {
    for (std::size_t i = 0; i < s->messages.size(); ++i) {
      s->scheduler.schedule(s->messages[i].time, [s, i](auto& self) {
        self.unsubscribe();
        if (s->end) return;
        if (s->messages[i].kind != marble_kind::next) s->end = i;
        for (const test_subscriber<T>& to : std::vector(s->subscribers))
          deliver(to, s->messages[i]);
        std::erase_if(s->subscribers, [](const auto& to) { return to.is_closed(); });
      });
    }
  }
  static void subscribe_hot(const std::shared_ptr<state>& s, const test_subscriber<T>& to) {
    s->log_subscription(to, s);
    if (s->end) return deliver(to, s->messages[*s->end]);
    s->subscribers.push_back(to);
  }

  marble_observable(std::shared_ptr<state> made, bool hot)
      : test_observable<T>([made, hot](const test_subscriber<T>& to) {
          hot ? subscribe_hot(made, to) : start_cold(made, to);
        }),
        state_(std::move(made)) {}

  std::shared_ptr<state> state_;
};

/// True if a T is a marble_observable.
template <class T>
inline constexpr bool is_marble_observable = false;
template <class T>
inline constexpr bool is_marble_observable<marble_observable<T>> = true;

}  // namespace rx

namespace detail {

/// The events of an observable that is a value of another one, relative to its delivery.
template <class T>
struct inner_messages {
  std::shared_ptr<std::vector<rx::marble_message<T>>> all =
      std::make_shared<std::vector<rx::marble_message<T>>>();

  friend bool operator==(const inner_messages& a, const inner_messages& b) {
    return *a.all == *b.all;
  }
};

/// What an expectation compares for a value: the value, or the events of an inner observable.
template <class T>
struct marble_content {
  using type = T;
  static T of(const T& value) { return value; }
};
template <class T>
struct marble_content<rx::marble_observable<T>> {
  using type = inner_messages<T>;
  static type of(const rx::marble_observable<T>& drawn) {
    type seen;
    *seen.all = drawn.messages();
    return seen;
  }
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
