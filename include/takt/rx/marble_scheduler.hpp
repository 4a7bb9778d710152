/// \file
/// Tests that are drawn: marbles in virtual time.
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

/// Thrown if an expectation of a marble_scheduler is not met. what() has both diagrams.
class marble_mismatch final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How a marble_scheduler is made.
struct marble_options {
  /// Told of an expectation that is not met. Unless given, marble_mismatch is thrown.
  std::function<void(const std::string&)> report{};
};

/// Something that a marble_scheduler looks at when it has flushed. For the rx module.
class marble_expectation {
 public:
  virtual ~marble_expectation() = default;
  /// Empty if it is met, or nothing was said yet. Otherwise what is wrong.
  [[nodiscard]] virtual std::string problem() const = 0;
  bool ready = false;

 protected:
  marble_expectation() = default;
  marble_expectation(const marble_expectation&) = default;
  marble_expectation& operator=(const marble_expectation&) = default;
};

/// What was seen of an observable, and is to be said of it: made by marble_scheduler::expect(),
/// where there is an example. **Thread safety**: as marble_scheduler's, which outlives it.
template <class T>
class expected_observable {
 public:
  using content = typename detail::marble_content<T>::type;

  /// It is that diagram.
  void to_be(std::string_view diagram, const marble_values<T>& values = {},
             const std::exception_ptr& error = {}) const;
  /// It is what another one says.
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

/// What is to be said of subscriptions: made by marble_scheduler::expect_subscriptions().
/// **Thread safety**: as marble_scheduler's, which outlives it.
class expected_subscriptions {
 public:
  /// They are these, in the order in which they began; an empty diagram is none.
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

/// A virtual_time_scheduler for tests that are drawn; RxJS's TestScheduler.
///
/// \code
/// takt::rx::marble_scheduler test;
/// takt::rx::async_scheduler async{test.loop()};   // what lives on the loop outlives run()
/// test.run([&] {
///   auto keys = test.hot("-a-b-c--------|");
///   test.expect(debounce(5ms, async, keys)).to_be("----------c---|");
/// });
/// \endcode
///
/// **run()** calls its function, then flush(), and sees whether all that is expected has come true.
/// In it a character is 1 ms, spaces are for the eye, and there is no limit of time. Outside of it
/// a character is 10 ms, also a space, and max_time is 750 ms. Time goes on from one run() to the
/// next, and what is expected is drawn from zero: use one scheduler for each.
///
/// **The loop**, of whatever the code under test lives on, has the same virtual time: its tasks run
/// within flush(). Of one moment, microtasks go first; then intervals, the timers of actions; then
/// all other timers of the loop; each kind in the order in which they were asked for. Marbles have
/// theirs, and no order between a timer and a marble of one moment is to be relied on. There is a
/// frame when animate() says so.
///
/// **Errors**: as in virtual_time_scheduler; also what a task of the loop throws. Other tasks of
/// the loop are not closed by that: they run within the next flush().
/// **Thread safety** and **destruction**: as in virtual_time_scheduler.
class marble_scheduler final : public virtual_time_scheduler {
 public:
  using options = marble_options;

  explicit marble_scheduler(options how = {});
  ~marble_scheduler() override;

  /// Observables that were drawn: a cold one begins when it is subscribed to, a hot one at the next
  /// flush(), or before that, if it has a `^`, and tells its end to who comes later. Without
  /// values, a marble is its own symbol.
  /// \throws std::invalid_argument if a diagram is wrong, or a value is missing.
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

  /// Subscribes to it within flush(): at once, or as a diagram such as `--^---!` says.
  template <class T>
  expected_observable<T> expect(const test_observable<T>& of, std::string_view subscription = "");
  /// When it was subscribed to.
  template <class T>
  expected_subscriptions expect_subscriptions(const marble_observable<T>& of) {
    return expect_log([s = of.state_] { return s->log; });
  }

  /// How long it is until the `|` of a diagram.
  [[nodiscard]] std::chrono::nanoseconds time(std::string_view diagram) const {
    return parse_marble_time(diagram, syntax_);
  }
  using virtual_time_scheduler::time;

  /// There is a frame of the loop at each marble. \throws std::logic_error outside of run(), or the
  /// second time; std::invalid_argument if it ends.
  void animate(std::string_view diagram);

  /// The loop, in the same virtual time.
  [[nodiscard]] event_loop& loop() noexcept { return loop_; }

  /// Runs all that is due, up to max_time, and then sees whether what is expected has come true.
  /// \return how many actions, and tasks of the loop. \throws marble_mismatch; what an action or a
  /// task throws.
  std::size_t flush();

  /// See above. \return what `f` returns, which takes the scheduler or nothing.
  /// \throws what `f` or flush() throws; std::logic_error if frames were asked for, and animate()
  /// was not called.
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

  /// How diagrams are read at the moment.
  [[nodiscard]] const marble_syntax& syntax() const noexcept { return syntax_; }

  /// For expectations: what a diagram says.
  template <class T>
  [[nodiscard]] std::vector<marble_message<T>> parse(std::string_view diagram,
                                                     const marble_values<T>& values,
                                                     const std::exception_ptr& error) const;
  /// For expectations: keeps what an observable says, from some time on.
  template <class T>
  using record_of =
      std::shared_ptr<std::vector<marble_message<typename detail::marble_content<T>::type>>>;
  template <class T>
  subscription record(const test_observable<T>& of, std::chrono::nanoseconds zero,
                      const record_of<T>& in);

 private:
  // While it exists, it is in run mode.
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
  void look();

  const options how_;
  marble_syntax syntax_{.frame = std::chrono::milliseconds(10), .run_mode = false};
  const std::unique_ptr<detail::loop_intervals> intervals_;  // of the loop
  event_loop loop_;
  action<void> wake_;             // when the loop has something to do
  clock::time_point wake_due_{};  // when that is
  std::size_t served_ = 0;        // tasks of the loop
  bool animated_ = false;
  std::vector<std::function<void()>> hot_;  // to be started
  std::vector<std::shared_ptr<marble_expectation>> expected_;
};

// --- the rest is templates

/// What is seen of an observable, and what is expected. For the rx module.
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
