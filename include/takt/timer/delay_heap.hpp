/// \file
/// A four-ary heap of timers.
#pragma once

#include <takt/base/config.hpp>
#include <takt/timer/detail/heap_order.hpp>
#include <takt/timer/timer_set.hpp>

namespace takt::inline TAKT_ABI {

/// A four-ary heap of timers: for timers of which most fire, or where next_deadline() has to be
/// exact. Members: see timer_set.
///
/// \code
/// takt::delay_heap<int> heap;
/// heap.insert(deadline, 42);
/// \endcode
///
/// **Cost.** next_deadline() is exact and O(1). All other operations are O(log n), or O(1) for
/// timers that are far ahead; see docs/timers.md.
template <class T>
using delay_heap = timer_set<T, detail::heap_order>;

}  // namespace takt::inline TAKT_ABI
