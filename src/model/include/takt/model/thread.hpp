/// \file
/// The threads of a run, thread-local variables, virtual time.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>

#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Starts a thread of the current run that calls `body(closure)` once.
thread_state* spawn(void (*body)(void*), void* closure) noexcept;
void join(thread_state& target) noexcept;

/// Drop-in for std::thread. Destroying a joinable thread fails the run.
class thread {
 public:
  /// Identifies a thread within one run.
  class id {
   public:
    id() noexcept = default;
    explicit id(std::size_t number) noexcept : number_(number) {}
    friend auto operator<=>(id, id) noexcept = default;
    friend std::ostream& operator<<(std::ostream& out, id i) { return out << i.number_; }

   private:
    friend struct std::hash<id>;
    std::size_t number_ = 0;
  };

  thread() noexcept = default;
  template <class F, class... Args>
    requires(!std::same_as<std::remove_cvref_t<F>, thread>)
  explicit thread(F&& f, Args&&... args) {
    using closure = std::tuple<std::decay_t<F>, std::decay_t<Args>...>;
    state_ = spawn(
        [](void* p) {
          const std::unique_ptr<closure> call(static_cast<closure*>(p));
          std::apply([](auto&&... parts) { std::invoke(std::move(parts)...); }, std::move(*call));
        },
        new closure(std::forward<F>(f), std::forward<Args>(args)...));
  }
  thread(thread&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  thread& operator=(thread&& other) noexcept {
    if (joinable()) fail("assignment to a joinable thread");
    state_ = std::exchange(other.state_, nullptr);
    return *this;
  }
  ~thread() {
    if (joinable()) fail("destruction of a joinable thread");
  }

  [[nodiscard]] bool joinable() const noexcept { return state_ != nullptr; }
  [[nodiscard]] id get_id() const noexcept {
    return state_ == nullptr ? id() : id(thread_number(*state_));
  }
  void join() {
    if (!joinable()) fail("join of a thread that is not joinable");
    model::join(*std::exchange(state_, nullptr));
  }
  void detach() {
    if (!joinable()) fail("detach of a thread that is not joinable");
    state_ = nullptr;
  }
  void swap(thread& other) noexcept { std::swap(state_, other.state_); }
  static unsigned hardware_concurrency() noexcept { return 2; }

 private:
  thread_state* state_ = nullptr;
};

[[nodiscard]] thread::id this_thread_id() noexcept;

/// Yields to the other threads. Stores that were made before the caller's previous yield become
/// visible to it.
void yield() noexcept;

/// Virtual steady time. At any step the checker may advance it to the earliest deadline that a
/// thread waits for.
struct clock {
  using duration = model::time_point::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = model::time_point;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

/// Virtual time of day: it starts at a fixed date and is never set.
struct wall_clock {
  using duration = std::chrono::system_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::system_clock::time_point;
  static constexpr bool is_steady = false;
  static time_point now() noexcept { return from(clock::now()); }

  /// The constant difference to steady time.
  static constexpr duration ahead = std::chrono::hours(24 * 365 * 50);
  static time_point from(clock::time_point t) noexcept {
    return time_point(t.time_since_epoch() + ahead);
  }
  static clock::time_point to_clock(time_point t) noexcept {
    if (t == time_point::max()) return clock::time_point::max();
    if (t.time_since_epoch() < ahead) return clock::time_point::min();
    return clock::time_point(t.time_since_epoch() - ahead);
  }
};

/// Returns the calling thread's slot for `key`, made by `make` at the first use and destroyed by
/// `destroy` when the thread ends.
void* thread_slot(const void* key, void* (*make)(), void (*destroy)(void*)) noexcept;

/// One T per thread of the run.
template <class T, class Tag = T>
struct tls {
  static T& get() noexcept {
    static const char key = 0;
    return *static_cast<T*>(thread_slot(
        &key, []() -> void* { return new T{}; }, [](void* p) { delete static_cast<T*>(p); }));
  }
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI

template <>
struct std::hash<takt::model::thread::id> {
  std::size_t operator()(takt::model::thread::id i) const noexcept { return i.number_; }
};
