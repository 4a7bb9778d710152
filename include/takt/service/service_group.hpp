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

/// What a service_group has a service do.
struct service_actions {
  /// Begins to work. May throw: then the group is not started. Empty: it works already.
  std::function<void()> start{};
  /// Takes no more work, and comes to its end in its own time. Does not wait.
  std::function<void()> shutdown{};
  /// Waits for that end until the deadline, or until stop is requested. \return whether it has
  /// come.
  std::function<bool(clock::time_point deadline, const sync::stop_token& stop)> await_end{};
  /// Comes to its end as soon as it can. Does not wait. Empty: as shutdown.
  std::function<void()> force{};
};

/// What became of a service when its group was stopped.
enum class stop_outcome : std::uint8_t {
  ended,          ///< It came to its end in time.
  forced,         ///< It came to its end after it was told to hurry.
  still_running,  ///< It has not come to its end.
  failed,         ///< It threw instead.
};

/// "ended", "forced", "still running" or "failed".
[[nodiscard]] std::string_view to_string(stop_outcome o) noexcept;

/// How a service_group stopped.
struct stop_report {
  struct service {
    std::string name;
    stop_outcome outcome = stop_outcome::ended;
    std::chrono::nanoseconds took{};  ///< Since its turn.
    std::exception_ptr error{};       ///< What it threw, if it failed.
  };
  std::vector<service> services{};  ///< In the order in which they were stopped.

  /// Whether all came to their end in time.
  [[nodiscard]] bool is_clean() const noexcept;
  /// A line for people: "stopped: listener ended (12 ms), pool forced (5.0 s)".
  [[nodiscard]] std::string to_string() const;
};

/// What has the life of a pool: pools, strands, wheels and services, all that derive from
/// lifecycle_interface; rx::schedulers do not, and end after the group. If it has a start(), that
/// is called as well.
template <class S>
concept stoppable_service =
    requires(S& s, clock::time_point deadline, const sync::stop_token& stop) {
      s.shutdown();
      s.shutdown_and_cancel();
      s.throw_if_own_task();
      { s.await_termination_until(deadline, stop) } -> std::convertible_to<bool>;
    };

/// How a service_group is made.
struct service_group_options {
  /// How long those are waited for that were told to hurry.
  std::chrono::nanoseconds linger = std::chrono::seconds(1);
  const clock* time = &steady;  ///< Of its deadlines, and of all services. Outlives the group.
};

/// Starts services in the order in which they were added, stops them in reverse, with one deadline
/// for all, and tells who did not make it.
///
/// \code
/// int main() {
///   takt::stop_signals signals;                      // SIGINT and SIGTERM
///   takt::thread_pool pool{{.name = "work"}};
///   takt::wheel_scheduler timeouts;
///   web_server server{pool, timeouts};
///
///   takt::service_group app;
///   app.add("pool", pool);                           // what is used, before who uses it
///   app.add("timeouts", timeouts);
///   app.add("server",
///           {.start = [&] { server.listen(8080); },
///            .shutdown = [&] { server.close(); },
///            .await_end = [&](auto until, auto stop) { return server.wait(until, stop); }});
///
///   takt::stop_report report = app.run(10s, signals);   // starts; waits for a signal; stops
///   std::puts(report.to_string().c_str());
///   return report.is_clean() ? 0 : 1;
/// }
/// \endcode
///
/// **Starting.** If a service throws, those before it are stopped, without delay, and start()
/// throws that.
///
/// **Stopping.** One after the other, each is shut down and waited for. When the deadline has come,
/// or stop is requested (a second signal), all that are left are told to hurry, in the same order,
/// and waited for `linger` more: who has not ended then is reported, and left alone. One that
/// throws is told to hurry, alone, and reported as failed: the others are stopped as if it had
/// ended.
///
/// **Ownership.** A group refers to its services: they outlive it, and nobody else stops them. They
/// are stopped by their own destructors, too; but those do not drain, and know no order.
///
/// **From inside.** A task of a service, and what it does to start or to stop, asks for the end
/// with request_stop(), which does not wait; stop() there is an error, as the service would wait
/// for itself.
///
/// **Memory** for the report is there when it has started: nothing keeps services from being
/// stopped.
///
/// **Thread safety**: all members from any thread, but for add() and the destructor.
/// **Destruction** of a group that was started and not stopped forces all, in reverse, and waits
/// for them. In a child process after fork() it does nothing.
class service_group {
 public:
  using options = service_group_options;

  /// \throws std::invalid_argument if linger is negative, or time null.
  explicit service_group(const options& how = {});
  ~service_group();
  service_group(const service_group&) = delete;
  service_group& operator=(const service_group&) = delete;

  /// Adds a service. \throws std::logic_error if the group was started; std::invalid_argument if
  /// the name is empty, or shutdown or await_end is.
  void add(std::string name, service_actions what) { add(std::move(name), std::move(what), {}); }
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

  /// Starts all services. \throws what one of them throws; std::logic_error if it was started or
  /// stopped before; std::bad_alloc, and it can be started again.
  void start();

  /// Stops all services, within that time: see above. A second call waits for the first, and gives
  /// the same report. Of a group that was not started: it cannot be any more.
  /// \throws std::system_error (resource_deadlock_would_occur) if called by a task of a service
  /// that was added as an object, or by one of the functions of service_actions; a task of a
  /// service that was added by such functions waits for itself until the deadline. std::bad_alloc,
  /// if there is no memory for a copy of the report: all are stopped then, and another call gives
  /// it.
  template <class Rep, class Period>
  stop_report stop(std::chrono::duration<Rep, Period> timeout, const sync::stop_token& force = {}) {
    return stop_until(deadline_after(time().now(), to_nanoseconds(timeout)), force);
  }
  stop_report stop_until(clock::time_point deadline, const sync::stop_token& force = {});

  /// Has run() go on, and wait_for_request() return. Does not wait.
  void request_stop() noexcept;
  /// Waits for that, or until stop is requested by the token.
  void wait_for_request(const sync::stop_token& stop = {});

  /// start(); waits for the first signal, or request_stop(); stop(timeout), which the second signal
  /// makes hurry. \throws as start().
  template <class Rep, class Period>
  stop_report run(std::chrono::duration<Rep, Period> timeout, const stop_signals& signals) {
    return run_for(to_nanoseconds(timeout), signals);
  }

 private:
  void add(std::string name, service_actions what, std::function<void()> throw_if_inside);
  stop_report run_for(std::chrono::nanoseconds timeout, const stop_signals& signals);
  [[nodiscard]] const clock& time() const noexcept;

  class impl;
  const detail::fork_guard home_;
  impl* impl_;
};

}  // namespace takt::inline TAKT_ABI
