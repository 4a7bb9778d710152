/// \file
/// Tests with marble diagrams in virtual time.
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
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/clock/clock.hpp>
#include <takt/rx/action.hpp>
#include <takt/rx/marble_observable.hpp>
#include <takt/rx/marbles.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/rx/test_observable.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Thrown if an expectation of a marble_scheduler is not met. what() contains both diagrams.
class marble_mismatch final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Options of a marble_scheduler.
struct marble_options {
  /// Receives each expectation that is not met. If empty, marble_mismatch is thrown.
  std::function<void(const std::string&)> report{};
};

/// For the rx module: an expectation that a marble_scheduler checks after flush().
class marble_expectation {
 public:
  virtual ~marble_expectation() = default;
  /// Returns a description of the difference; empty if the expectation is met.
  [[nodiscard]] virtual std::string problem() const = 0;
  bool ready = false;  ///< The expected events are known.

 protected:
  marble_expectation() = default;
  marble_expectation(const marble_expectation&) = default;
  marble_expectation& operator=(const marble_expectation&) = default;
};

/// An expectation about the events of an observable, returned by marble_scheduler::expect(). See
/// marble_scheduler for an example.
///
/// **Thread safety**: as for the marble_scheduler, which must outlive this object.
template <class T>
class expected_observable {
 public:
  using content = typename detail::marble_content<T>::type;

  /// Expects the events of a diagram.
  /// \throws std::invalid_argument if the diagram is wrong or a value is missing.
  void to_be(std::string_view diagram, const marble_values<T>& values = {},
             const std::exception_ptr& error = {}) const;
  /// Expects the events of another observable.
  void to_equal(const test_observable<T>& other) const;

 private:
  friend class marble_scheduler;
  class check;
  expected_observable(marble_scheduler& of, std::shared_ptr<check> made,
                      std::chrono::nanoseconds begin)
      : of_(of), check_(std::move(made)), begin_(begin) {}

  marble_scheduler& of_;
  std::shared_ptr<check> check_;
  std::chrono::nanoseconds begin_;
};

/// An expectation about the recorded subscriptions of an observable, returned by
/// marble_scheduler::expect_subscriptions().
///
/// **Thread safety**: as for the marble_scheduler, which must outlive this object.
class expected_subscriptions {
 public:
  /// Expects these subscriptions, in the order in which they began. An empty diagram means that
  /// there is no subscription. \throws std::invalid_argument if a diagram is wrong.
  void to_be(const std::vector<std::string>& diagrams) const;
  void to_be(std::string_view diagram) const { to_be(std::vector{std::string(diagram)}); }

 private:
  friend class marble_scheduler;
  class check;
  expected_subscriptions(marble_scheduler& of, std::shared_ptr<check> made)
      : of_(of), check_(std::move(made)) {}

  marble_scheduler& of_;
  std::shared_ptr<check> check_;
};

/// A virtual_time_scheduler for tests with diagrams. RxJS calls this a TestScheduler.
///
/// \code
/// takt::rx::marble_scheduler test;
/// takt::rx::async_scheduler async{test.loop()};   // must outlive run()
/// test.run([&] {
///   auto keys = test.hot("-a-b-c--------|");
///   test.expect(debounce(5ms, async, keys)).to_be("----------c---|");
/// });
/// \endcode
///
/// **run()** calls its function and then flush(), which checks the expectations. Within run() a
/// character takes 1 ms, spaces have no meaning, and max_time is unlimited; outside of it a
/// character, also a space, takes 10 ms, and max_time is 750 ms. Virtual time continues from one
/// run() to the next, but diagrams start at zero: use one scheduler per run().
///
/// **loop()** has the same virtual time, and its tasks run within flush(). docs/rx.md describes the
/// order of events at the same time.
///
/// **Errors** of actions: as in virtual_time_scheduler. Errors of tasks of the loop leave flush(),
/// too; those of delayed tasks also close all pending actions. No error cancels other tasks of the
/// loop: they run within the next flush().
///
/// **Thread safety** and **destruction**: as in virtual_time_scheduler.
class marble_scheduler final : public virtual_time_scheduler {
 public:
  using options_type = marble_options;

  explicit marble_scheduler(options_type options = {});
  ~marble_scheduler() override;

  /// Return observables defined by a diagram. A cold one starts at each subscription. A hot one
  /// starts at the next flush(), which is the time of its `^` if it has one; an observer that
  /// subscribes after its end receives only that end. Without values, a character stands for
  /// itself.
  /// \throws std::invalid_argument if the diagram is wrong or a value is missing.
  template <class T = std::string>
  marble_observable<T> cold(std::string_view diagram, const marble_values<T>& values = {},
                            const std::exception_ptr& error = {}) {
    refuse_markers(diagram, "cold", "^!");
    return make<T>(diagram, values, error, false);
  }
  template <class T = std::string>
  marble_observable<T> hot(std::string_view diagram, const marble_values<T>& values = {},
                           const std::exception_ptr& error = {}) {
    refuse_markers(diagram, "hot", "!");
    return make<T>(diagram, values, error, true);
  }

  /// Subscribes within flush(): at once, or at the times of a diagram such as `--^---!`.
  /// \throws std::invalid_argument if the diagram is wrong.
  template <class T>
  expected_observable<T> expect(const test_observable<T>& of, std::string_view subscription = "");
  /// Compares the recorded subscriptions of an observable after flush().
  template <class T>
  expected_subscriptions expect_subscriptions(const marble_observable<T>& of) {
    return expect_log([s = of.state_] { return s->log; });
  }

  /// Returns the time of the first `|` of a diagram.
  [[nodiscard]] std::chrono::nanoseconds time(std::string_view diagram) const {
    return parse_marble_time(diagram, syntax_);
  }
  using virtual_time_scheduler::time;

  /// Runs a frame of the loop at each marble. \throws std::logic_error outside of run(), and for a
  /// second call within one run(); std::invalid_argument if the diagram has an end or an error.
  void animate(std::string_view diagram);

  /// Returns an event loop in the same virtual time.
  [[nodiscard]] event_loop& loop() noexcept { return loop_; }

  /// Runs all actions and tasks of the loop that are due up to max_time, and then checks the
  /// expectations. Hides virtual_time_scheduler::flush(), which runs only actions.
  /// \return the number of actions and tasks that ran. \throws marble_mismatch; what an action or a
  /// task throws.
  std::size_t flush();

  /// Calls `f`, with the scheduler or nothing, and then flush(). \return what `f` returns.
  /// \throws what `f` or flush() throws; std::logic_error if a frame was requested without
  /// animate().
  template <class F>
  auto run(F&& f) {
    const run_scope here(*this);
    const auto call = [&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<F, marble_scheduler&>) {
        return std::forward<F>(f)(*this);
      } else {
        return std::forward<F>(f)();
      }
    };
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      end_run();
    } else {
      auto result = call();
      end_run();
      return result;
    }
  }

  /// Returns the current syntax of diagrams.
  [[nodiscard]] const marble_syntax& syntax() const noexcept { return syntax_; }

  /// For expectations: parses a diagram.
  template <class T>
  [[nodiscard]] std::vector<marble_message<T>> parse(std::string_view diagram,
                                                     const marble_values<T>& values,
                                                     const std::exception_ptr& error) const;
  /// For expectations: records the events of an observable, with times relative to `zero`.
  template <class T>
  using record_of =
      std::shared_ptr<std::vector<marble_message<typename detail::marble_content<T>::type>>>;
  template <class T>
  subscription record(const test_observable<T>& of, std::chrono::nanoseconds zero,
                      const record_of<T>& in);

 private:
  // Puts the scheduler into run mode as long as it exists.
  class run_scope {
   public:
    explicit run_scope(marble_scheduler& of);
    ~run_scope();
    run_scope(const run_scope&) = delete;
    run_scope& operator=(const run_scope&) = delete;

   private:
    marble_scheduler& of_;
    const marble_syntax syntax_;
    const std::chrono::nanoseconds max_time_;
  };

  template <class T>
  marble_observable<T> make(std::string_view diagram, const marble_values<T>& values,
                            const std::exception_ptr& error, bool hot) {
    using state = typename marble_observable<T>::state;
    auto made = std::make_shared<state>(state{*this, parse(diagram, values, error)});
    if (hot) hot_.emplace_back([made] { marble_observable<T>::start_hot(made); });
    return marble_observable<T>(std::move(made), hot);
  }
  static void refuse_markers(std::string_view diagram, const char* kind, const char* markers);
  expected_subscriptions expect_log(std::function<std::vector<subscription_times>()> log);
  void end_run();
  void serve_loop();
  void run_one_of_loop();
  void check_expectations();

  const options_type options_;
  marble_syntax syntax_{.frame = std::chrono::milliseconds(10), .run_mode = false};
  const std::unique_ptr<detail::loop_intervals> intervals_;  // of the loop
  event_loop loop_;
  action<void> wake_;             // runs the loop when it has a task due
  clock::time_point wake_due_{};  // the due time of wake_
  std::size_t served_ = 0;        // number of tasks of the loop run by this flush()
  bool animated_ = false;
  std::vector<std::function<void()>> hot_;  // start the new hot observables
  std::vector<std::shared_ptr<marble_expectation>> expected_;
};

// --- implementation of templates

/// For the rx module: the events observed and the events expected.
template <class T>
class expected_observable<T>::check final : public marble_expectation {
 public:
  using messages = std::vector<marble_message<content>>;

  [[nodiscard]] std::string problem() const override {
    if (*actual == *expected) return {};
    return "expected " + drawn(*expected) + "\n but was " + drawn(*actual);
  }

  std::shared_ptr<messages> actual = std::make_shared<messages>();
  std::shared_ptr<messages> expected = std::make_shared<messages>();
  marble_values<content> symbols;
  subscription held;

 private:
  [[nodiscard]] std::string drawn(const messages& all) const {
    std::vector<marble> marbles;
    for (const marble_message<content>& m : all) {
      marbles.push_back({m.time, m.kind, m.kind == marble_kind::next ? symbol_of(*m.value) : ""});
    }
    return print_marbles(marbles);
  }
  [[nodiscard]] std::string symbol_of(const content& value) const {
    for (const auto& [symbol, known] : symbols) {
      if (known == value) return symbol;
    }
    if constexpr (std::is_same_v<content, std::string>) {
      return value;
    } else {
      return "?";
    }
  }
};

template <class T>
std::vector<marble_message<T>> marble_scheduler::parse(std::string_view diagram,
                                                       const marble_values<T>& values,
                                                       const std::exception_ptr& error) const {
  std::vector<marble_message<T>> messages;
  for (const marble& m : parse_marbles(diagram, syntax_)) {
    marble_message<T>& made =
        messages.emplace_back(marble_message<T>{.time = m.time, .kind = m.kind});
    if (m.kind == marble_kind::error) {
      made.error = error != nullptr ? error : std::make_exception_ptr(marble_error());
    }
    if (m.kind != marble_kind::next) continue;
    if (const auto found = values.find(m.symbol); found != values.end()) {
      made.value.emplace(found->second);
    } else if constexpr (std::is_same_v<T, std::string>) {
      made.value = m.symbol;
    } else {
      throw std::invalid_argument("takt::rx::marble_scheduler: '" + std::string(diagram) +
                                  "' has no value for '" + m.symbol + "'");
    }
  }
  return messages;
}

template <class T>
subscription marble_scheduler::record(const test_observable<T>& of, std::chrono::nanoseconds zero,
                                      const record_of<T>& in) {
  using message = marble_message<typename detail::marble_content<T>::type>;
  const auto note = [this, zero, in](message m) {
    m.time = elapsed() - zero;
    in->push_back(std::move(m));
  };
  return of.subscribe(
      {.next =
           [this, note](const T& value) {
             if constexpr (is_marble_observable<T>) {
               const typename detail::marble_content<T>::type seen;
               record(value, elapsed(), seen.all);
               note({.value = seen});
             } else {
               static_cast<void>(this);
               note({.value = value});
             }
           },
       .error =
           [note](const std::exception_ptr& e) { note({.kind = marble_kind::error, .error = e}); },
       .complete = [note] { note({.kind = marble_kind::complete}); }});
}

template <class T>
expected_observable<T> marble_scheduler::expect(const test_observable<T>& of,
                                                std::string_view subscription) {
  const subscription_times times = parse_subscription_marbles(subscription, syntax_);
  const auto begin = times.subscribed == never ? std::chrono::nanoseconds(0) : times.subscribed;
  const auto made = std::make_shared<typename expected_observable<T>::check>();
  schedule(begin, [this, of, made](auto& self) {
    self.unsubscribe();
    made->held = record(of, std::chrono::nanoseconds(0), made->actual);
  });
  if (times.unsubscribed != never) {
    schedule(times.unsubscribed, [made](auto& self) {
      self.unsubscribe();
      made->held.unsubscribe();
    });
  }
  expected_.push_back(made);
  return expected_observable<T>(*this, made, begin);
}

template <class T>
void expected_observable<T>::to_be(std::string_view diagram, const marble_values<T>& values,
                                   const std::exception_ptr& error) const {
  for (const marble_message<T>& m : of_.parse(diagram, values, error)) {
    marble_message<content>& e = check_->expected->emplace_back(
        marble_message<content>{.time = m.time, .kind = m.kind, .error = m.error});
    if (m.value) e.value.emplace(detail::marble_content<T>::of(*m.value));
  }
  for (const auto& [symbol, value] : values) {
    check_->symbols.emplace(symbol, detail::marble_content<T>::of(value));
  }
  check_->ready = true;
}

template <class T>
void expected_observable<T>::to_equal(const test_observable<T>& other) const {
  check_->ready = true;
  of_.schedule(begin_, [&of = of_, other, made = check_](auto& self) {
    self.unsubscribe();
    of.record(other, std::chrono::nanoseconds(0), made->expected);
  });
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
