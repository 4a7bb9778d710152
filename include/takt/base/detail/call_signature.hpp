/// \file
/// Splits the signature of a takt::move_only_function into its parts.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A split signature: whether the callable is called as an rvalue, its result, its parameters.
template <bool AsRvalue, class R, class... Args>
struct call_parts {};

/// Maps R(Args...) and R(Args...) && to their parts.
template <class Signature>
struct call_signature;

template <class R, class... Args>
struct call_signature<R(Args...)> {
  using parts = call_parts<false, R, Args...>;
};

template <class R, class... Args>
struct call_signature<R(Args...) &&> {
  using parts = call_parts<true, R, Args...>;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
