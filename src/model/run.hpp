// One run: its threads, its time, its trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <takt/model/engine.hpp>
#include <takt/model/explore.hpp>

#include "allocation.hpp"
#include "fiber.hpp"
#include "sanitizer.hpp"
#include "strategy.hpp"

namespace takt::inline TAKT_ABI {
namespace model {

class mutex;

// A thread of the run. Each field is written by the thread itself, except `notified` (by the
// notifying thread) and `yielded` (by the run).
class thread_state {
 public:
  std::size_t number = 0;
  std::uint32_t object_number = 0;  // the object of spawn, finish and join
  fiber* stack = nullptr;
  void (*body)(void*) = nullptr;
  void* closure = nullptr;

  operation next;                 // the announced operation
  const object* about = nullptr;  // and its object
  const mutex* wants = nullptr;   // for op::lock
  thread_state* joins = nullptr;  // for op::join
  bool notified = false;          // for op::wake, as the next two
  bool spurious = false;
  time_point deadline = time_point::max();
  std::uint32_t yields = 0;  // consecutive ones, without a step of another thread
  bool yielded = false;      // ranks behind the others until one of them takes a step
  bool finished = false;

  vector_clock seen;             // happens before its next step; seen[number] counts its own steps
  std::uint64_t fresh = 0;       // it reads no store older than the newest up to this sequence
  std::uint64_t next_fresh = 0;  // the value of `fresh` after its next yield

  struct slot {
    const void* key;
    void* value;
    void (*destroy)(void*);
  };
  std::vector<slot> slots;  // its tls variables, in order of creation
};

class run {
 public:
  run(const options& o, scheduler& s, bool with_trace);
  ~run();
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  // Runs the body until all threads have ended, or until a failure.
  void execute(const std::function<void()>& body);

  // Announces that the calling thread will do `next` to `about`; returns when it is picked.
  void reach(const operation& next, const object* about);
  // Ends the step that reach() began.
  void leave();
  [[noreturn]] void fail(const std::string& message);

  thread_state& add_thread(void (*body)(void*), void* closure);
  // Returns another thread that has announced an operation on `o`, or null. A waiter that has been
  // notified does not count.
  [[nodiscard]] const thread_state* about_to_use(const object& o) const;

  const options& opts;
  scheduler& chooser;
  thread_state* self = nullptr;  // the running thread
  std::uint32_t number = 0;      // the run's, within the process
  std::uint32_t objects = 0;     // created so far
  std::int64_t live_objects = 0;
  std::uint64_t steps = 0;
  std::uint64_t stores = 0;
  std::vector<std::pair<const void*, thread_state*>> futex_waiters;  // by address of the word
  time_point now{std::chrono::hours(1)};
  std::string failure;
  std::string trace;
  bool tracing;

 private:
  static void thread_main(void* thread);
  [[noreturn]] void finish_thread();
  thread_state& pick_next();
  [[nodiscard]] bool enabled(const thread_state& t) const;
  [[nodiscard]] time_point next_deadline() const;
  [[nodiscard]] std::string describe_waits() const;
  void trace_step(std::size_t thread, const operation& done);

  std::vector<std::unique_ptr<thread_state>> threads_;  // [i] has number i + 1
  fiber host_;
};

// Returns the run in progress, or null. One exploration runs at a time, on one OS thread.
run* active_run() noexcept;

// Marks the checker's own work on a thread of the run.
class engine_scope {
 public:
  engine_scope() noexcept : tracked_before_(track_allocations(false)) {
    sanitizer::tsan_ignore_begin();
  }
  ~engine_scope() {
    sanitizer::tsan_ignore_end();
    track_allocations(tracked_before_);
  }
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;

 private:
  bool tracked_before_;
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
