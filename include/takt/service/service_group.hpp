/// \file
/// Services that are started in order and stopped in reverse.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/fwd.hpp>  // stop_signals

namespace takt::inline TAKT_ABI {

/// The functions by which a service_group starts and stops a service.
struct service_actions {
  /// Starts the service. If this throws, the group does not start. Empty: the service runs already.
  std::function<void()> start{};
  /// Closes the intake and lets the service finish its work. Must not wait.
  std::function<void()> shutdown{};
  /// Waits until the service has ended, the deadline has passed, or stop is requested. \return true
  /// if the service has ended.
  std::function<bool(clock::time_point deadline, const sync::stop_token& stop)> await_end{};
  /// Ends the service as soon as possible. Must not wait. Empty: calls `shutdown` again.
  std::function<void()> force{};
};

/// Outcome of stopping a service.
enum class stop_outcome : std::uint8_t {
  ended,          ///< The service ended in time.
  forced,         ///< The service ended after it was forced.
  still_running,  ///< The service was forced and has not ended.
  failed,         ///< One of its actions threw while the group stopped it.
};

/// Returns "ended", "forced", "still running" or "failed".
[[nodiscard]] std::string_view to_string(stop_outcome o) noexcept;

/// The outcomes of stopping a service_group.
struct stop_report {
  struct service {
    std::string name;
    stop_outcome outcome = stop_outcome::ended;
    std::chrono::nanoseconds took{};  ///< Time since the group began to stop this service.
    std::exception_ptr error{};       ///< The exception, if the outcome is `failed`.
  };
  std::vector<service> services{};  ///< In the order of stopping.

  /// Returns true if all services ended in time.
  [[nodiscard]] bool is_clean() const noexcept;
  /// Returns a line of text: "stopped: listener ended (12 ms), pool forced (5.0 s)".
  [[nodiscard]] std::string to_string() const;
};

/// A service with the lifecycle of a pool, such as every class that derives from
/// lifecycle_interface. If it has a start(), the group calls it. rx::schedulers is no such service:
/// destroy it after the group.
template <class S>
concept stoppable_service =
    requires(S& s, clock::time_point deadline, const sync::stop_token& stop) {
      s.shutdown();
      s.shutdown_and_cancel();
      s.throw_if_own_task();
      { s.await_termination_until(deadline, stop) } -> std::convertible_to<bool>;
    };

/// Options of a service_group.
struct service_group_options {
  /// Maximum time for which the group waits for forced services.
  std::chrono::nanoseconds linger = std::chrono::seconds(1);
  /// Clock of the group's deadlines. Its services must use the same clock. Must outlive the group.
  const clock* time = &steady;
};

/// Starts services in the order of add(), stops them in reverse order with one common deadline, and
/// reports the outcome of each.
///
/// \code
/// takt::stop_signals signals;                           // SIGINT and SIGTERM
/// takt::thread_pool pool;
/// web_server server{pool};
/// takt::service_group app;
/// app.add("pool", pool);                                // before its users
/// app.add("server",
///         {.start = [&] { server.listen(8080); },
///          .shutdown = [&] { server.close(); },
///          .await_end = [&](auto until, auto stop) { return server.wait(until, stop); }});
/// takt::stop_report report = app.run(10s, signals);     // starts, waits for a signal, stops
/// \endcode
///
/// **Errors.** If the start of a service throws, the services before it are stopped at once.
///
/// **Shutdown.** Services are shut down and awaited one by one. At the deadline, or when stop is
/// requested, the remaining ones are forced and then awaited for `linger`. The destructor of a
/// running group forces all of them and waits; in a child process after fork() it does nothing.
///
/// **Thread safety.** All members may be called from any thread, except add() and the destructor.
/// Services call request_stop(), not stop(). The services must outlive the group. See
/// docs/services.md.
class service_group {
 public:
  using options_type = service_group_options;

  /// \throws std::invalid_argument if linger is negative or time is null.
  explicit service_group(const options_type& options = {});
  ~service_group();
  service_group(const service_group&) = delete;
  service_group& operator=(const service_group&) = delete;

  /// Adds a service. \throws std::logic_error if the group was started or stopped;
  /// std::invalid_argument if the name, `shutdown` or `await_end` is empty.
  void add(std::string name, service_actions actions) {
    add(std::move(name), std::move(actions), {});
  }
  template <stoppable_service S>
  void add(std::string name, S& service) {
    std::function<void()> start;
    if constexpr (requires { service.start(); }) start = [&service] { service.start(); };
    add(std::move(name),
        {.start = std::move(start),
         .shutdown = [&service] { service.shutdown(); },
         .await_end =
             [&service](clock::time_point deadline, const sync::stop_token& stop) {
               return service.await_termination_until(deadline, stop);
             },
         .force = [&service] { service.shutdown_and_cancel(); }},
        [&service] { service.throw_if_own_task(); });
  }

  /// Starts all services. \throws the exception of a service; std::logic_error if the group was
  /// started or stopped before; std::bad_alloc if there is no memory for the report, after which
  /// start() may be called again.
  void start();

  /// Stops all services; forces them at the deadline, or when stop is requested on `force`. A
  /// second call waits for the first and returns the same report. After this, the group cannot be
  /// started.
  /// \throws std::system_error (resource_deadlock_would_occur) if called by a task of a service
  /// that was added as an object, or by an action of a service. A task of a service that was added
  /// by actions must not call this: it would wait for itself until the deadline. \throws
  /// std::bad_alloc if there is no memory to copy the report: all services are stopped then, and
  /// another call returns the report.
  template <class Rep, class Period>
  stop_report stop(std::chrono::duration<Rep, Period> timeout, const sync::stop_token& force = {}) {
    return stop_until(deadline_after(time().now(), to_nanoseconds(timeout)), force);
  }
  stop_report stop_until(clock::time_point deadline, const sync::stop_token& force = {});

  /// Makes wait_for_request() return, so that run() stops the services. Does not wait.
  void request_stop() noexcept;
  /// Waits for request_stop(), or until stop is requested by the token.
  void wait_for_request(const sync::stop_token& stop = {});

  /// Calls start(), waits for the first signal or request_stop(), and calls stop(timeout); the
  /// second signal forces the services. \throws what start() and stop() throw.
  template <class Rep, class Period>
  stop_report run(std::chrono::duration<Rep, Period> timeout, const stop_signals& signals) {
    return run_for(to_nanoseconds(timeout), signals);
  }

 private:
  void add(std::string name, service_actions actions, std::function<void()> throw_if_inside);
  stop_report run_for(std::chrono::nanoseconds timeout, const stop_signals& signals);
  [[nodiscard]] const clock& time() const noexcept;

  class impl;
  const detail::fork_guard home_;
  impl* impl_;
};

}  // namespace takt::inline TAKT_ABI
