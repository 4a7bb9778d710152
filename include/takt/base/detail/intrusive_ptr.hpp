/// \file
/// An owning pointer to a ref_counted object.
#pragma once

#include <utility>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Owns one reference to a State that has retain() and release(), such as a ref_counted, or is
/// null. Move-only: share() makes copies explicit.
///
/// **Thread safety**: none for one pointer; pointers to the same state are independent.
template <class State>
class intrusive_ptr {
 public:
  intrusive_ptr() = default;
  /// Adopts a reference that the caller owns.
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
  /// Retains the state, which is not null. \return another pointer to it.
  [[nodiscard]] intrusive_ptr share() const noexcept {
    state_->retain();
    return intrusive_ptr(state_);
  }
  /// Releases ownership without releasing the reference. \return the state; the caller owns its
  /// reference.
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
