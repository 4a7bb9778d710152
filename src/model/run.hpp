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

// A thread of the run. Each field is written by the thread itself, except `notified` (by who
// notifies it) and `yielded` (by the run).
class thread_state {
 public:
  std::size_t number = 0;
  std::uint32_t object_number = 0;  // as the target of spawn, finish and join
  fiber* stack = nullptr;
  void (*body)(void*) = nullptr;
  void* closure = nullptr;

  operation next;                 // what it will do when it is picked
  const object* about = nullptr;  // and to which object
  const mutex* wants = nullptr;   // for op::lock
  thread_state* joins = nullptr;  // for op::join
  bool notified = false;          // for op::wake, like the next two
  bool spurious = false;
  time_point deadline = time_point::max();
  std::uint32_t yields = 0;  // in a row, without a step of anybody else
  bool yielded = false;      // and is behind the others until one of them has taken a step
  bool finished = false;

  vector_clock seen;             // what happens before its next step; seen[number] is its own count
  std::uint64_t fresh = 0;       // it reads no store older than the newest one up to this sequence
  std::uint64_t next_fresh = 0;  // what `fresh` will be after its next yield

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

  // Runs the body and all threads it starts to their end, or to a failure.
  void execute(const std::function<void()>& body);

  // The calling thread will do `next` to `about`: returns when it has been picked.
  void reach(const operation& next, const object* about);
  // The step that reach() began is over.
  void leave();
  [[noreturn]] void fail(const std::string& message);

  thread_state& add_thread(void (*body)(void*), void* closure);
  // Another thread that has announced an operation on `o`, if there is one. A waiter that has been
  // notified no longer needs it.
  [[nodiscard]] const thread_state* about_to_use(const object& o) const;

  const options& opts;
  scheduler& who;
  thread_state* self = nullptr;  // the running thread
  std::uint32_t number = 0;      // of the run, within the process
  std::uint32_t objects = 0;     // made so far
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
  [[nodiscard]] std::string who_waits_for_what() const;
  void trace_step(std::size_t thread, const operation& done);

  std::vector<std::unique_ptr<thread_state>> threads_;  // [i] has number i + 1
  fiber host_;
};

// The run under way, if any. There is one exploration at a time, on one OS thread.
run* active_run() noexcept;

// Brackets the checker's own work on a thread of the run.
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
