/// \file
/// The shared states of the futures that when_all() and when_any() return.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/fwd.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The futures of when_all() or when_any(), with a continuation for each.
///
/// Invariant: only the registering thread accesses `futures_` until all continuations are
/// registered, then only the completing thread. `gate_` counts down to completion.
template <class Futures, class Result>
class when_state : public future_state<Result> {
 public:
  // `count` is the number of futures. The gate opens after `arrivals` arrivals and start().
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

  // Called when the future `index` is ready. Returns true if this counts as an arrival.
  virtual bool arrived(std::size_t index) noexcept = 0;
  virtual void complete() noexcept = 0;

  struct arrival final : continuation {
    void on_ready() noexcept override {
      const intrusive_ptr<future_core> mine(owner);
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
    // acq_rel: everything that arrivals did happens before the completion
    if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
  sync::atomic<std::size_t> gate_;
};

/// State of when_all().
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

/// State of when_any().
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
    // Removes the continuations of the other futures, so that their new owner can use them.
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
    for (; taken_back > 0; --taken_back) this->release();  // the caller keeps a reference
  }
  sync::atomic<std::size_t> first_{this->count_};
};

/// Returns the clock and the hook of the first future, or the defaults if there is none.
template <class T>
future_options options_of_first(const std::vector<future<T>>& futures) {
  return futures.empty() ? future_options{} : futures.front().state().options();
}

template <class First, class... Rest>
future_options options_of_first(const std::tuple<First, Rest...>& futures) {
  return std::get<0>(futures).state().options();
}

inline future_options options_of_first(const std::tuple<>&) { return {}; }

/// Constructs and starts a when_state.
template <class State, class Result, class Futures>
future<Result> start_when(Futures futures, std::size_t count) {
  intrusive_ptr<State> made(new State(options_of_first(futures), std::move(futures), count));
  made->start();
  made->retain();
  return future<Result>(intrusive_ptr<future_state<Result>>(made.get()));
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
