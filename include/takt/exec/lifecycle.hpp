/// \file
/// The lifecycle of pools, strands, schedulers and services. event_loop, manual_executor,
/// rx::worker, rx::schedulers and task_scope have lifecycles of their own.
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

/// The state of a component that owns threads. It only moves forward.
enum class life_state : std::uint8_t {
  running,     ///< Accepts work and runs it.
  shutdown,    ///< Rejects new work; runs queued work.
  stop,        ///< Rejects new work; returns or cancels queued work; requests stop of running work.
  tidying,     ///< Has no work and no threads; the termination hook runs.
  terminated,  ///< The termination hook has returned.
};

/// "running", "shutdown", and so on.
[[nodiscard]] std::string_view to_string(life_state s) noexcept;

/// The lifecycle of a component that owns threads (the owner): its state, the number of workers and
/// the number of holds, in one atomic word; and waits for termination. The states are those of
/// java.util.concurrent.ThreadPoolExecutor.
///
/// \code
///   running --shutdown()--> shutdown -- no work, no workers --+--> tidying --> terminated
///      |                       |                              |
///      +----shutdown_now()-----+--> stop ----- no workers ----+
/// \endcode
///
/// Tidying also requires that there is no hold. A call that ends the owner, such as shutdown_now(),
/// has a hold until it returns, so that the owner terminates after all such calls: see hold().
///
/// Owners are thread_pool, stealing_pool, scheduled_pool, wheel_scheduler, serial_executor,
/// log_service and crawler; a pipeline uses the lifecycle of its threads. Submissions read the word
/// without a lock. Changes that must agree with the owner's queue are made under the owner's lock.
///
/// **Thread safety.** All members may be called concurrently. **Destruction** requires that no
/// thread is in await() or close(): the owner's destructor calls await_unused() first.
class lifecycle {
 public:
  /// \param time  the clock for await(). It must outlive the lifecycle.
  explicit lifecycle(const clock& time) noexcept : time_(time) {}
  lifecycle(const lifecycle&) = delete;
  lifecycle& operator=(const lifecycle&) = delete;

  /// Returns the state. Everything before the transition to it happens before this call returns.
  [[nodiscard]] life_state state() const noexcept {
    // acquire: everything before the transition to the state that is read
    return static_cast<life_state>(word_.load(std::memory_order_acquire) >> 56);
  }
  /// Returns the number of workers. What removed workers did happens before this call returns.
  [[nodiscard]] std::size_t workers() const noexcept {
    return word_.load(std::memory_order_acquire) & 0xfff'ffff;  // acquire: what the workers did
  }
  /// Returns true if there is a hold. What was done under holds that were released earlier happens
  /// before this call returns.
  [[nodiscard]] bool is_held() const noexcept {
    // acquire: what the calls did that have released their holds
    return (word_.load(std::memory_order_acquire) >> 28 & 0xfff'ffff) != 0;
  }

  /// Advances to `next`, which is shutdown or stop, unless the state is `next` or later.
  /// \return true if this call advanced it.
  bool advance_to(life_state next) noexcept;

  /// Adds a worker. \return false in stop or later: no worker was added.
  [[nodiscard]] bool add_worker() noexcept;
  /// Removes a worker. What workers removed earlier did happens before this call returns.
  /// \return the number of workers left.
  std::size_t remove_worker() noexcept;

  /// Adds a hold, which prevents termination until release_hold(). Unlike a worker, a hold can be
  /// added in stop, because several calls may end the owner concurrently. \return false in tidying
  /// or later: all tasks have ended, and there is no hold to release.
  [[nodiscard]] bool hold() noexcept;
  /// Releases a hold. The caller then calls try_tidy(), since its hold may have been the last one.
  void release_hold() noexcept;

  /// Advances to tidying from stop, or from shutdown if `drained`, if there are no workers and no
  /// holds. Returns true to one caller, which runs the termination hook and calls terminate().
  [[nodiscard]] bool try_tidy(bool drained) noexcept;
  /// Advances from tidying to terminated and wakes all threads in await().
  void terminate() noexcept;

  /// Blocks until terminated, the deadline passes or stop is requested.
  /// \return true if terminated.
  bool await(clock::time_point deadline, const sync::stop_token& stop) const;
  /// Blocks until terminated and until all other threads have left await() and close(). For the
  /// owner's destructor.
  void await_unused() const;

  /// While a user exists, await_unused() waits. Calls that end the owner, such as close(),
  /// construct a user because another thread may destroy the owner before they return.
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

  /// Returns true if the calling thread has a `user`: await_unused() would wait for itself.
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
  mutable std::size_t users_ TAKT_GUARDED_BY(mu_) = 0;            // calls of await() and close()
  mutable detail::timed_condition changed_ TAKT_GUARDED_BY(mu_);  // terminated, or users_ is 0
};

/// Determines what close() does with accepted work. Copies like an int.
///
/// \code
/// pool.close(takt::drain);           // runs all accepted work, however long it takes
/// pool.close(takt::drain_for(5s));   // runs accepted work for 5 s, then cancels the rest
/// pool.close(takt::cancel_pending);  // cancels queued work, requests stop of running work
/// \endcode
class close_policy {
 public:
  /// Cancels work after `cancel_after`: at once if `cancel_after` is 0 or less, and not at all if
  /// it is takt::never.
  constexpr explicit close_policy(std::chrono::nanoseconds cancel_after) noexcept
      : cancel_after_(cancel_after) {}
  [[nodiscard]] constexpr std::chrono::nanoseconds cancel_after() const noexcept {
    return cancel_after_;
  }

 private:
  std::chrono::nanoseconds cancel_after_;
};

/// Runs all accepted work.
inline constexpr close_policy drain{std::chrono::nanoseconds::max()};

/// Cancels queued work and requests stop of running work.
inline constexpr close_policy cancel_pending{std::chrono::nanoseconds{0}};

/// Runs accepted work for `time`, then cancels queued work and requests stop of running work.
template <class Rep, class Period>
[[nodiscard]] close_policy drain_for(std::chrono::duration<Rep, Period> time) {
  return close_policy(to_nanoseconds(time));
}

/// CRTP base that adds close(), await_termination() and state queries to an owner of a lifecycle.
///
/// \code
/// class poller : public takt::lifecycle_interface<poller> {
///  public:
///   ~poller() { close(takt::cancel_pending); life_.await_unused(); }
///   void shutdown() noexcept;              // advances life_ to shutdown
///   void shutdown_and_cancel() noexcept;   // advances life_ to stop
///   const takt::lifecycle& life() const noexcept { return life_; }
///   void throw_if_own_task() const;        // throws on threads that cannot wait for termination
///  ...
/// };
/// \endcode
/// docs/shutdown.md has the whole class.
///
/// **Thread safety.** All members may be called concurrently if the four members of Derived above
/// may be. If the owner's destructor calls lifecycle::await_unused(), a thread that has awaited
/// termination may destroy the owner while other threads are still in close() or
/// await_termination().
template <class Derived>
class lifecycle_interface {
 public:
  [[nodiscard]] life_state state() const noexcept { return self().life().state(); }
  /// Returns true if new work is rejected: in shutdown and later.
  [[nodiscard]] bool is_shutdown() const noexcept { return state() != life_state::running; }
  /// Returns true if shut down and not yet terminated.
  [[nodiscard]] bool is_terminating() const noexcept { return is_shutdown() && !is_terminated(); }
  /// Returns true if all tasks have ended and no thread of the owner will run another task. Tasks
  /// that callers run (rejection_policy::caller_runs()) may still be running, and another thread
  /// may still be destroying the closure of a task that it has cancelled.
  [[nodiscard]] bool is_terminated() const noexcept { return state() == life_state::terminated; }

  /// Blocks until terminated. \throws std::system_error (resource_deadlock_would_occur) if called
  /// from one of the owner's tasks.
  void await_termination() const { await_termination_until(clock::time_point::max()); }
  /// As above, or until stop is requested. \return true if terminated.
  bool await_termination(const sync::stop_token& stop) const {
    return await_termination_until(clock::time_point::max(), stop);
  }
  /// As above, or until the time-out expires. \throws std::invalid_argument if the time-out is NaN.
  template <class Rep, class Period>
  bool await_termination(std::chrono::duration<Rep, Period> timeout,
                         const sync::stop_token& stop = {}) const {
    return await_termination_until(
        deadline_after(self().life().time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above, or until the deadline passes.
  bool await_termination_until(clock::time_point deadline,
                               const sync::stop_token& stop = {}) const {
    self().throw_if_own_task();
    return self().life().await(deadline, stop);
  }

  /// Shuts down and blocks until terminated; `policy` determines when remaining work is cancelled.
  /// \return true if the owner terminated before this call cancelled work or requested stop.
  /// \throws std::system_error (resource_deadlock_would_occur) if called from one of the owner's
  /// tasks.
  bool close(const close_policy& policy) {
    self().throw_if_own_task();
    const lifecycle::user here(self().life());  // another thread may destroy the owner meanwhile
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
