/// \file
/// How pools, strands, schedulers and services live and end. (rx::schedulers and task_scope have a
/// life of their own.)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/clock/time.hpp>
#include <takt/task/detail/executor_scope.hpp>

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

/// The life of an owner of threads: its state, the number of its workers and the number of calls
/// that are ending it, in one word, so that they change together; and waiting for the end.
///
/// \code
///   running --shutdown()--> shutdown -- no work, no workers --+--> tidying --> terminated
///      |                       |                              |
///      +----shutdown_now()-----+--> stop ----- no workers ----+
/// \endcode
///
/// Tidying also needs that no call holds it. A call that ends the owner holds it until it has
/// returned, so that the owner terminates after each of them: see hold().
///
/// Owners: thread_pool, stealing_pool, scheduled_pool, wheel_scheduler, serial_executor,
/// log_service, crawler; a pipeline has that of its threads. The word is atomic so that a
/// submission can look at it without a lock; what an owner changes together with its queue, it
/// changes under its lock.
///
/// **Thread safety**: all members from any thread. **Destruction**: nobody is within await() or
/// close(). The destructor of an owner calls await_unused() for that.
class lifecycle {
 public:
  /// \param time  for await().
  explicit lifecycle(const clock& time) noexcept : time_(time) {}
  lifecycle(const lifecycle&) = delete;
  lifecycle& operator=(const lifecycle&) = delete;

  /// What was done before the transition to it happens before this returns.
  [[nodiscard]] life_state state() const noexcept {
    // acquire: what was done before the transition that is seen
    return static_cast<life_state>(word_.load(std::memory_order_acquire) >> 56);
  }
  /// What those did that have left happens before this returns.
  [[nodiscard]] std::size_t workers() const noexcept {
    return word_.load(std::memory_order_acquire) & 0xfff'ffff;  // acquire: what the workers did
  }
  /// Whether a call holds it. What the calls did that have released it happens before this returns.
  [[nodiscard]] bool is_held() const noexcept {
    // acquire: what those calls did
    return (word_.load(std::memory_order_acquire) >> 28 & 0xfff'ffff) != 0;
  }

  /// Goes on to `next`, shutdown or stop, unless it is there or beyond.
  /// \return whether this call did it.
  bool advance_to(life_state next) noexcept;

  /// One more worker, unless it is too late: stop or beyond. \return whether there is.
  [[nodiscard]] bool add_worker() noexcept;
  /// One less, who sees what those did that left before. \return how many are left.
  std::size_t remove_worker() noexcept;

  /// Keeps it from terminating until release_hold(). Unlike a worker, a hold is also possible in
  /// stop: several calls may end the owner at once. \return false in tidying or later: all tasks
  /// have ended, and there is nothing to release.
  [[nodiscard]] bool hold() noexcept;
  /// The caller looks with try_tidy() afterwards whether it was the last one.
  void release_hold() noexcept;

  /// From shutdown, if `drained`, or from stop to tidying, if there is no worker and no hold. True
  /// for one caller only. That caller runs the termination hook and then calls terminate().
  [[nodiscard]] bool try_tidy(bool drained) noexcept;
  /// From tidying to terminated: whoever awaits it goes on.
  void terminate() noexcept;

  /// Blocks until terminated, until the deadline or until stop is requested.
  /// \return whether it is terminated.
  bool await(clock::time_point deadline, const sync::stop_token& stop) const;
  /// Blocks until terminated, and until all other threads have left await() and close(). For the
  /// destructor of an owner.
  void await_unused() const;

  /// While it exists, await_unused() waits. For close(), which ends the owner and then waits: so
  /// another thread may destroy the owner meanwhile.
  class user final : detail::executor_scope {
   public:
    explicit user(const lifecycle& of)
        : detail::executor_scope(&of.word_, nesting::continued), of_(of) {
      const detail::mutex_lock lock(of_.mu_);
      ++of_.users_;
    }
    user(const user&) = delete;
    user& operator=(const user&) = delete;
    ~user() {
      const detail::mutex_lock lock(of_.mu_);
      if (--of_.users_ == 0) of_.changed_.notify_all();
    }

   private:
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }

    const lifecycle& of_;
  };

  /// Whether the calling thread has a `user`: then it cannot wait in await_unused().
  [[nodiscard]] bool is_used_here() const noexcept {
    return detail::executor_scope::of(&word_) != nullptr;
  }

  [[nodiscard]] const clock& time() const noexcept { return time_; }

 private:
  // Constant after construction.
  const clock& time_;

  // Atomic. The state in 8 bits, the number of holds in 28 bits, the number of workers in 28 bits.
  sync::atomic<std::uint64_t> word_{0};

  mutable detail::mutex mu_;
  mutable std::size_t users_ TAKT_GUARDED_BY(mu_) = 0;            // within await() or close()
  mutable detail::timed_condition changed_ TAKT_GUARDED_BY(mu_);  // terminated, or users_ is 0
};

/// What close() does about work that is still there. Copied like an int.
///
/// \code
/// pool.close(takt::drain);           // does it all, however long that takes
/// pool.close(takt::drain_for(5s));   // does what it can, then cancels the rest
/// pool.close(takt::cancel_pending);     // cancels what has not begun, asks what runs to stop
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
inline constexpr close_policy cancel_pending{std::chrono::nanoseconds{0}};

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
///   ~poller() { close(takt::cancel_pending); life_.await_unused(); }
///   void shutdown() noexcept { end(takt::life_state::shutdown); }
///   void shutdown_and_cancel() noexcept { end(takt::life_state::stop); }
///   const takt::lifecycle& life() const noexcept { return life_; }
///   void throw_if_own_task() const;  // on its own thread, which cannot wait for its end
///
///  private:
///   void end(takt::life_state next) noexcept {
///     const takt::lifecycle::user here(life_);   // the destructor waits for this call
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
/// **Thread safety**: all members from any thread, if those four are. While one thread is within
/// any of them, another one that awaits termination may destroy the owner, if its destructor calls
/// lifecycle::await_unused().
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
    const lifecycle::user here(self().life());  // another thread may destroy it when it has ended
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
