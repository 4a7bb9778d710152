/// \file
/// What the instrumented sync names are made of: operations, steps, objects, vector clocks.
///
/// A *run* executes a test body with all its threads as fibers on one OS thread. Before each
/// operation on a sync object the fiber announces the operation and the checker picks who goes on;
/// then the operation itself happens as one indivisible step. Nothing here is used outside the
/// model build.
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

/// Threads of one run, counting the clock, which is thread 0. The test body is thread 1.
inline constexpr std::size_t max_threads = 16;

/// Virtual time has the type of real time, so that no code needs to tell them apart.
using time_point = std::chrono::steady_clock::time_point;

/// One counter per thread: what a thread, or whoever synchronises with it, has seen of the others.
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

/// Every kind of step. The names appear in traces.
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

/// What a thread is about to do. Objects are known by number, in order of creation within the run,
/// never by address: a run can be replayed.
struct operation {
  op kind = op::begin;
  bool writes = true;
  std::uint32_t object = 0;
  const char* object_kind = "";
};

/// Can the order of two steps be told apart?
bool dependent(const operation& a, const operation& b) noexcept;

class thread_state;

/// Ends the run as failed. The fibers' stacks are abandoned, nothing is unwound.
[[noreturn]] void fail(const std::string& message) noexcept;

/// The engine-side identity of a sync object: its number and its lifetime.
///
/// Each use is checked: the construction must happen before it, and it must happen before the
/// destruction. That finds use after free and unsafe publication without a sanitizer.
class object {
 public:
  /// `kind` is a literal that names the object in reports.
  explicit object(const char* kind) noexcept;
  object(const object&) = delete;
  object& operator=(const object&) = delete;
  ~object() = default;

  /// Number within the run; 0 for an object made outside of any run.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// What it is, for reports.
  [[nodiscard]] const char* kind() const noexcept { return kind_; }
  /// "mutex #3"
  [[nodiscard]] std::string describe() const;

 protected:
  /// The step that ends the object's life; the derived destructor's first statement.
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

/// One operation: the constructor waits until the checker picks this thread, then the enclosing
/// scope is the operation. Outside of a run it does nothing and self() is null.
class step {
 public:
  step(op kind, const object& target, bool writes) noexcept;
  ~step();
  step(const step&) = delete;
  step& operator=(const step&) = delete;

  [[nodiscard]] thread_state* self() const noexcept { return self_; }

 private:
  thread_state* self_;
  bool tracked_before_ = false;  // memory allocated within a step is the checker's own
};

/// Blocks the calling thread in `step`-like fashion until it was notified or `deadline` has come.
/// The waiter has been put into a list of waiters before. True if notified.
bool wait_for_notification(const object& target, time_point deadline) noexcept;

/// A list of blocked threads: the common part of condition variables and futexes.
class waiter_list {
 public:
  void add(thread_state& waiter) noexcept;
  void remove(thread_state& waiter) noexcept;
  /// Takes out one waiter, any of them, and lets it go on. False if there is none.
  bool notify_any() noexcept;
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<thread_state*, max_threads> waiters_{};
  std::size_t size_ = 0;
};

/// A number in [0, n), drawn from the run's stream of choices; 0 outside of a run.
std::uint32_t choose(std::uint32_t n) noexcept;

/// The calling thread, or null outside of a run.
thread_state* current_thread() noexcept;
std::size_t thread_number(const thread_state& thread) noexcept;

/// Adds to the current step's line in the trace; does nothing unless a failure is being replayed.
void note(const char* what, std::uint64_t value) noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI
