/// \file
/// All of takt.
#pragma once

#include <takt/base/assert.hpp>
#include <takt/base/call_signature.hpp>
#include <takt/base/config.hpp>
#include <takt/base/intrusive_list.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/base/mpsc_queue.hpp>
#include <takt/base/mutex.hpp>
#include <takt/base/parker.hpp>
#include <takt/base/sync.hpp>
#include <takt/base/thread_annotations.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/fwd.hpp>
#include <takt/observe/counter.hpp>
#include <takt/observe/histogram.hpp>
#include <takt/observe/task_observer.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/unhandled.hpp>
#include <takt/task/when.hpp>
