/// \file
/// The base of all awaiters.
#pragma once

#include <coroutine>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/fwd.hpp>  // future: complete where these templates are instantiated
#include <takt/task/detail/future_state.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Base of every awaiter in takt: suspends a coroutine until a future is ready. The thread that
/// makes the future ready resumes the coroutine.
///
/// While await_suspend() is still running, another thread can make the future ready and resume the
/// coroutine, which can destroy its frame. Hence this class fixes the order of the steps: the
/// awaiter publishes its future, then sets the continuation, and arms last. After that only the
/// resumed coroutine may access the awaiter.
///
/// **Destruction** of a suspended frame withdraws the continuation.
template <class T>
class awaiter_base : private continuation {
 public:
  awaiter_base(const awaiter_base&) = delete;
  awaiter_base& operator=(const awaiter_base&) = delete;

  T await_resume() { return result_.get(); }

 protected:
  awaiter_base() noexcept = default;
  explicit awaiter_base(future<T>&& result) noexcept : result_(std::move(result)) {}
  ~awaiter_base() { withdraw(); }

  [[nodiscard]] const future<T>& result() const noexcept { return result_; }

  /// Suspends until the result is ready; the work is already running or armed. Returns false if the
  /// result is ready: the coroutine continues. Otherwise the call is the last access to the
  /// awaiter.
  [[nodiscard]] bool suspend(std::coroutine_handle<> waiting) noexcept {
    resumes = waiting;
    return result_.state().try_set_continuation(*this);
  }

  /// Suspends until `result` is ready, and calls `arm`, which starts the work that makes it ready.
  /// The call is the last access to the awaiter. `arm` never refers to the awaiter and owns
  /// everything that it uses after it has started the work.
  ///
  /// If `arm` throws, the coroutine gets that exception, unless `arm` has made the result ready and
  /// so resumed the coroutine.
  template <class Arm>
  void suspend_and_arm(std::coroutine_handle<> waiting, future<T> result, Arm arm) {
    future_state<T>& state = result.state();
    const state_guard mine(state);
    continuation& self = *this;  // only its address is used below
    result_ = std::move(result);
    resumes = waiting;
    static_cast<void>(
        state.try_set_continuation(self));  // succeeds: `arm` has not started the work
    try {
      std::move(arm)();
    } catch (...) {
      if (state.remove_continuation(self)) throw;
    }
  }

  /// Prevents the resumption of the coroutine. Returns false if it has taken its result already.
  bool withdraw() noexcept {
    if (!result_.valid()) return false;
    result_.state().remove_continuation(*this);
    return true;
  }

 private:
  future<T> result_;
};

/// Awaiter of `co_await std::move(f)`.
template <class T>
class [[nodiscard]] future_awaiter final : public awaiter_base<T> {
 public:
  explicit future_awaiter(future<T>&& source) : awaiter_base<T>(std::move(source)) {
    static_cast<void>(this->result().state());  // throws if empty
  }

  [[nodiscard]] bool await_ready() const { return this->result().is_ready(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiting) noexcept {
    return this->suspend(waiting);
  }
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
