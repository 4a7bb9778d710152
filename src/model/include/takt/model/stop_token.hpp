/// \file
/// stop_source, stop_token and stop_callback on the checker's own mutex.
///
/// The standard classes compare ids of OS threads, which all fibers share.
#pragma once

#include <cstddef>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <takt/model/atomic.hpp>
#include <takt/model/engine.hpp>
#include <takt/model/mutex.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// A registered callback, linked into its stop_state.
class stop_callback_base {
 protected:
  using function = void (*)(stop_callback_base&);
  explicit stop_callback_base(function run) noexcept : run_(run) {}

 private:
  friend class stop_state;
  function run_;
  stop_callback_base* previous_ = nullptr;
  stop_callback_base* next_ = nullptr;
  bool listed_ = false;
};

/// The shared state of a stop_source, its tokens and its callbacks.
class stop_state {
 public:
  bool request_stop() noexcept;
  [[nodiscard]] bool stop_requested() const noexcept {
    return stopped_.load(std::memory_order_acquire);
  }
  /// Registers a callback. \return false if stop is already requested or no longer possible.
  bool add(stop_callback_base& callback) noexcept;
  /// Unregisters a callback. Waits for it to return if it runs on another thread.
  void remove(stop_callback_base& callback) noexcept;

  /// Reference counting without steps of its own: every owner's use happens before the destruction.
  /// The checker would not see these edges in a std::shared_ptr.
  void retain() noexcept { ++references_; }
  void release() noexcept;

  void add_source() noexcept { ++sources_; }
  void drop_source() noexcept { --sources_; }
  [[nodiscard]] bool stop_possible() const noexcept { return sources_ > 0 || stop_requested(); }

 private:
  void unlink(stop_callback_base& callback) noexcept;

  mutable atomic<bool> stopped_{false};
  mutex mu_;
  stop_callback_base* first_ = nullptr;    // guarded by mu_
  stop_callback_base* last_ = nullptr;     // guarded by mu_
  stop_callback_base* running_ = nullptr;  // guarded by mu_
  std::size_t runner_ = 0;                 // guarded by mu_: the thread that runs callbacks
  atomic<std::uint32_t> finished_{0};      // number of callbacks that have returned
  std::atomic<int> references_ = 0;
  vector_clock released_{};       // the joined clocks of owners that released their reference
  std::atomic<int> sources_ = 0;  // not a step: no thread synchronises with it
};

/// Owns a reference to a stop_state.
class stop_state_ref {
 public:
  stop_state_ref() noexcept = default;
  explicit stop_state_ref(stop_state* state) noexcept : state_(state) {
    if (state_ != nullptr) state_->retain();
  }
  stop_state_ref(const stop_state_ref& other) noexcept : stop_state_ref(other.state_) {}
  stop_state_ref(stop_state_ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  stop_state_ref& operator=(stop_state_ref other) noexcept {
    swap(other);
    return *this;
  }
  ~stop_state_ref() {
    if (state_ != nullptr) state_->release();
  }
  void swap(stop_state_ref& other) noexcept { std::swap(state_, other.state_); }
  stop_state* operator->() const noexcept { return state_; }
  friend bool operator==(const stop_state_ref&, const stop_state_ref&) noexcept = default;
  friend bool operator==(const stop_state_ref& r, std::nullptr_t) noexcept {
    return r.state_ == nullptr;
  }

 private:
  stop_state* state_ = nullptr;
};

using nostopstate_t = std::nostopstate_t;
using std::nostopstate;

/// Drop-in for std::stop_token.
class stop_token {
 public:
  stop_token() noexcept = default;
  explicit stop_token(stop_state_ref state) noexcept : state_(std::move(state)) {}
  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ != nullptr && state_->stop_requested();
  }
  [[nodiscard]] bool stop_possible() const noexcept {
    return state_ != nullptr && state_->stop_possible();
  }
  void swap(stop_token& other) noexcept { state_.swap(other.state_); }
  friend bool operator==(const stop_token&, const stop_token&) noexcept = default;

 private:
  template <class Callback>
  friend class stop_callback;
  stop_state_ref state_;
};

/// Drop-in for std::stop_source.
class stop_source {
 public:
  stop_source() : stop_source(stop_state_ref(new stop_state)) {}
  explicit stop_source(nostopstate_t) noexcept {}
  stop_source(const stop_source& other) noexcept : stop_source(other.state_) {}
  stop_source(stop_source&& other) noexcept : state_(std::move(other.state_)) {}
  stop_source& operator=(stop_source other) noexcept {
    swap(other);
    return *this;
  }
  ~stop_source() {
    if (state_ != nullptr) state_->drop_source();
  }
  void swap(stop_source& other) noexcept { state_.swap(other.state_); }
  bool request_stop() noexcept { return state_ != nullptr && state_->request_stop(); }  // NOLINT
  [[nodiscard]] stop_token get_token() const noexcept { return stop_token(state_); }
  [[nodiscard]] bool stop_requested() const noexcept {
    return state_ != nullptr && state_->stop_requested();
  }
  [[nodiscard]] bool stop_possible() const noexcept { return state_ != nullptr; }
  friend bool operator==(const stop_source&, const stop_source&) noexcept = default;

 private:
  explicit stop_source(stop_state_ref state) noexcept : state_(std::move(state)) {
    if (state_ != nullptr) state_->add_source();
  }
  stop_state_ref state_;
};

/// Drop-in for std::stop_callback.
template <class Callback>
class stop_callback : private stop_callback_base {
 public:
  using callback_type = Callback;
  template <class C>
  explicit stop_callback(const stop_token& token,
                         C&& callback) noexcept(std::is_nothrow_constructible_v<Callback, C>)
      : stop_callback_base([](stop_callback_base& self) {
          std::forward<Callback>(static_cast<stop_callback&>(self).callback_)();
        }),
        callback_(std::forward<C>(callback)) {
    if (token.state_ == nullptr) return;
    if (token.state_->add(*this)) {
      state_ = token.state_;
    } else if (token.stop_requested()) {
      std::forward<Callback>(callback_)();
    }
  }
  ~stop_callback() {
    if (state_ != nullptr) state_->remove(*this);
  }
  stop_callback(const stop_callback&) = delete;
  stop_callback& operator=(const stop_callback&) = delete;

 private:
  Callback callback_;
  stop_state_ref state_;
};
template <class Callback>
stop_callback(stop_token, Callback) -> stop_callback<Callback>;

}  // namespace model
}  // namespace takt::inline TAKT_ABI
