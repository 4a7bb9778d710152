/// \file
/// Forward declarations of every public class of takt.
///
/// This header also has the aliases, except those of timer structures, and the default template
/// arguments that users leave out. The headers that define the classes include it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/call_signature.hpp>

// NOLINTBEGIN(bugprone-forward-declaration-namespace): some names also exist in std
namespace takt::inline TAKT_ABI {

// takt/base/move_only_function.hpp
template <class Signature, class Parts = typename detail::call_signature<Signature>::parts>
class move_only_function;

// takt/base/parker.hpp
class parker;

// takt/clock/clock.hpp
template <class Base>
class basic_clock;
class steady_clock;
class system_clock;

/// The clock interface of steady time, for schedulers and time-outs.
using clock = basic_clock<std::chrono::steady_clock>;

/// The clock interface of the time of day, for calendars.
using wall_clock = basic_clock<std::chrono::system_clock>;

// takt/clock/manual_clock.hpp
template <class Base>
class basic_manual_clock;

/// The manual clock of steady time.
using manual_clock = basic_manual_clock<std::chrono::steady_clock>;

/// The manual clock of the time of day.
using manual_wall_clock = basic_manual_clock<std::chrono::system_clock>;

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
class broken_promise;
class wait_stopped;
class timeout_error;
enum class rejection : std::uint8_t;
class rejected;
enum class task_outcome : std::uint8_t;
enum class cancel_result : std::uint8_t;

// takt/task/unhandled.hpp
enum class unhandled : std::uint8_t;
class unhandled_hook;

// takt/task/future_options.hpp
struct future_options;

// takt/task/future.hpp
template <class T>
class future;
template <class T>
class promise;

// takt/task/future_task.hpp
template <class T>
class future_task;

// takt/task/task.hpp
class task_name;
struct task_options;
class task;

// takt/task/task_list.hpp
class task_list;

// takt/task/blocking_region.hpp
class blocking_region;

// takt/task/when_all.hpp
template <class Futures>
struct when_any_result;

// takt/timer/timer_id.hpp
struct timer_id;

// takt/timer/timer_set.hpp
template <class T, class Order>
class timer_set;

// takt/timer/hashed_wheel_options.hpp
struct hashed_wheel_options;

// takt/exec/any_executor.hpp
class any_executor;

// takt/exec/completion_queue.hpp
template <class T>
class completion_queue;

// takt/exec/executor.hpp
template <class Derived>
class executor_interface;

// takt/exec/fork_join.hpp
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
struct thread_pool_options;
struct pool_statistics;
class thread_pool;

// takt/exec/tracking_executor.hpp
template <class E>
class tracking_executor;

// takt/sched/due_time.hpp
class due_time;

// takt/sched/missed_runs.hpp
class missed_runs;

// takt/sched/timer_handle.hpp
class timer_handle;
template <class T>
class scheduled_future;
class periodic_future;

// takt/sched/scheduler.hpp
struct timer_options;
struct periodic_options;
class scheduler;

// takt/sched/scheduled_pool.hpp
struct after_shutdown;
struct scheduled_pool_options;
class scheduled_pool;

// takt/sched/event_loop.hpp
struct event_loop_options;
class loop_queue;
class event_loop;

// takt/sched/wheel_scheduler.hpp
enum class timer_stamp : std::uint8_t;
enum class at_close : std::uint8_t;
struct wheel_scheduler_options;
class wheel_view;
class wheel_scheduler;

// takt/sched/retry.hpp
struct backoff;

// takt/sched/watchdog.hpp
struct watchdog_options;
class watchdog;

namespace rx {

// takt/rx/aggregate_error.hpp
class aggregate_error;

// takt/rx/subscription.hpp
class subscription;
class scoped_subscription;

// takt/rx/composite_subscription.hpp
class composite_subscription;

// takt/rx/serial_subscription.hpp
class subscription_slot;
class serial_subscription;
class assignable_subscription;

// takt/rx/refcount_subscription.hpp
class refcount_subscription;

// takt/rx/task_subscription.hpp
class task_subscription;

// takt/rx/worker.hpp
struct worker_options;
struct worker_periodic_options;
class worker;

// takt/rx/worker_scheduler.hpp
class worker_scheduler;

// takt/rx/schedulers.hpp
struct schedulers_options;
class schedulers;

// takt/rx/test_scheduler.hpp
struct test_scheduler_options;
class test_scheduler;

// takt/rx/action.hpp
class action_node;
class action_ref;
template <class State>
class action;

// takt/rx/action_scheduler.hpp
class action_scheduler;

// takt/rx/async_scheduler.hpp
class async_scheduler;

// takt/rx/queue_scheduler.hpp
class queue_scheduler;

// takt/rx/loop_requests.hpp
class loop_requests;

// takt/rx/batch_scheduler.hpp
class batch_scheduler;

// takt/rx/asap_scheduler.hpp
class asap_scheduler;

// takt/rx/animation_frame_scheduler.hpp
class animation_frame_scheduler;

// takt/rx/virtual_time_scheduler.hpp
struct virtual_time_scheduler_options;
class virtual_time_scheduler;

// takt/rx/marbles.hpp
enum class marble_kind : std::uint8_t;
struct marble;
struct marble_syntax;
struct subscription_times;

// takt/rx/test_observable.hpp
template <class T>
struct test_observer;
template <class T>
class test_subscriber;
template <class T>
class test_observable;

// takt/rx/marble_observable.hpp
class marble_error;
template <class T>
struct marble_message;
template <class T>
class marble_observable;

// takt/rx/marble_scheduler.hpp
class marble_mismatch;
struct marble_options;
class marble_expectation;
template <class T>
class expected_observable;
class expected_subscriptions;
class marble_scheduler;

}  // namespace rx

// takt/service/service_group.hpp
struct service_actions;
enum class stop_outcome : std::uint8_t;
struct stop_report;
struct service_group_options;
class service_group;

// takt/service/stop_signals.hpp
struct stop_signals_options;
class stop_signals;

// takt/service/task_scope.hpp
struct task_scope_options;
template <class T = void>
class task_scope;

// takt/service/when_full.hpp
class when_full;

// takt/service/channel_options.hpp
struct channel_options;
struct channel_statistics;
enum class push_result : std::uint8_t;

// takt/service/channel.hpp
template <class T>
class channel;

// takt/service/log_sink.hpp
class log_sink;
enum class file_sync : std::uint8_t;
struct file_sink_options;

// takt/service/log_service.hpp
struct log_service_options;
struct log_statistics;
class log_service;

// takt/service/pipeline_stage.hpp
struct source_options;
struct stage_options;
struct stage_statistics;
class stage_failed;
template <class T>
class outlet;

// takt/service/pipeline.hpp
struct pipeline_options;
class pipeline;
template <class T>
class pipeline_draft;

// takt/service/file_replacement.hpp
class file_replacement;

// takt/service/crawler.hpp
struct crawler_options;
class crawler;

// takt/service/work_queue.hpp
struct work_item;
struct work_counts;
class work_queue_error;
class work_queue;

// takt/service/memory_work_queue.hpp
class memory_work_queue;

// takt/service/file_work_queue.hpp
enum class work_sync : std::uint8_t;
enum class damage_policy : std::uint8_t;
struct file_work_queue_options;
struct file_work_queue_recovery;
class file_work_queue;

}  // namespace takt::inline TAKT_ABI
// NOLINTEND(bugprone-forward-declaration-namespace)
