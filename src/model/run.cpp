// A run.
//
// Every thread is a fiber; `self` is the running one. A thread is, by its announced operation,
//
//   enabled    it can be picked
//   blocked    it waits for a lock that is held, for a thread to finish, or for a notification, and
//              its deadline has not passed
//   yielding   enabled, but ranked behind all threads that do not yield
//   finished
//
// Invariants:
//  1. Between reach() and leave() no other thread runs: an operation is one indivisible step.
//  2. The next thread depends only on the announced operations and the scheduler, so a run can be
//     repeated.
//  3. Thread 0 is the clock. It is enabled while a thread waits for a deadline. Picking it moves
//     time to the earliest deadline, even if other threads could run.
//  4. A failed run ends by switching to the host; its stacks are never unwound.
#include "run.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <takt/model/mutex.hpp>

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

constexpr std::size_t stack_size = std::size_t{256} * 1024;

run* active = nullptr;
std::uint32_t runs_begun = 0;

// Stacks are reused by later runs.
std::vector<std::unique_ptr<fiber>>& spare_stacks() {
  static std::vector<std::unique_ptr<fiber>> stacks;
  return stacks;
}

const char* name(op kind) {
  constexpr std::array names{"begin",  "finish",     "spawn",      "join",   "yield",
                             "tick",   "now",        "load",       "store",  "rmw",
                             "lock",   "try_lock",   "unlock",     "wait",   "wake",
                             "notify", "futex_wait", "futex_wake", "destroy"};
  return names[static_cast<std::size_t>(kind)];
}

// A futex wake has only an address, so it depends on every wait and on every thread leaving a wait.
bool concerns_futexes(op kind) noexcept {
  return kind == op::futex_wait || kind == op::futex_wake || kind == op::wake;
}

bool concerns_all(op kind) noexcept { return kind == op::tick || kind == op::yield; }

}  // namespace

bool dependent(const operation& a, const operation& b) noexcept {
  if (concerns_all(a.kind) || concerns_all(b.kind)) return true;
  if (concerns_futexes(a.kind) && concerns_futexes(b.kind)) return true;
  return a.object == b.object && (a.writes || b.writes);
}

run* active_run() noexcept { return active; }

run::run(const options& o, scheduler& s, bool with_trace)
    : opts(o), chooser(s), number(++runs_begun), tracing(with_trace) {}

run::~run() {
  for (auto& t : threads_) spare_stacks().emplace_back(t->stack);
}

thread_state& run::add_thread(void (*body)(void*), void* closure) {
  if (threads_.size() + 1 == max_threads) {
    fail("more than " + std::to_string(max_threads - 1) + " threads in one run");
  }
  auto& stacks = spare_stacks();
  if (stacks.empty()) stacks.push_back(std::make_unique<fiber>(stack_size));
  auto t = std::make_unique<thread_state>();
  t->number = threads_.size() + 1;
  t->object_number = ++objects;
  t->body = body;
  t->closure = closure;
  t->next = {op::begin, true, t->object_number};
  if (self != nullptr) t->seen = self->seen;
  t->seen[t->number] = 1;
  t->stack = stacks.back().release();
  stacks.pop_back();
  t->stack->prepare(&run::thread_main, t.get());
  threads_.push_back(std::move(t));
  return *threads_.back();
}

void run::execute(const std::function<void()>& body) {
  active = this;
  const auto old_handler = std::set_terminate([] { model::fail("std::terminate was called"); });
  self = &add_thread([](void* f) { (*static_cast<const std::function<void()>*>(f))(); },
                     const_cast<void*>(static_cast<const void*>(&body)));
  host_.switch_to(*self->stack);
  std::set_terminate(old_handler);
  const allocations left = end_of_allocations();
  active = nullptr;
  if (!failure.empty() || !opts.check_leaks) return;
  if (live_objects > 0) {
    failure = "leak: " + std::to_string(live_objects) + " sync objects are alive after the run";
  } else if (left.blocks > 0) {
    failure = "leak: " + std::to_string(left.blocks) + " blocks of memory, " +
              std::to_string(left.bytes) + " bytes in all";
  }
}

void run::thread_main(void* thread) {
  auto& t = *static_cast<thread_state*>(thread);
  sanitizer::tsan_acquire(thread);
  track_allocations(true);
  try {
    t.body(t.closure);
    while (!t.slots.empty()) {  // a destructor may create a variable again
      const thread_state::slot s = t.slots.back();
      t.slots.pop_back();
      s.destroy(s.value);
    }
  } catch (const std::exception& e) {
    model::fail(std::string("an exception left the thread: ") + e.what());
  } catch (...) {
    model::fail("an exception left the thread");
  }
  active->finish_thread();
}

void run::finish_thread() {
  sanitizer::tsan_release(self);
  thread_state& me = *self;
  {
    const engine_scope scope;
    reach({op::finish, true, me.object_number}, nullptr);
    me.finished = true;
    const bool last = std::ranges::all_of(threads_, [](const auto& t) { return t->finished; });
    self = last ? nullptr : &pick_next();
  }
  track_allocations(false);
  me.stack->leave_to(self == nullptr ? host_ : *self->stack);
}

void run::reach(const operation& next, const object* about) {
  thread_state& me = *self;
  me.next = next;
  me.about = about;
  thread_state& picked = pick_next();
  if (&picked != &me) {
    self = &picked;
    sanitizer::tsan_ignore_end();
    me.stack->switch_to(*picked.stack);
    sanitizer::tsan_ignore_begin();
  }
  me.about = nullptr;
}

void run::leave() { ++self->seen[self->number]; }

thread_state& run::pick_next() {
  std::size_t current = self->number;
  for (;;) {
    std::array<candidate, max_threads> list;
    std::size_t count = 0;
    const auto collect = [&](auto&& eligible) {
      for (const auto& t : threads_) {
        if (eligible(*t) && enabled(*t)) list[count++] = {t->number, t->next};
      }
    };
    const bool can_tick = next_deadline() != time_point::max();
    if (can_tick) list[count++] = {0, {op::tick, true, 0}};
    const std::size_t ticks = count;
    collect([](const thread_state& t) { return !t.yielded; });
    // A yielding thread ranks behind the other threads, but not behind the clock, nor for ever.
    if (count == ticks) {
      collect([&](const thread_state& t) {
        return t.yielded && (!can_tick || t.yields <= opts.unfair_yields + 2);
      });
    }
    if (count == 0) fail("deadlock: " + describe_waits());
    if (++steps > opts.max_steps) {
      fail("livelock: the run has not ended after " + std::to_string(opts.max_steps) + " steps");
    }
    const std::size_t picked = chooser.pick({list.data(), count}, current);
    thread_state* const t = picked == 0 ? nullptr : threads_[picked - 1].get();
    const operation done = t == nullptr ? operation{op::tick, true, 0} : t->next;
    chooser.executed(picked, done);
    if (tracing) trace_step(picked, done);
    if (opts.on_step) opts.on_step(picked, done);
    for (const auto& other : threads_) {
      if (other->number == picked) continue;
      other->yielded = false;
      other->yields = 0;
    }
    if (t != nullptr) return *t;
    now = next_deadline();
    current = 0;
  }
}

bool run::enabled(const thread_state& t) const {
  if (t.finished) return false;
  switch (t.next.kind) {
    case op::lock:
      return t.wants->owner() == 0;
    case op::join:
      return t.joins->finished;
    case op::wake:
      return t.notified || t.spurious || t.deadline <= now;
    default:
      return true;
  }
}

time_point run::next_deadline() const {
  time_point earliest = time_point::max();
  for (const auto& t : threads_) {
    const bool waits = !t->finished && t->next.kind == op::wake && !t->notified;
    if (waits && t->deadline > now) earliest = std::min(earliest, t->deadline);
  }
  return earliest;
}

std::string run::describe_waits() const {
  std::string text;
  for (const auto& t : threads_) {
    if (t->finished) continue;
    if (!text.empty()) text += "; ";
    text += "thread " + std::to_string(t->number) + " waits for ";
    if (t->next.kind == op::lock) {
      text += t->wants->describe() + " held by thread " + std::to_string(t->wants->owner());
    } else if (t->next.kind == op::join) {
      text += "the end of thread " + std::to_string(t->joins->number);
    } else if (t->about != nullptr) {
      text += "a notification of " + t->about->describe();
    } else {
      text += name(t->next.kind);
    }
  }
  return text;
}

const thread_state* run::about_to_use(const object& o) const {
  const auto at = std::ranges::find_if(
      threads_, [&](const auto& t) { return t.get() != self && t->about == &o && !t->notified; });
  return at == threads_.end() ? nullptr : at->get();
}

void run::trace_step(std::size_t thread, const operation& done) {
  trace += "\n  " + std::to_string(steps) + ": ";
  trace += thread == 0 ? std::string("clock") : "thread " + std::to_string(thread);
  trace += std::string(" ") + name(done.kind);
  if (done.object != 0) {
    trace += std::string(" ") + done.object_kind + (*done.object_kind == 0 ? "#" : " #") +
             std::to_string(done.object);
  }
}

void run::fail(const std::string& message) {
  track_allocations(false);
  failure = "thread " + std::to_string(self->number) + ": " + message;
  sanitizer::tsan_ignore_nothing();
  self->stack->leave_to(host_);
}

void fail(const std::string& message) noexcept {
  if (active != nullptr) active->fail(message);
  std::fprintf(stderr, "takt::model: outside of a run: %s\n", message.c_str());
  std::abort();
}

bool exploring() noexcept { return active != nullptr; }

thread_state* current_thread() noexcept { return active == nullptr ? nullptr : active->self; }

std::size_t thread_number(const thread_state& thread) noexcept { return thread.number; }

std::uint32_t choose(std::uint32_t n) noexcept {
  return n < 2 || active == nullptr ? 0 : active->chooser.choose(n);
}

void note(const char* what, std::uint64_t value) noexcept {
  if (active == nullptr || !active->tracing) return;
  const engine_scope scope;
  active->trace += std::string(" ") + what + " " + std::to_string(value);
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
