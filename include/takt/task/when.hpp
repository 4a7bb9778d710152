/// \file
/// One future for many: when all are ready, or any.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>

namespace takt::inline TAKT_ABI {

/// What when_any() gives: which one was ready first, and all of them, in their order.
template <class Futures>
struct when_any_result {
  std::size_t index = 0;
  Futures futures;
};

/// The common part: holds the futures, and a continuation for each of them. For when_all() and
/// when_any().
///
/// Invariant: `futures_` is touched only by the thread that registers until it has registered all,
/// and then by the one that completes; `gate_` counts down to the latter.
template <class Futures, class Result>
class when_state : public future_state<Result> {
 public:
  // `count` futures in all; the gate opens after so many arrivals and the end of start().
  when_state(const future_options& options, Futures&& futures, std::size_t count,
             std::size_t arrivals)
      : future_state<Result>(options),
        futures_(std::move(futures)),
        arrivals_(std::make_unique<arrival[]>(count)),
        count_(count),
        gate_(arrivals + 1) {}

  void start() noexcept {
    std::size_t i = 0;
    for_each_core([&](future_core& core) {
      arrivals_[i].owner = this;
      arrivals_[i].index = i;
      this->retain();
      core.set_continuation(arrivals_[i++]);
    });
    pass_gate();
  }

 protected:
  template <class Visit>
  void for_each_core(Visit&& visit) {
    if constexpr (requires { futures_.begin(); }) {
      for (auto& f : futures_) visit(static_cast<future_core&>(f.state()));
    } else {
      std::apply([&](auto&... f) { (visit(static_cast<future_core&>(f.state())), ...); }, futures_);
    }
  }

  // The future `index` is ready; true if that counts as an arrival.
  virtual bool arrived(std::size_t index) noexcept = 0;
  virtual void complete() noexcept = 0;

  struct arrival final : continuation {
    void on_ready() noexcept override {
      const state_ref<future_core> mine(owner);
      if (owner->arrived(index)) owner->pass_gate();
    }
    when_state* owner = nullptr;
    std::size_t index = 0;
  };

  Futures futures_;
  std::unique_ptr<arrival[]> arrivals_;
  std::size_t count_;

 private:
  void pass_gate() noexcept {
    // acq_rel: what every arrival did happens before the completion
    if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
  sync::atomic<std::size_t> gate_;
};

/// See when_all().
template <class Futures>
class when_all_state final : public when_state<Futures, Futures> {
 public:
  when_all_state(const future_options& options, Futures&& futures, std::size_t count)
      : when_state<Futures, Futures>(options, std::move(futures), count, count) {}

 private:
  bool arrived(std::size_t) noexcept override { return true; }
  void complete() noexcept override {
    if (!this->claim()) return;  // cancelled
    this->store(std::move(this->futures_));
    this->publish_value();
  }
};

/// See when_any().
template <class Futures>
class when_any_state final : public when_state<Futures, when_any_result<Futures>> {
 public:
  when_any_state(const future_options& options, Futures&& futures, std::size_t count)
      : when_state<Futures, when_any_result<Futures>>(options, std::move(futures), count, 1) {}

 private:
  bool arrived(std::size_t index) noexcept override {
    std::size_t nobody = this->count_;
    // relaxed: the gate orders it
    return first_.compare_exchange_strong(nobody, index, std::memory_order_relaxed);
  }
  void complete() noexcept override {
    // The others get their continuation back, so that whoever gets the futures may use them.
    std::size_t i = 0;
    std::size_t taken_back = 0;
    this->for_each_core([&](future_core& core) {
      if (core.remove_continuation(this->arrivals_[i++])) ++taken_back;
    });
    if (this->claim()) {
      this->store(when_any_result<Futures>{first_.load(std::memory_order_relaxed),  // as above
                                           std::move(this->futures_)});
      this->publish_value();
    }
    for (; taken_back > 0; --taken_back) this->release();  // not the last: the caller has one
  }
  sync::atomic<std::size_t> first_{this->count_};
};

/// The clock and the hook of the first future; the defaults if there is none.
template <class T>
future_options options_of_first(const std::vector<future<T>>& futures) {
  return futures.empty() ? future_options{} : futures.front().state().options();
}
template <class First, class... Rest>
future_options options_of_first(const std::tuple<First, Rest...>& futures) {
  return std::get<0>(futures).state().options();
}
inline future_options options_of_first(const std::tuple<>&) { return {}; }

/// Makes and starts a when_state.
template <class State, class Result, class Futures>
future<Result> start_when(Futures futures, std::size_t count) {
  state_ref<State> made(new State(options_of_first(futures), std::move(futures), count));
  made->start();
  made->retain();
  return future<Result>(state_ref<future_state<Result>>(made.get()));
}

/// A future that is ready when all of these are, and gives them back, ready, in their order. Their
/// errors stay in them. None gives a ready future.
///
/// \code
/// auto both = takt::when_all(std::move(a), std::move(b));
/// auto [x, y] = both.get();
/// use(x.get(), y.get());
/// \endcode
///
/// It has the clock and the hook of the first of them. Cancelling it cancels none of them; those
/// that nobody gets back are dropped like any other future.
/// \throws std::future_error (no_state) if one is empty; std::bad_alloc. Then they are dropped.
template <class T>
[[nodiscard]] future<std::vector<future<T>>> when_all(std::vector<future<T>> futures) {
  for (const future<T>& f : futures) static_cast<void>(f.state());
  const std::size_t count = futures.size();
  using all = std::vector<future<T>>;
  return start_when<when_all_state<all>, all>(std::move(futures), count);
}
template <class... T>
[[nodiscard]] future<std::tuple<future<T>...>> when_all(future<T>... futures) {
  (static_cast<void>(futures.state()), ...);
  using all = std::tuple<future<T>...>;
  return start_when<when_all_state<all>, all>(all(std::move(futures)...), sizeof...(T));
}

/// A future that is ready as soon as one of these is. It gives all of them back, and says which was
/// the first; the others go on, and can be waited for, cancelled or dropped.
///
/// \code
/// auto [first, answers] = takt::when_any(std::move(replicas)).get();    // a vector of futures
/// use(answers[first].get());
/// \endcode
///
/// Clock, hook and cancellation are as for when_all(). \throws std::invalid_argument if there are
/// none, std::future_error (no_state) if one is empty; std::bad_alloc.
template <class T>
[[nodiscard]] future<when_any_result<std::vector<future<T>>>> when_any(
    std::vector<future<T>> futures) {
  if (futures.empty()) throw std::invalid_argument("takt::when_any: there are no futures");
  for (const future<T>& f : futures) static_cast<void>(f.state());
  const std::size_t count = futures.size();
  using all = std::vector<future<T>>;
  return start_when<when_any_state<all>, when_any_result<all>>(std::move(futures), count);
}
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard]] future<when_any_result<std::tuple<future<T>...>>> when_any(future<T>... futures) {
  (static_cast<void>(futures.state()), ...);
  using all = std::tuple<future<T>...>;
  return start_when<when_any_state<all>, when_any_result<all>>(all(std::move(futures)...),
                                                               sizeof...(T));
}

}  // namespace takt::inline TAKT_ABI
