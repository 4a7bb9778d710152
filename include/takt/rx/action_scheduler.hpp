/// \file
/// The base of schedulers that run actions.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/action.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// The delay of the next schedule(); empty if there is none.
using action_delay = std::optional<std::chrono::nanoseconds>;

/// Runs actions; RxJS calls this a Scheduler. async_scheduler, queue_scheduler, asap_scheduler and
/// animation_frame_scheduler use an event_loop; virtual_time_scheduler and marble_scheduler are for
/// tests. Code that is to be tested takes an action_scheduler&.
///
/// \code
/// void blink(takt::rx::action_scheduler& s, lamp& l) {
///   s.schedule(500ms, [&l](auto& self) {
///     l.toggle();
///     self.schedule(500ms);
///   });
/// }
/// \endcode
///
/// **Errors.** An action that throws is closed. The scheduler defines which other actions are
/// closed with it and which call throws the error; see docs/rx.md.
///
/// **Destruction** closes all pending actions. schedule() of remaining handles does nothing from
/// then on. An action must not destroy its scheduler.
///
/// **Thread safety.** A scheduler and its actions belong to one thread: the loop's, if any. Other
/// threads post to the loop, and may call only unsubscribe(); see async_scheduler.
///
/// For a scheduler of your own, see docs/rx.md and examples/own_scheduler.cpp.
class action_scheduler {
 public:
  action_scheduler(const action_scheduler&) = delete;
  action_scheduler& operator=(const action_scheduler&) = delete;

  /// Returns the current time of the clock by which delays are measured.
  [[nodiscard]] virtual clock::time_point now() const noexcept = 0;

  /// Runs `work`, as soon as possible or after a delay, with or without a state; see action for the
  /// forms of work. A delay of 0 or less is none, except that virtual_time_scheduler orders by
  /// negative delays, too. With the delay `never`, work runs only after it is scheduled again.
  /// \return the action; if the loop is shut down, a closed action that is_rejected().
  /// \throws std::invalid_argument if the work is empty; std::bad_alloc; std::logic_error if
  /// another thread runs the loop; what the work throws, if the scheduler runs it within
  /// schedule().
  template <class F>
    requires is_action_work<std::decay_t<F>>
  action<void> schedule(F&& work) {
    return schedule(std::chrono::nanoseconds(0), std::forward<F>(work));
  }
  template <class Rep, class Period, class F>
    requires is_action_work<std::decay_t<F>>
  action<void> schedule(std::chrono::duration<Rep, Period> delay, F&& work) {
    const action<void> made = make<void>(std::forward<F>(work));
    made.schedule(delay);
    return made;
  }
  template <class Rep, class Period, class F, class State>
    requires is_action_work<std::decay_t<F>, std::decay_t<State>>
  action<std::decay_t<State>> schedule(std::chrono::duration<Rep, Period> delay, F&& work,
                                       State&& state) {
    const auto made = make<std::decay_t<State>>(std::forward<F>(work));
    made.schedule(delay, std::forward<State>(state));
    return made;
  }

 protected:
  action_scheduler();
  virtual ~action_scheduler();

  // --- defined by a derived scheduler

  /// Arranges for the action to run after the delay: by enqueue() and a later drain(), or by a
  /// later flush_from(a). If this throws, the action is not pending.
  virtual void request(action_node& a, std::chrono::nanoseconds delay) = 0;
  /// Cancels what request() has arranged for the action, if that is still pending. Called by every
  /// schedule(), with the new delay; and without a delay when the action was closed, or has run and
  /// was not scheduled again.
  /// \return true if the arrangement is kept for the new delay: request() is not called then.
  virtual bool recycle(action_node& a, action_delay delay) noexcept = 0;
  /// Called by the derived scheduler when an action is due. Runs the action and then the whole
  /// queue; within another flush_from(), appends the action to the queue instead. If an action
  /// throws, the rest of the queue is closed.
  /// \throws what the action throws.
  virtual void flush_from(action_node& due);

  /// Called by the thread that has closed an action. \return true if that is not the scheduler's
  /// thread; the scheduler has then arranged for its own thread to call come_home() of the action,
  /// if that is possible.
  [[nodiscard]] virtual bool is_elsewhere(action_node& closed) noexcept {
    static_cast<void>(closed);
    return false;
  }
  /// \throws std::logic_error if another thread runs the scheduler's loop.
  virtual void check_thread() const {}

  // --- used by a derived scheduler

  /// Appends an action to the queue, as part of a batch.
  /// \throws std::bad_alloc only if the action is queued already.
  void enqueue(action_node& a, std::uint64_t batch = 0);
  /// Removes all entries of an action from the queue.
  void dequeue(action_node& a) noexcept;
  /// Returns true if entries of `batch` are queued. Requires that `batch` is the latest batch.
  [[nodiscard]] bool has_queued(std::uint64_t batch) const noexcept;
  /// Runs the actions at the front of the queue that belong to `batch`. If one throws, the rest of
  /// the batch is closed. \throws what the action throws.
  void drain(std::uint64_t batch = 0);
  /// Runs one action. Calls recycle() without a delay, unless the action was scheduled again.
  /// \return the error of the action, which has closed it; null if there is none.
  [[nodiscard]] std::exception_ptr execute(action_node& a) noexcept;
  /// Returns all pending actions in the order of schedule(). \throws std::bad_alloc.
  [[nodiscard]] std::vector<action_ref> pending();
  /// Returns the first pending action; empty if there is none.
  [[nodiscard]] action_ref first_pending() noexcept;
  /// Closes all pending actions. The destructor of a derived class must call this, because closing
  /// an action calls recycle(), which the derived class defines.
  void close() noexcept;

 private:
  friend class action_node;
  friend class async_scheduler;  // which arms an interval's timer after schedule()

  template <class State, class F>
  [[nodiscard]] action<State> make(F&& work) {
    using call = std::decay_t<F>;
    detail::require_callable(work, "takt::rx::action_scheduler: the work is empty");
    return action<State>(*new detail::action_with_work<call, State>(*home_, std::forward<F>(work)));
  }

  void start(action_node& a, std::chrono::nanoseconds delay);
  void refuse(action_node& a);
  void remove_action(action_node& a) noexcept;
  void set_pending(action_node& a, bool pending) noexcept;
  [[nodiscard]] action_ref take(std::uint64_t batch) noexcept;
  [[nodiscard]] std::exception_ptr run_all(action_ref first, std::uint64_t batch) noexcept;
  void abandon(const std::exception_ptr& error, std::uint64_t batch);

  detail::action_home* const home_;  // retained
  detail::intrusive_list<detail::action_entry> queue_;
  detail::intrusive_list<action_node, of_pending> pending_;
  bool draining_ = false;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
