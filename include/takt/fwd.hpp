/// \file
/// Declares every public class of takt, for headers that only name them.
///
/// Default template arguments stand in the classes' own headers.
#pragma once

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {

// takt/base/intrusive_list.hpp
template <class Tag>
class list_node;
template <class T, class Tag>
class intrusive_list;

// takt/base/move_only_function.hpp
template <bool AsRvalue, class R, class... Args>
struct call_parts;
template <class Signature>
struct call_signature;
template <class Signature, class Parts>
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

// takt/clock/clock.hpp
template <class Base>
class basic_clock;
class steady_clock;
class system_clock;

// takt/clock/manual_clock.hpp
template <class Base>
class basic_manual_clock;

}  // namespace takt::inline TAKT_ABI
