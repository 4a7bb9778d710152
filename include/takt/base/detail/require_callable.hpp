/// \file
/// Rejects empty callables.
#pragma once

#include <functional>
#include <stdexcept>
#include <type_traits>

#include <takt/base/config.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// True if an F can be empty; an empty F compares equal to nullptr.
template <class F>
inline constexpr bool can_be_null = std::is_pointer_v<F> || std::is_member_pointer_v<F>;
template <class Signature>
inline constexpr bool can_be_null<std::function<Signature>> = true;
template <class Signature, class Parts>
inline constexpr bool can_be_null<move_only_function<Signature, Parts>> = true;

/// Returns whether `f` is null or empty.
template <class F>
[[nodiscard]] constexpr bool is_empty_callable(const F& f) noexcept {
  if constexpr (can_be_null<F>) {
    return f == nullptr;
  } else {
    static_cast<void>(f);
    return false;
  }
}

/// \throws std::invalid_argument with `message` if `f` is null or empty.
template <class F>
constexpr void require_callable(const F& f, const char* message) {
  if (is_empty_callable(f)) throw std::invalid_argument(message);
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
