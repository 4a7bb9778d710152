/// \file
/// A pointer that owns a reference to a reference-counted object.
#pragma once

#include <utility>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// A counted reference to a state. For those who make futures.
template <class State>
class intrusive_ptr {
 public:
  intrusive_ptr() = default;
  /// Takes over a reference.
  explicit intrusive_ptr(State* adopted) noexcept : state_(adopted) {}
  intrusive_ptr(intrusive_ptr&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  intrusive_ptr& operator=(intrusive_ptr&& other) noexcept {
    intrusive_ptr(std::move(other)).swap(*this);
    return *this;
  }
  ~intrusive_ptr() {
    if (state_ != nullptr) state_->release();
  }
  void swap(intrusive_ptr& other) noexcept { std::swap(state_, other.state_); }
  /// Another reference to the same state.
  [[nodiscard]] intrusive_ptr share() const noexcept {
    state_->retain();
    return intrusive_ptr(state_);
  }
  /// Gives up the reference to who then owns it.
  [[nodiscard]] State* detach() noexcept { return std::exchange(state_, nullptr); }
  [[nodiscard]] State* get() const noexcept { return state_; }
  State* operator->() const noexcept { return state_; }
  State& operator*() const noexcept { return *state_; }
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  State* state_ = nullptr;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
