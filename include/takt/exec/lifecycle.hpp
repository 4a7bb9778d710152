/// \file
/// How pools, strands, schedulers and services live and end. (rx::schedulers and task_scope have a
/// life of their own.)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <takt/base/config.hpp>
#include <takt/base/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// Where an executor stands between its construction and its end. It only moves forward.
enum class life_state : std::uint8_t {
  running,     ///< Takes work and does it.
  shutdown,    ///< Takes no more; does what is queued.
  stop,        ///< Takes no more; gives back what is queued; asks what runs to stop.
  tidying,     ///< Has neither work nor threads; the termination hook runs.
  terminated,  ///< It has run.
};

/// "running", "shutdown", and so on.
[[nodiscard]] std::string_view to_string(life_state s) noexcept;

/// The life of an owner of threads: its state and the number of its workers, in one word, so that
/// both change together; and waiting for the end.
///
/// \code
///   running --shutdown()--> shutdown -- no work, no workers --+--> tidying --> terminated
///      |                       |                              |
///      +----shutdown_now()-----+--> stop ----- no workers ----+
/// \endcode
///
/// Owners: thread_pool, stealing_pool, scheduled_pool, wheel_scheduler, serial_executor,
/// log_service, crawler; a pipeline has that of its threads. The word is atomic so that a
/// submission can look at it without a lock; what an owner changes together with its queue, it
/// changes under its lock.
///
/// **Thread safety**: all members from any thread. **Destruction**: nobody waits for the end.
class lifecycle {
 public:
  /// \param time  for await().
  explicit lifecycle(const clock& time);
  lifecycle(const lifecycle&) = delete;
  lifecycle& operator=(const lifecycle&) = delete;

  /// What was done before the transition to it happens before this returns.
  [[nodiscard]] life_state state() const noexcept {
    // acquire: what was done before the transition that is seen
    return static_cast<life_state>(word_.load(std::memory_order_acquire) >> state_shift);
  }
  /// What those did that have left happens before this returns.
  [[nodiscard]] std::size_t workers() const noexcept {
    return word_.load(std::memory_order_acquire) & 0xffff'ffff;  // acquire: what the workers did
  }

  /// Goes on to `next`, shutdown or stop, unless it is there or beyond.
  /// \return whether this call did it.
  bool advance_to(life_state next) noexcept;

  /// One more worker, unless it is too late: stop or beyond. \return whether there is.
  [[nodiscard]] bool add_worker() noexcept;
  /// One less, who sees what those did that left before. \return how many are left.
  std::size_t remove_worker() noexcept;

  /// From shutdown, if `drained`, or from stop to tidying, if there is no worker. True for one
  /// caller only, who runs the termination hook and then calls terminate().
  [[nodiscard]] bool try_tidy(bool drained) noexcept;
  /// From tidying to terminated: whoever awaits it goes on.
  void terminate() noexcept;

  /// Blocks until terminated, until the deadline or until stop is requested.
  /// \return whether it is terminated.
  bool await(clock::time_point deadline, const sync::stop_token& stop) const;

  [[nodiscard]] const clock& time() const noexcept { return time_; }

 private:
  static constexpr int state_shift = 32;

  // Constant after construction.
  const clock& time_;

  // Atomic. The state in the high half, the number of workers in the low half.
  sync::atomic<std::uint64_t> word_{0};

  // Ends when terminated.
  promise<void> end_;
  future<void> ended_;
};

/// What close() does about work that is still there. Copied like an int.
///
/// \code
/// pool.close(takt::drain);           // does it all, however long that takes
/// pool.close(takt::drain_for(5s));   // does what it can, then cancels the rest
/// pool.close(takt::cancel_rest);     // cancels what has not begun, asks what runs to stop
/// \endcode
class close_policy {
 public:
  /// Cancels after so long: at once if it is 0 or less, not at all if it is `never`.
  constexpr explicit close_policy(std::chrono::nanoseconds cancel_after) noexcept
      : cancel_after_(cancel_after) {}
  [[nodiscard]] constexpr std::chrono::nanoseconds cancel_after() const noexcept {
    return cancel_after_;
  }

 private:
  std::chrono::nanoseconds cancel_after_;
};

/// All that was accepted is done.
inline constexpr close_policy drain{std::chrono::nanoseconds::max()};

/// What has not begun is cancelled, what runs is asked to stop.
inline constexpr close_policy cancel_rest{std::chrono::nanoseconds{0}};

/// Drains for so long, then cancels the rest.
template <class Rep, class Period>
[[nodiscard]] close_policy drain_for(std::chrono::duration<Rep, Period> time) {
  return close_policy(to_nanoseconds(time));
}

/// Gives an owner of a lifecycle the members that follow from `shutdown()`,
/// `shutdown_and_cancel()`, `life()` and `throw_if_own_task()`: derive from it, with the class
/// itself as its argument.
///
/// \code
/// class poller : public takt::lifecycle_interface<poller> {
///  public:
///   ~poller() { close(takt::cancel_rest); }
///   void shutdown() noexcept { end(takt::life_state::shutdown); }
///   void shutdown_and_cancel() noexcept { end(takt::life_state::stop); }
///   const takt::lifecycle& life() const noexcept { return life_; }
///   void throw_if_own_task() const;  // on its own thread, which cannot wait for its end
///
///  private:
///   void end(takt::life_state next) noexcept {
///     if (life_.advance_to(next)) thread_.request_stop();
///   }
///   void run(std::stop_token stop) {
///     while (!stop.stop_requested()) poll();
///     if (life_.try_tidy(true)) life_.terminate();
///   }
///
///   takt::lifecycle life_{takt::steady};
///   std::jthread thread_{[this](std::stop_token stop) { run(stop); }};
/// };
/// \endcode
///
/// **Thread safety**: all members from any thread, if those four are.
template <class Derived>
class lifecycle_interface {
 public:
  [[nodiscard]] life_state state() const noexcept { return self().life().state(); }
  /// No longer takes work: shut down, or any later state.
  [[nodiscard]] bool is_shutdown() const noexcept { return state() != life_state::running; }
  /// Is shut down, and not yet at its end.
  [[nodiscard]] bool is_terminating() const noexcept { return is_shutdown() && !is_terminated(); }
  /// Has ended all its tasks, and no thread of it will run another. A task that its caller runs
  /// (see rejection_policy::caller_runs) may still be under way, and so may be the destruction of
  /// one that another thread has cancelled.
  [[nodiscard]] bool is_terminated() const noexcept { return state() == life_state::terminated; }

  /// Blocks until it is terminated. \throws std::system_error (resource_deadlock_would_occur) if
  /// called from one of its own tasks.
  void await_termination() const { await_termination_until(clock::time_point::max()); }
  /// As above, or until stop is requested. \return whether it is terminated.
  bool await_termination(const sync::stop_token& stop) const {
    return await_termination_until(clock::time_point::max(), stop);
  }
  /// As above, or for that long.
  template <class Rep, class Period>
  bool await_termination(std::chrono::duration<Rep, Period> timeout,
                         const sync::stop_token& stop = {}) const {
    return await_termination_until(
        deadline_after(self().life().time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above, or until that time.
  bool await_termination_until(clock::time_point deadline,
                               const sync::stop_token& stop = {}) const {
    self().throw_if_own_task();
    return self().life().await(deadline, stop);
  }

  /// Shuts down, and returns when all has come to its end, as the policy says.
  /// \return whether it came to its end without this call having to cancel what was left, or to
  /// ask it to stop.
  /// \throws std::system_error (resource_deadlock_would_occur) if called from one of its own tasks.
  bool close(const close_policy& policy) {
    self().throw_if_own_task();
    self().shutdown();
    if (await_termination(policy.cancel_after())) return true;
    self().shutdown_and_cancel();
    await_termination();
    return false;
  }

 private:
  friend Derived;
  lifecycle_interface() = default;
  ~lifecycle_interface() = default;

  Derived& self() noexcept { return static_cast<Derived&>(*this); }
  const Derived& self() const noexcept { return static_cast<const Derived&>(*this); }
};

}  // namespace takt::inline TAKT_ABI
