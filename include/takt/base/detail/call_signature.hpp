/// \file
/// The signature of a call, taken apart at compile time: what takt::move_only_function is given.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A signature taken apart: whether it is called as an rvalue, what it returns and what it takes.
template <bool AsRvalue, class R, class... Args>
struct call_parts {};

/// Takes a signature apart. There are two kinds.
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
