/// \file
/// Work that schedules itself again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/fwd.hpp>
#include <takt/rx/detail/action_home.hpp>
#include <takt/rx/detail/subscription_core.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/timer/timer_id.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// An entry in the queue of an action_scheduler. Owns its action while it is queued.
struct action_entry : list_node<> {
  rx::action_node* action = nullptr;
  std::uint64_t batch = 0;  ///< Number of its batch; see action_scheduler::enqueue().
};

}  // namespace detail

namespace rx {

/// An action without its work, for authors of schedulers. See action_scheduler.
///
/// **Thread safety**: as in action.
class action_node : public detail::subscription_core, public detail::list_node<struct of_pending> {
 public:
  /// Returns the delay of the last schedule().
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return delay_; }
  /// Returns true if the action was scheduled and has not begun to run since.
  [[nodiscard]] bool is_pending() const noexcept { return pending_; }

  /// For action: returns true if the action is open and its scheduler exists.
  /// \throws std::logic_error if another thread runs the scheduler's loop.
  [[nodiscard]] bool may_schedule() const;
  /// For action: schedules the action. Requires that may_schedule() has returned true.
  void schedule(std::chrono::nanoseconds delay);
  /// For schedulers, on their own thread, after another thread has closed the action: removes the
  /// action from its scheduler and destroys the work, unless the work is running.
  void come_home() noexcept;

 protected:
  explicit action_node(detail::action_home& home) noexcept : home_(&home) { home.retain(); }
  ~action_node() override;

 private:
  friend class action_scheduler;
  friend class async_scheduler;
  friend class virtual_time_scheduler;
  enum class timer_phase : std::uint8_t { none, armed, fired };

  virtual void call() = 0;
  virtual void drop_work() noexcept = 0;
  void on_unsubscribe() override;

  // All members are used by the scheduler's thread only.
  detail::action_home* const home_;  // retained
  std::chrono::nanoseconds delay_{0};
  bool pending_ = false;
  bool removed_ = false;     // closed and removed from the scheduler
  int runs_ = 0;             // number of runs in progress; runs can nest
  std::uint64_t begun_ = 0;  // number of runs that have begun
  int extra_entries_ = 0;    // number of queue entries besides entry_
  detail::action_entry entry_;
  // For async_scheduler: the timer, and when it is or was due.
  timer_phase phase_ = timer_phase::none;
  timer_handle timer_;
  clock::time_point due_{};
  // For virtual_time_scheduler: the entry in the order of time.
  timer_id timed_entry_;
};

/// Owns an action, or is empty. Movable, not copyable. For authors of schedulers.
class action_ref {
 public:
  action_ref() noexcept = default;
  explicit action_ref(action_node& a) noexcept : action_(&a) { a.own(); }
  /// Takes over one ownership.
  action_ref(action_node* owned, std::in_place_t /*taken*/) noexcept : action_(owned) {}
  action_ref(action_ref&& other) noexcept : action_(std::exchange(other.action_, nullptr)) {}
  action_ref& operator=(action_ref&& other) noexcept {
    action_ref moved(std::move(other));
    std::swap(action_, moved.action_);
    return *this;
  }
  ~action_ref() {
    if (action_ != nullptr) action_->disown();
  }

  explicit operator bool() const noexcept { return action_ != nullptr; }
  [[nodiscard]] action_node& operator*() const noexcept { return *action_; }
  [[nodiscard]] action_node* operator->() const noexcept { return action_; }

 private:
  action_node* action_ = nullptr;
};

}  // namespace rx

namespace detail {

/// An action with its state, without its work.
template <class State>
class action_with : public rx::action_node {
 public:
  using rx::action_node::action_node;
  std::optional<State> state;
};
template <>
class action_with<void> : public rx::action_node {
 public:
  using rx::action_node::action_node;
};

}  // namespace detail

namespace rx {

/// A handle to work that runs on an action_scheduler and can be scheduled again: a subscription
/// with schedule().
///
/// \code
/// takt::rx::action<int> a = async.schedule(1s, [](auto& self, int n) {
///   if (n < 10) self.schedule(1s, n + 1);     // the next run
/// }, 1);
///
/// a.schedule(5s, 7);     // replaces the pending run, with another state
/// a.unsubscribe();
/// \endcode
///
/// Work is called with the action and its state, or with the state only; without a state, with the
/// action or nothing. The state is an lvalue, which the next schedule() replaces, also within the
/// work: work that uses the state after self.schedule() takes it by value.
///
/// An action stays open after it has run, so that the owner of a handle can schedule it later. It
/// is closed by unsubscribe(), by an error of its work, and by the destruction of its scheduler;
/// then schedule() does nothing. An open action without handles is destroyed after it has run,
/// unless it was scheduled again. Its work is destroyed when the action is closed or destroyed.
///
/// **Thread safety.** schedule() is for the scheduler's thread only. On schedulers with a loop, any
/// thread may call unsubscribe(); see async_scheduler.
template <class State>
class action : public subscription {  // NOLINT(cppcoreguidelines-slicing): a handle
 public:
  /// Creates a closed handle.
  action() noexcept = default;

  /// Schedules the action with a new delay and state, which replace those of a pending run; only
  /// queue_scheduler differs, see there. Does nothing if the action is closed.
  /// \throws what the scheduler's schedule() throws.
  template <class Rep, class Period>
    requires std::is_void_v<State>
  void schedule(std::chrono::duration<Rep, Period> delay) const {
    if (node_ != nullptr && node_->may_schedule()) node_->schedule(to_nanoseconds(delay));
  }
  template <class Rep, class Period, class T>
    requires(!std::is_void_v<State> && std::is_constructible_v<State, T>)
  void schedule(std::chrono::duration<Rep, Period> delay, T&& state) const {
    if (node_ == nullptr || !node_->may_schedule()) return;
    const std::chrono::nanoseconds after = to_nanoseconds(delay);
    node_->state = State(std::forward<T>(state));
    node_->schedule(after);
  }

  /// For the rx module: takes over one ownership.
  explicit action(detail::action_with<State>& owned) noexcept
      : subscription(owned), node_(&owned) {}

 private:
  detail::action_with<State>* node_ = nullptr;  // the core, downcast; null if there is none
};

}  // namespace rx

namespace detail {

/// An action with its state and its work.
template <class F, class State>
class action_with_work final : public action_with<State> {
 public:
  template <class G>
  action_with_work(action_home& home, G&& work)
      : action_with<State>(home), work_(std::in_place, std::forward<G>(work)) {}

 private:
  void call() override {
    if constexpr (std::is_void_v<State>) {
      if constexpr (std::is_invocable_v<F&, rx::action<State>&>) {
        rx::action<State> self = handle();
        static_cast<void>(std::invoke(*work_, self));
      } else {
        static_cast<void>(std::invoke(*work_));
      }
    } else if constexpr (std::is_invocable_v<F&, rx::action<State>&, State&>) {
      rx::action<State> self = handle();
      static_cast<void>(std::invoke(*work_, self, *this->state));
    } else {
      static_cast<void>(std::invoke(*work_, *this->state));
    }
  }
  [[nodiscard]] rx::action<State> handle() noexcept {
    this->own();
    return rx::action<State>(*this);
  }
  void drop_work() noexcept override {
    work_.reset();
    if constexpr (!std::is_void_v<State>) this->state.reset();
  }

  std::optional<F> work_;
};

}  // namespace detail

namespace rx {

/// True if an F is work with a state of type State; with void, without a state.
template <class F, class State = void>
inline constexpr bool is_action_work =
    std::is_invocable_v<F&, action<State>&, State&> || std::is_invocable_v<F&, State&>;
template <class F>
inline constexpr bool is_action_work<F, void> =
    std::is_invocable_v<F&, action<void>&> || std::is_invocable_v<F&>;

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
