/// \file
/// The foundation of the instrumented sync names: operations, steps, objects, vector clocks.
///
/// A *run* executes a test body, with all of its threads as fibers on one OS thread. Before each
/// operation on a sync object the fiber announces the operation, and the checker picks the next
/// thread. The operation itself is then one indivisible step. Used only in the model build.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <takt/base/config.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Maximum number of threads of a run, including thread 0, the clock. Thread 1 runs the body.
inline constexpr std::size_t max_threads = 16;

/// Virtual time has the type of real time, so that code is the same for both.
using time_point = std::chrono::steady_clock::time_point;

/// A vector clock: one step counter per thread, for what a thread has seen of the others.
class vector_clock {
 public:
  std::uint32_t& operator[](std::size_t thread) noexcept { return at_[thread]; }
  std::uint32_t operator[](std::size_t thread) const noexcept { return at_[thread]; }
  void join(const vector_clock& other) noexcept {
    for (std::size_t i = 0; i < max_threads; ++i) at_[i] = std::max(at_[i], other.at_[i]);
  }

 private:
  std::array<std::uint32_t, max_threads> at_{};
};

/// The kinds of steps. Their names appear in traces.
enum class op : std::uint8_t {
  begin,
  finish,
  spawn,
  join,
  yield,
  tick,
  now,
  load,
  store,
  rmw,
  lock,
  try_lock,
  unlock,
  wait,
  wake,
  notify,
  futex_wait,
  futex_wake,
  destroy,
};

/// The next operation of a thread. Objects are identified by number, in order of creation within
/// the run, never by address, so that a run can be replayed.
struct operation {
  op kind = op::begin;
  bool writes = true;
  std::uint32_t object = 0;
  const char* object_kind = "";
};

/// Returns whether two steps are dependent: their order may matter to the program.
bool dependent(const operation& a, const operation& b) noexcept;

class thread_state;

/// Fails the run and ends it. The stacks of its fibers are abandoned, not unwound.
[[noreturn]] void fail(const std::string& message) noexcept;

/// The identity of a sync object in the checker: its number and its lifetime.
///
/// Each use is checked: the construction must happen before it, and it must happen before the
/// destruction. This detects use after free and unsafe publication without a sanitizer.
class object {
 public:
  /// `kind` is a literal that names the object in reports.
  explicit object(const char* kind) noexcept;
  object(const object&) = delete;
  object& operator=(const object&) = delete;
  ~object() = default;

  /// Number within the run; 0 for an object constructed outside of a run.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// Type of the object, for reports.
  [[nodiscard]] const char* kind() const noexcept { return kind_; }
  /// Kind and number, such as "mutex #3".
  [[nodiscard]] std::string describe() const;

 protected:
  /// The step that ends the object's lifetime; the first statement of the derived destructor.
  void retire() noexcept;
  /// Fails the run unless `self` may use the object now.
  void check_use(const thread_state& self, bool destroys) const noexcept;

 private:
  friend class step;

  const char* kind_;
  std::uint64_t magic_;
  std::uint32_t id_ = 0;
  std::uint32_t run_ = 0;
  std::uint32_t creator_ = 0;
  std::uint32_t created_ = 0;
  mutable vector_clock used_{};
};

/// One operation. The constructor waits until the checker picks this thread; the rest of the
/// enclosing scope is the operation. Outside of a run a step does nothing and self() is null.
class step {
 public:
  step(op kind, const object& target, bool writes) noexcept;
  ~step();
  step(const step&) = delete;
  step& operator=(const step&) = delete;

  [[nodiscard]] thread_state* self() const noexcept { return self_; }

 private:
  thread_state* self_;
  bool tracked_before_ = false;  // allocations within a step are the checker's own
};

/// Blocks the calling thread, as one step, until a notification or `deadline`. The caller has
/// already added the thread to a waiter_list. \return true if notified.
bool wait_for_notification(const object& target, time_point deadline) noexcept;

/// The list of blocked threads of a condition variable.
class waiter_list {
 public:
  void add(thread_state& waiter) noexcept;
  void remove(thread_state& waiter) noexcept;
  /// Removes and wakes one waiter, chosen by the checker. \return false if there is none.
  bool notify_any() noexcept;
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<thread_state*, max_threads> waiters_{};
  std::size_t size_ = 0;
};

/// Returns a number in [0, n) from the run's stream of choices; 0 outside of a run.
std::uint32_t choose(std::uint32_t n) noexcept;

/// Returns the calling thread; null outside of a run.
thread_state* current_thread() noexcept;
std::size_t thread_number(const thread_state& thread) noexcept;

/// Adds to the current step's line in the trace. No effect unless the run is traced.
void note(const char* what, std::uint64_t value) noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI
