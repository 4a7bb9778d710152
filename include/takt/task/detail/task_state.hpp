/// \file
/// The shared state of a future_task and its future.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/detail/run_stop.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The state of a future_task together with its closure, in one allocation.
template <class T, class F>
class task_state : public future_state<T> {
 public:
  template <class G>
  task_state(const future_options& options, G&& f)
      : future_state<T>(options), call_(std::in_place, std::forward<G>(f)) {}

  void run() noexcept override {
    const state_guard mine(*this);
    const detail::run_scope run(stop_);
    if (!this->begin()) return;
    this->run_body([this]() -> decltype(auto) {
      if constexpr (takes_stop_token<F>) {
        return std::invoke(static_cast<one_shot<F, sync::stop_token>>(*call_), stop_.token());
      } else {
        return std::invoke(static_cast<one_shot<F>>(*call_));
      }
    });
  }

  bool run_and_reset() override {
    if constexpr (takes_stop_token<F&> || std::is_invocable_v<F&>) {
      const state_guard mine(*this);
      const detail::run_scope run(stop_);
      if (!this->begin()) return false;
      std::exception_ptr error;
      bool ended = false;
      std::optional<body_scope> here(std::in_place, *this);
      try {
        static_cast<void>(call_again());
      } catch (const cancelled&) {
        ended = true;
      } catch (...) {
        error = std::current_exception();
      }
      if (error == nullptr && !ended && this->reset()) return !this->end_if_dropped();
      drop_closure();
      here.reset();
      if (error != nullptr) {
        this->finish_error(std::move(error));
      } else {
        this->finish_cancelled();
      }
      return false;
    } else {
      throw std::logic_error("takt::future_task: the callable can be called only as an rvalue");
    }
  }

  void request_stop() noexcept override { stop_.request_next(); }
  bool request_stop_of_run() noexcept override { return stop_.request(); }

  void* target(const void* type) noexcept override {
    return type == &type_key<F> && call_ ? std::addressof(*call_) : nullptr;
  }
  [[nodiscard]] const void* callable_type() const noexcept override { return &type_key<F>; }

 protected:
  /// Calls the callable as an lvalue.
  decltype(auto) call_again() {
    if constexpr (takes_stop_token<F&>) {
      return std::invoke(*call_, stop_.token());
    } else {
      return std::invoke(*call_);
    }
  }
  void drop_closure() noexcept override { call_.reset(); }

 private:
  // Constructed before call_: if this throws, the callable has not been moved from.
  [[no_unique_address]] std::conditional_t<takes_stop_token<F>, detail::run_stop, detail::no_stop>
      stop_;
  std::optional<F> call_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
