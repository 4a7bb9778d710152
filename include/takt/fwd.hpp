/// \file
/// Declares every public class of takt, for headers that only name them.
///
/// Aliases, and default template arguments that users leave out, stand here too; the headers of
/// their classes include this one.
#pragma once

#include <chrono>
#include <cstdint>

#include <takt/base/call_signature.hpp>
#include <takt/base/config.hpp>

// NOLINTBEGIN(bugprone-forward-declaration-namespace): many are named like classes of std
namespace takt::inline TAKT_ABI {

// takt/base/counted.hpp
template <class Derived>
class counted;

// takt/base/intrusive_list.hpp
template <class Tag = void>
class list_node;
template <class T, class Tag = void>
class intrusive_list;

// takt/base/move_only_function.hpp
template <class Signature, class Parts = typename call_signature<Signature>::parts>
class move_only_function;

// takt/base/mpsc_queue.hpp
class mpsc_node;
template <class T>
class mpsc_queue;

// takt/base/mutex.hpp
class mutex;
class mutex_lock;
class condition;

// takt/base/parker.hpp
class parker;

// takt/clock/clock.hpp
template <class Base>
class basic_clock;
class steady_clock;
class system_clock;

/// Steady time, for schedulers and time-outs.
using clock = basic_clock<std::chrono::steady_clock>;

/// The time of day, for calendars.
using wall_clock = basic_clock<std::chrono::system_clock>;

// takt/clock/manual_clock.hpp
template <class Base>
class basic_manual_clock;

/// For all that runs on a clock.
using manual_clock = basic_manual_clock<std::chrono::steady_clock>;

/// For all that runs on a wall_clock.
using manual_wall_clock = basic_manual_clock<std::chrono::system_clock>;

// takt/clock/timed_condition.hpp
class timed_condition;

// takt/observe/counter.hpp
class counter;

// takt/observe/histogram.hpp
class histogram_snapshot;
class histogram;

// takt/observe/task_observer.hpp
struct task_event;
class task_observer;

// takt/observe/task_statistics.hpp
struct task_totals;
class task_statistics;

// takt/task/errors.hpp
class cancelled;
class abandoned;
class wait_stopped;
class wait_timed_out;
enum class rejection : std::uint8_t;
class rejected;
enum class cancel_result : std::uint8_t;

// takt/task/unhandled.hpp
enum class unhandled : std::uint8_t;
class unhandled_hook;
class strict_hook;
class lenient_hook;

// takt/task/future_state.hpp
struct task_options;
class continuation;
class future_core;
class keep_alive;
class body_scope;
template <class R>
struct owned_result;
template <class State>
class state_ref;
template <class T>
class future_state;

// takt/task/future.hpp
template <class T>
class future;
template <class T>
class promise;
template <class T, class F, bool TakesValue>
struct then_result;
template <class T, class F>
class then_state;
template <class T>
class future_awaiter;

// takt/task/future_task.hpp
template <class F, bool WithToken>
struct task_result;
template <class T, class F>
class task_state;
template <class T>
class future_task;

// takt/task/task.hpp
class task_name;
struct task_attributes;
enum class task_outcome : std::uint8_t;
class task;
class task_list;

// takt/task/task_runner.hpp
class task_wait;
class task_runner;
class blocking_region;

// takt/task/when.hpp
template <class Futures>
struct when_any_result;
template <class Futures, class Result>
class when_state;
template <class Futures>
class when_all_state;
template <class Futures>
class when_any_state;

// takt/timer/free_places.hpp
class free_places;

// takt/timer/timer_table.hpp
struct timer_id;
template <class T>
class timer_table;

// takt/timer/timer_set.hpp
template <class T, class Order>
class timer_set;

// takt/timer/delay_heap.hpp
class heap_order;

/// Few timers, or an exact next_deadline().
template <class T>
using delay_heap = timer_set<T, heap_order>;

// takt/timer/timer_hints.hpp
struct timer_hint;
class timer_hints;

// takt/timer/timer_wheel.hpp
class wheel_order;

/// Many timers, of any delay.
template <class T>
using timer_wheel = timer_set<T, wheel_order>;

// takt/timer/hashed_wheel.hpp
struct hashed_wheel_options;
class hashed_order;

/// Many timers, most of which are nearer than a turn.
template <class T>
using hashed_wheel = timer_set<T, hashed_order>;

// takt/exec/any_executor.hpp
class any_executor;

// takt/exec/completion_queue.hpp
class completion_core;
template <class T>
class completion_queue;

// takt/exec/executor.hpp
struct resume_point;
template <class E>
class schedule_awaiter;
template <class Derived>
class executor_interface;

// takt/exec/fork_join.hpp
template <class F>
class fork_join_child;
class fork_join;

// takt/exec/inline_executor.hpp
class inline_executor;

// takt/exec/lifecycle.hpp
enum class life_state : std::uint8_t;
class lifecycle;
class close_policy;
template <class Derived>
class lifecycle_interface;

// takt/exec/manual_executor.hpp
class manual_executor;

// takt/exec/queue_order.hpp
enum class queue_order : std::uint8_t;

// takt/exec/rejection_policy.hpp
class rejection_policy;

// takt/exec/serial_executor.hpp
struct serial_executor_options;
class serial_executor;

// takt/exec/stealing_pool.hpp
struct stealing_pool_options;
class stealing_pool;

// takt/exec/thread_options.hpp
struct thread_options;

// takt/exec/thread_pool.hpp
class pool_core;
struct thread_pool_options;
struct pool_statistics;
class thread_pool;

// takt/exec/tracking_executor.hpp
class tracked_task;
template <class F>
class tracked_callable;
class tracking_record;
template <class E>
class tracking_executor;

// takt/sched/when.hpp
class when;

// takt/sched/missed_runs.hpp
class missed_runs;

// takt/sched/timer_handle.hpp
struct timer_request;
class timer_source;
class timer_place;
template <class T, class F>
class delayed_state;
struct period_state;
template <class F>
class periodic_state;
class timer_handle;
template <class T>
class scheduled_future;
class periodic_future;

// takt/sched/scheduler.hpp
struct timer_options;
struct periodic_options;
class timer_awaiter;
class scheduler;

// takt/sched/scheduled_pool.hpp
class delay_queue;
struct after_shutdown;
struct scheduled_pool_options;
class scheduled_pool;

// takt/sched/event_loop.hpp
struct event_loop_options;
class loop_core;
class loop_queue;
class event_loop;

// takt/sched/wheel_scheduler.hpp
class wheel_core;
enum class timer_stamp : std::uint8_t;
enum class at_close : std::uint8_t;
struct wheel_scheduler_options;
class wheel_view;
class wheel_scheduler;

// takt/sched/retry.hpp
struct backoff;
template <class T, class F>
class retry_state;
template <class F, bool WithToken>
struct retry_result;

// takt/sched/timeout.hpp
template <class T>
class timeout_state;

// takt/sched/watchdog.hpp
struct watchdog_options;
class watchdog;

}  // namespace takt::inline TAKT_ABI
// NOLINTEND(bugprone-forward-declaration-namespace)
