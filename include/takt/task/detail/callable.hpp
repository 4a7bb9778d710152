/// \file
/// Traits of callables.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Its address identifies the type F without run-time type information. A type can have two
/// addresses in shared libraries that hide their symbols from each other.
template <class F>
inline constexpr char type_key = 0;

/// The type in which a future stores a callable's result: a value for an rvalue reference.
template <class R>
struct owned_result {
  using type = std::conditional_t<std::is_rvalue_reference_v<R>, std::remove_cvref_t<R>, R>;
};

/// The reference type for a single call of an F: an rvalue if F can be called so.
template <class F, class... Args>
using one_shot = std::conditional_t<std::is_invocable_v<F, Args...>, F&&, F&>;

template <class F, class... Args>
inline constexpr bool callable_once = std::is_invocable_v<one_shot<F, Args...>, Args...>;

/// True if an R can become the result of a future<T>. A reference must not bind to a temporary.
template <class T, class R>
inline constexpr bool can_become = std::is_constructible_v<T, R>;

template <class T, class R>
inline constexpr bool can_become<T&, R> =
    std::is_lvalue_reference_v<R> && std::is_convertible_v<std::remove_reference_t<R>*, T*>;

/// True if a continuation F takes the value of a future<T>. Otherwise it takes the future.
template <class T, class F>
inline constexpr bool takes_value = callable_once<F, T>;

template <class F>
inline constexpr bool takes_value<void, F> = callable_once<F>;

/// The result type of F as a continuation of a future<T>.
template <class T, class F, bool TakesValue = takes_value<T, F>>
struct then_result : owned_result<std::invoke_result_t<one_shot<F, future<T>>, future<T>>> {};

template <class T, class F>
struct then_result<T, F, true> : owned_result<std::invoke_result_t<one_shot<F, T>, T>> {};

template <class F>
struct then_result<void, F, true> : owned_result<std::invoke_result_t<one_shot<F>>> {};

/// True if F can be called with a stop_token. A callable that also works without gets one.
template <class F>
inline constexpr bool takes_stop_token = callable_once<F, sync::stop_token>;

/// The result type of a task with the callable F.
template <class F, bool WithToken = takes_stop_token<F>>
struct task_result
    : owned_result<std::invoke_result_t<one_shot<F, sync::stop_token>, sync::stop_token>> {};

template <class F>
struct task_result<F, false> : owned_result<std::invoke_result_t<one_shot<F>>> {};

/// An F from which a future_task<T> can be constructed.
template <class T, class F>
concept task_callable =
    (takes_stop_token<F> || callable_once<F>) &&
    (std::is_void_v<T> || (can_become<T, typename task_result<F>::type> &&
                           std::is_convertible_v<typename task_result<F>::type, T>));

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
