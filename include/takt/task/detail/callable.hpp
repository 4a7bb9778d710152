/// \file
/// Traits of callables: how they are called, and what they return.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Tells types apart without run-time type information, by address: between shared libraries that
/// hide their symbols from each other one type may have two.
template <class F>
inline constexpr char type_key = 0;

/// What a future keeps of a callable's result: a value instead of a reference to a temporary.
template <class R>
struct owned_result {
  using type = std::conditional_t<std::is_rvalue_reference_v<R>, std::remove_cvref_t<R>, R>;
};

/// As what a callable of type F is called once: as an rvalue, if it can be.
template <class F, class... Args>
using one_shot = std::conditional_t<std::is_invocable_v<F, Args...>, F&&, F&>;

template <class F, class... Args>
inline constexpr bool callable_once = std::is_invocable_v<one_shot<F, Args...>, Args...>;

/// Whether an R can become the result of a future<T>. A reference never refers to a temporary.
template <class T, class R>
inline constexpr bool can_become = std::is_constructible_v<T, R>;

template <class T, class R>
inline constexpr bool can_become<T&, R> =
    std::is_lvalue_reference_v<R> && std::is_convertible_v<std::remove_reference_t<R>*, T*>;

/// Whether F takes the value of a future<T>; otherwise it takes the future.
template <class T, class F>
inline constexpr bool takes_value = callable_once<F, T>;

template <class F>
inline constexpr bool takes_value<void, F> = callable_once<F>;

/// What F gives when it continues a future<T>.
template <class T, class F, bool TakesValue = takes_value<T, F>>
struct then_result : owned_result<std::invoke_result_t<one_shot<F, future<T>>, future<T>>> {};

template <class T, class F>
struct then_result<T, F, true> : owned_result<std::invoke_result_t<one_shot<F, T>, T>> {};

template <class F>
struct then_result<void, F, true> : owned_result<std::invoke_result_t<one_shot<F>>> {};

/// Whether a callable takes a stop_token. If it can be called with and without, it gets one.
template <class F>
inline constexpr bool takes_stop_token = callable_once<F, sync::stop_token>;

/// What a task with the callable F gives.
template <class F, bool WithToken = takes_stop_token<F>>
struct task_result
    : owned_result<std::invoke_result_t<one_shot<F, sync::stop_token>, sync::stop_token>> {};

template <class F>
struct task_result<F, false> : owned_result<std::invoke_result_t<one_shot<F>>> {};

/// Whether a future_task<T> can be made of an F.
template <class T, class F>
concept task_callable =
    (takes_stop_token<F> || callable_once<F>) &&
    (std::is_void_v<T> || (can_become<T, typename task_result<F>::type> &&
                           std::is_convertible_v<typename task_result<F>::type, T>));

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
