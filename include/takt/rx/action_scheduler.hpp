/// \file
/// What runs actions, and how to make another one.
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

/// The delay with which an action is scheduled again, if it is.
using action_delay = std::optional<std::chrono::nanoseconds>;

/// Runs actions: what RxJS calls a Scheduler. async_scheduler, queue_scheduler, asap_scheduler and
/// animation_frame_scheduler live on an event_loop, virtual_time_scheduler and marble_scheduler in
/// tests; code that is to be tested takes an action_scheduler&. (A takt::rx::worker_scheduler is
/// something else: it makes workers.)
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
/// **A scheduler of your own** says how an action is asked for and taken back, and when actions are
/// drained; the rest, what an action is and what it does when, is here:
/// \code
/// class idle_scheduler final : public takt::rx::action_scheduler {
///  public:
///   ~idle_scheduler() override { close(); }
///   takt::clock::time_point now() const noexcept override { return takt::steady.now(); }
///   void run_idle() { drain(turn_++); }      // the program has nothing else to do
///
///  private:
///   void request(takt::rx::action_node& a, std::chrono::nanoseconds) override {
///     enqueue(a, turn_);
///   }
///   bool recycle(takt::rx::action_node& a, takt::rx::action_delay) noexcept override {
///     dequeue(a);
///     return false;                          // ask again
///   }
///   std::uint64_t turn_ = 0;
/// };
/// \endcode
/// A whole one is in examples/own_scheduler.cpp.
///
/// **Errors.** An action that throws is closed. What that does to others, and who gets the error,
/// the schedulers say.
///
/// **Thread safety**: it belongs to one thread, that of its loop if it has one: all members are for
/// that thread, also those of its actions, but for unsubscribe(), where the scheduler says so.
/// Other threads post to the loop.
///
/// **Destruction** closes all that is pending; actions that are kept do nothing any more. It is not
/// for one of its actions.
class action_scheduler {
 public:
  action_scheduler(const action_scheduler&) = delete;
  action_scheduler& operator=(const action_scheduler&) = delete;

  /// The time, by the clock of its delays.
  [[nodiscard]] virtual clock::time_point now() const noexcept = 0;

  /// Has `work` run: as soon as it may, or after a delay; with a state. See action for what work
  /// may be. A delay of 0 or less is none, `never` is never.
  /// \throws std::invalid_argument if the work is empty; std::bad_alloc; std::logic_error if
  /// another thread runs its loop; what the work throws, if the scheduler runs it at once. If the
  /// loop is shut down, the action is closed and is_rejected().
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

  // --- what a scheduler of its own kind says

  /// Sees to it that the action is drained after so long: enqueue() and something that calls
  /// drain(), or something that calls flush_from(a). If it throws, the action is not pending.
  virtual void request(action_node& a, std::chrono::nanoseconds delay) = 0;
  /// The action is about to be scheduled again, with that delay; or, if there is none, it has run
  /// and was not, or was closed. Takes back what request() has seen to, if there is something.
  /// \return true if that is kept, so that there will be no request().
  virtual bool recycle(action_node& a, action_delay delay) noexcept = 0;
  /// The time has come for an action. Runs it, and then all that is in the queue; but if that is
  /// being done already, puts it there. If one throws, the rest of the queue is closed.
  /// \throws what it throws.
  virtual void flush_from(action_node& due);

  /// An action was closed. \return true if this is not the scheduler's thread, and that one will
  /// call come_home() of the action.
  [[nodiscard]] virtual bool is_elsewhere(action_node& closed) noexcept {
    static_cast<void>(closed);
    return false;
  }
  /// \throws std::logic_error if its loop is being run by another thread.
  virtual void check_thread() const {}

  // --- what it is said with

  /// Puts an action at the end of the queue, for a drain of that number. \throws std::bad_alloc, if
  /// it is there already.
  void enqueue(action_node& a, std::uint64_t batch = 0);
  /// Takes all places of an action out of the queue.
  void dequeue(action_node& a) noexcept;
  /// Whether the last one in the queue is of that batch, which is the latest one.
  [[nodiscard]] bool has_queued(std::uint64_t batch) const noexcept;
  /// Runs what is at the front of the queue, as long as it is of that batch. If one throws, the
  /// rest of these is closed. \throws what it throws.
  void drain(std::uint64_t batch = 0);
  /// Runs one action, and recycles it. \return what it throws, and then it is closed.
  [[nodiscard]] std::exception_ptr execute(action_node& a) noexcept;
  /// All that is pending, in the order of schedule(). \throws std::bad_alloc
  [[nodiscard]] std::vector<action_ref> pending();
  /// The first of these; empty if there is none.
  [[nodiscard]] action_ref first_pending() noexcept;
  /// Closes all that is pending. To be called by the destructor of who derives from it.
  void close() noexcept;

 private:
  friend class action_node;
  friend class async_scheduler;  // whose intervals are asked for after they were scheduled

  template <class State, class F>
  [[nodiscard]] action<State> make(F&& work) {
    using call = std::decay_t<F>;
    detail::require_callable(work, "takt::rx::action_scheduler: the work is empty");
    return action<State>(*new detail::action_with_work<call, State>(*home_, std::forward<F>(work)));
  }

  void start(action_node& a, std::chrono::nanoseconds delay);
  void refuse(action_node& a);
  void give_up(action_node& a) noexcept;
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
