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

}  // namespace takt::inline TAKT_ABI
