// The life of a result. word_ is a state and, above it, whether the body is running:
//
//   pending      nobody has begun to store a result
//   completing   somebody stores it, or destroys the closure of what was cancelled
//   value, error, cancelled   ready, for good
//
//   pending           -> completing          claim(), and cancel() of what has not begun
//   completing        -> value               publish_value()
//   completing        -> error               publish_error()
//   completing        -> cancelled           publish_cancelled()
//   pending           -> pending, running    begin()
//   pending, running  -> value | error       finish_value(), finish_error()
//   pending, running  -> cancelled           finish_cancelled()
//   pending, running  -> pending             reset(); if it was abandoned meanwhile, it ends then
//   pending, running  -> cancelled, running  cancel(); the body goes on
//   cancelled, running-> cancelled           finish_late(): the result comes too late
//
// Invariants
//   1. Each transition is made by one thread; the closure is called or destroyed only by the
//      thread that made the transition which allows it, before the future is ready.
//   2. A change to a ready state, and one that ends the body, is made under mu_, and wakes all
//      waiters under it; a waiter looks, and begins to wait, under mu_. So none is missed.
//   3. The continuation is called by the thread that takes it out, under mu_, of a ready future.
//      One that resumes a coroutine is not touched after that: its frame may be on its way out.
//   4. Whoever makes a future ready calls its continuation at once, on its own stack, also within
//      another continuation, or within a coroutine that one has resumed. So a result is delivered
//      before set_value() returns, whoever calls that. The exception: max_nested_continuations of
//      them are nested already. Then the state (not the continuation, which may be taken back)
//      joins the thread's list, and the innermost of them calls what is listed when it returns, or
//      before it blocks: see deferred_continuations. Hence chains of any length need little stack.
//      A list is empty unless that many are nested: no task of an executor leaves any behind, since
//      tasks begin without nesting (see executor_scope). What another thread has listed, and is
//      continued here, is called here at once, since that thread may be busy for long. A coroutine
//      that resumes on an executor is not deferred (may_defer_): it resumes while the executor
//      runs its task, and so under a lock that an executor of the user's may hold then.
//   5. Whoever changes the state holds a reference to it for as long as it does.
//   6. What the body and its closure use is not touched after the state is neither running nor
//      completing: results that come too late are destroyed before that.
#include <takt/task/detail/future_state.hpp>

#include <future>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "delivery.hpp"

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

constexpr std::uint32_t pending = 0;
constexpr std::uint32_t completing = 1;
constexpr std::uint32_t with_value = 2;
constexpr std::uint32_t with_error = 3;
constexpr std::uint32_t with_cancel = 4;
constexpr std::uint32_t running = 8;

constexpr std::uint32_t state_of(std::uint32_t word) { return word & ~running; }
constexpr bool not_ready(std::uint32_t word) { return state_of(word) <= completing; }
// The body runs, or the closure is being destroyed.
constexpr bool in_use(std::uint32_t word) {
  return (word & running) != 0 || state_of(word) == completing;
}

// The bodies that the thread is within, innermost first.
struct innermost_body {
  const body_scope* scope = nullptr;
};

}  // namespace

void throw_no_state() { throw std::future_error(std::future_errc::no_state); }
void throw_future_already_retrieved() {
  throw std::future_error(std::future_errc::future_already_retrieved);
}
void throw_promise_already_satisfied() {
  throw std::future_error(std::future_errc::promise_already_satisfied);
}

// Futures whose continuations this thread has deferred. Has no destructor: a thread's last futures
// may end after its thread-local data.
struct future_core::deferred_list {
  future_core* first;
  future_core* last;
};

future_core::future_core(const future_options& options) : options_(options) {
  if (options.time == nullptr) throw std::invalid_argument("takt: future_options::time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt: future_options::unhandled is null");
  }
}

body_scope::body_scope(const future_core& core) noexcept
    : core_(core), outer_(std::exchange(sync::tls<innermost_body>::get().scope, this)) {}

body_scope::~body_scope() { sync::tls<innermost_body>::get().scope = outer_; }

bool future_core::runs_on_this_thread() const noexcept {
  for (const body_scope* s = sync::tls<innermost_body>::get().scope; s != nullptr; s = s->outer_) {
    if (&s->core_ == this) return true;
  }
  return false;
}

future_core::~future_core() {
  if (error_ != nullptr && !observed_) {
    options_.unhandled->on_unhandled(unhandled::unobserved, error_);
  }
}

// Of a task for the future of another.
class future_wait final : public task_wait {
 public:
  explicit future_wait(const future_core& awaited) noexcept : awaited_(awaited) {}
  [[nodiscard]] bool depends_on(const void* executor) const noexcept override {
    return awaited_.is_pending() && awaited_.home() == executor;
  }

 private:
  const future_core& awaited_;
};

bool future_core::is_pending() const noexcept {
  // relaxed: a look, which orders nothing
  return state_of(word_.load(std::memory_order_relaxed)) == pending;
}

bool future_core::is_ready() const noexcept {
  return !not_ready(word_.load(std::memory_order_acquire));  // acquire: the result
}

bool future_core::has_value() const noexcept {
  return state_of(word_.load(std::memory_order_acquire)) == with_value;  // acquire: the result
}

bool future_core::is_cancelled() const noexcept {
  // acquire: what the canceller did before
  return state_of(word_.load(std::memory_order_acquire)) == with_cancel;
}

bool future_core::wait_until(clock::time_point deadline, const sync::stop_token& stop) {
  if (is_ready()) return true;
  if (runs_on_this_thread()) {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "takt: a task waits for its own future");
  }
  if (deadline != clock::time_point::max() || stop.stop_possible() || home() == nullptr) {
    return wait_while(&not_ready, deadline, stop);
  }
  // Only waits without a deadline can last for ever.
  executor_scope* const runner = executor_scope::of(home());
  if (runner == nullptr) return wait_while(&not_ready, deadline, stop);
  detail::deferred_continuations::run();  // before it says that it waits
  if (is_ready()) return true;
  future_wait self(*this);
  if (!runner->begin_wait(self)) {
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "takt: a task waits for another one that only its own thread could run");
  }
  const bool ready = wait_while(&not_ready, deadline, stop);
  runner->end_wait(self);
  return ready;
}

// Waits until `condition` no longer holds; it holds no more once it does not.
bool future_core::wait_while(bool (*condition)(std::uint32_t), clock::time_point deadline,
                             const sync::stop_token& stop) {
  detail::mutex_lock lock(mu_);
  const auto holds = [&] { return condition(word_.load(std::memory_order_relaxed)); };  // under mu_
  bool goes_on = true;
  while (holds() && goes_on) goes_on = changed_.wait_until(lock, time(), deadline, stop);
  return !holds();
}

task_outcome future_core::outcome() const noexcept {
  // Not ready: it did not run, as another thread is just cancelling it.
  if (!is_ready() || is_cancelled()) return task_outcome::cancelled;
  return has_value() ? task_outcome::finished : task_outcome::failed;
}

bool future_core::prevent() noexcept {
  const state_guard mine(*this);
  std::uint32_t word = pending;
  // acquire: the closure, made by another thread, is about to be destroyed by this one
  if (!word_.compare_exchange_strong(word, completing, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
    return false;
  }
  {
    const body_scope here(*this);
    drop_closure();
  }
  publish(completing, with_cancel);
  leave_queue();
  return true;
}

cancel_result future_core::cancel() noexcept {
  const state_guard mine(*this);
  for (;;) {
    if (prevent()) return cancel_result::prevented;
    std::uint32_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    if (word == pending) continue;                               // it will begin again
    if (word != (pending | running)) return cancel_result::done;
    {
      const detail::mutex_lock lock(mu_);
      // release: what happened before the cancellation, to those who see it
      if (!word_.compare_exchange_strong(word, with_cancel | running, std::memory_order_release,
                                         std::memory_order_relaxed)) {
        continue;
      }
      changed_.notify_all();
    }
    request_stop();
    taken_continuation next;
    {
      const detail::mutex_lock lock(
          mu_);  // not before: a stop callback may have continued it by itself
      next = take_or_defer();
    }
    deliver(next);
    return cancel_result::running;
  }
}

cancel_result future_core::cancel_and_join(clock::time_point deadline,
                                           const sync::stop_token& stop) {
  const state_guard mine(*this);
  const cancel_result result = cancel();
  if (result == cancel_result::prevented) return result;
  // acquire: what the body did
  if (!in_use(word_.load(std::memory_order_acquire))) return cancel_result::done;
  if (runs_on_this_thread()) return cancel_result::running;
  return wait_while(&in_use, deadline, stop) ? cancel_result::done : cancel_result::running;
}

bool future_core::claim() noexcept {
  std::uint32_t expected = pending;
  // seq_cst: see abandon(); acquire would do for the closure, as in cancel()
  return word_.compare_exchange_strong(expected, completing);
}

void future_core::publish(std::uint32_t from, std::uint32_t to) noexcept {
  const state_guard mine(*this);
  taken_continuation next;
  {
    const detail::mutex_lock lock(mu_);
    TAKT_ASSERT(word_.load(std::memory_order_relaxed) == from);  // relaxed: must not hide a race
    static_cast<void>(from);
    word_.store(to, std::memory_order_release);  // release: the result
    changed_.notify_all();
    next = take_or_defer();
  }
  deliver(next);
}

void future_core::publish_value() noexcept { publish(completing, with_value); }

void future_core::publish_error(std::exception_ptr error) noexcept {
  error_ = std::move(error);
  publish(completing, with_error);
}

void future_core::publish_cancelled() noexcept { publish(completing, with_cancel); }

void future_core::abandon() noexcept {
  if (is_ready()) return;  // as usual: no error need be made
  dropped_.store(true);    // before it claims; reset() looks after it has let go
  end_unrun(std::make_exception_ptr(broken_promise()), true);
}

void future_core::reject(rejection reason) noexcept {
  end_unrun(std::make_exception_ptr(rejected(reason)), true);
}

void future_core::fail(const std::exception_ptr& error) noexcept { end_unrun(error, false); }

void future_core::end_unrun(const std::exception_ptr& error, bool observed) noexcept {
  const state_guard mine(*this);
  if (!claim()) return;
  {
    const body_scope here(*this);
    drop_closure();
  }
  observed_ = observed;
  publish_error(error);
}

bool future_core::begin() noexcept {
  std::uint32_t expected = pending;
  // acquire: the closure; relaxed on failure: nothing is looked at
  return word_.compare_exchange_strong(expected, pending | running, std::memory_order_acquire,
                                       std::memory_order_relaxed);
}

// Ends the body with `result`, unless it was cancelled meanwhile: false, and it has not ended.
bool future_core::finish(std::uint32_t result) noexcept {
  taken_continuation next;
  {
    const detail::mutex_lock lock(mu_);
    std::uint32_t word = pending | running;
    // release: the result; relaxed on failure: nothing is looked at
    if (!word_.compare_exchange_strong(word, result, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      return false;
    }
    changed_.notify_all();
    next = take_or_defer();
  }
  deliver(next);
  return true;
}

// Ends the body of what was cancelled: from here on those who join it may destroy what it used.
void future_core::finish_late() noexcept {
  const detail::mutex_lock lock(mu_);
  // release: all that the body did; only its runner leaves this state
  word_.store(with_cancel, std::memory_order_release);
  changed_.notify_all();
}

bool future_core::finish_value() noexcept { return finish(with_value); }

void future_core::finish_error(std::exception_ptr error) noexcept {
  error_ = std::move(error);
  if (finish(with_error)) return;
  {
    const body_scope here(*this);
    error_ = nullptr;  // it was cancelled: nobody waits for its error
  }
  finish_late();
}

void future_core::finish_cancelled() noexcept {
  if (!finish(with_cancel)) finish_late();
}

void future_core::finish_like(future_core& source) noexcept {
  observed_ = source.observed_;
  std::exception_ptr error = source.take_error();
  if (error == nullptr) {
    finish_cancelled();
  } else {
    finish_error(std::move(error));
  }
}

bool future_core::reset() noexcept {
  std::uint32_t expected = pending | running;
  // relaxed on failure: nothing is looked at
  return word_.compare_exchange_strong(expected, pending, std::memory_order_seq_cst,
                                       std::memory_order_relaxed);
}

bool future_core::end_if_dropped() noexcept {
  if (!dropped_.load()) return false;
  abandon();
  return true;
}

std::exception_ptr future_core::take_error() noexcept {
  if (is_cancelled()) return nullptr;  // and the body, which goes on, may touch the rest
  observed_ = true;
  return error_;
}

void future_core::throw_error() {
  const std::exception_ptr error = take_error();
  if (error == nullptr) throw cancelled();
  std::rethrow_exception(error);
}

void future_core::set_continuation(continuation& c) noexcept {
  taken_continuation next;
  {
    const detail::mutex_lock lock(mu_);
    TAKT_ASSERT(continuation_ == nullptr);
    continuation_ = &c;
    if (not_ready(word_.load(std::memory_order_relaxed))) return;  // relaxed: under mu_
    if (deferred_by_ == &sync::tls<deferred_list>::get()) return;  // this thread comes to it
    // If another thread has deferred it: that one may be busy for long.
    next = deferred_by_ == nullptr ? take_or_defer() : take_continuation();
  }
  deliver(next);
}

bool future_core::try_set_continuation(continuation& c) noexcept {
  const detail::mutex_lock lock(mu_);
  TAKT_ASSERT(continuation_ == nullptr);
  if (!not_ready(word_.load(std::memory_order_relaxed))) return false;  // relaxed: under mu_
  continuation_ = &c;
  return true;
}

bool future_core::remove_continuation(continuation& c) noexcept {
  const detail::mutex_lock lock(mu_);
  if (continuation_ != &c) return false;
  continuation_ = nullptr;
  return true;
}

// Of a ready future: its continuation, if it has one.
future_core::taken_continuation future_core::take_continuation() noexcept {
  continuation* const called = std::exchange(continuation_, nullptr);
  if (called == nullptr) return {};
  return {called, called->resumes};
}

// The same, for deliver(). None if this thread has to defer it, or another thread has.
future_core::taken_continuation future_core::take_or_defer() noexcept {
  if (continuation_ == nullptr || deferred_by_ != nullptr) return {};
  if (!delivery_depth::of_this_thread().is_full()) return take_continuation();
  // relaxed: under mu_
  if (!may_defer_ && state_of(word_.load(std::memory_order_relaxed)) == with_value) {
    taken_continuation now = take_continuation();
    now.begins_anew = true;
    return now;
  }
  deferred_list& deferred = sync::tls<deferred_list>::get();
  deferred_by_ = &deferred;
  retain();
  (deferred.first == nullptr ? deferred.first : deferred.last->next_deferred_) = this;
  deferred.last = this;
  detail::deferred_continuations::add(&deliver_deferred);
  return {};
}

void future_core::taken_continuation::operator()() const noexcept {
  if (resumed) {
    resumed.resume();
  } else if (called != nullptr) {
    called->on_ready();
  }
}

void future_core::deliver(const taken_continuation& c) noexcept {
  if (c.called == nullptr) return;
  delivery_depth& depth = delivery_depth::of_this_thread();
  const std::size_t outer = depth.value;
  if (c.begins_anew) depth.value = 0;  // as within a task of an executor
  ++depth.value;
  c();
  if (depth.is_full()) deferred_continuations::run();
  depth.value = outer;
}

void future_core::deliver_deferred() noexcept {
  deferred_list& deferred = sync::tls<deferred_list>::get();
  while (deferred.first != nullptr) {
    const intrusive_ptr<future_core> next(deferred.first);
    deferred.first = std::exchange(next->next_deferred_, nullptr);
    taken_continuation c;
    {
      const detail::mutex_lock lock(next->mu_);
      next->deferred_by_ = nullptr;
      c = next->take_continuation();
    }
    c();
  }
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
