/// \file
/// The shared state of a future and its promise or task. For the task module; other code uses
/// takt::future.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/task/detail/callable.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future_options.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Throw a std::future_error. Defined in a source file, since `<future>` is expensive to include.
[[noreturn]] void throw_no_state();
[[noreturn]] void throw_future_already_retrieved();
[[noreturn]] void throw_promise_already_satisfied();

/// Called once when a future becomes ready, on the thread that made it ready: resumes a coroutine
/// or calls on_ready(). A future has at most one continuation. For code that combines futures.
class continuation {
 public:
  virtual void on_ready() noexcept {}
  /// If set, this is resumed instead. Read while the continuation cannot be taken back, so that
  /// one that lives in the coroutine's frame is not touched after that.
  std::coroutine_handle<> resumes{};

 protected:
  continuation() = default;
  continuation(const continuation&) = default;
  continuation& operator=(const continuation&) = default;
  ~continuation() = default;
};

/// The part of the shared state that does not depend on the type: the states of a result, from
/// pending to ready. future_state.cpp lists the states and invariants. For the task module.
class future_core : public detail::ref_counted<future_core> {
 public:
  [[nodiscard]] bool is_ready() const noexcept;
  /// Whether nobody has begun to end it.
  [[nodiscard]] bool is_pending() const noexcept;
  [[nodiscard]] bool has_value() const noexcept;
  [[nodiscard]] bool is_cancelled() const noexcept;
  /// How it ended; `cancelled` also if it is just being cancelled. Not for one that has no end yet.
  [[nodiscard]] task_outcome outcome() const noexcept;
  [[nodiscard]] const clock& time() const noexcept { return *options_.time; }
  [[nodiscard]] const future_options& options() const noexcept { return options_; }

  /// Blocks until ready, the deadline or the stop request; true if ready.
  /// \throws std::system_error (resource_deadlock_would_occur) within the future's own body.
  bool wait_until(clock::time_point deadline, const sync::stop_token& stop);

  cancel_result cancel() noexcept;
  /// Cancels it if it has not begun. \return whether this call did.
  bool prevent() noexcept;
  cancel_result cancel_and_join(clock::time_point deadline, const sync::stop_token& stop);

  /// Registers `c`, or, if the future is ready, calls it; see max_nested_continuations.
  void set_continuation(continuation& c) noexcept;
  /// When the body has run, the continuation is called before run() returns, however many are
  /// nested. Called before a continuation is set.
  void never_defer() noexcept { may_defer_ = false; }
  /// Registers `c` and returns true, unless the future is ready.
  bool try_set_continuation(continuation& c) noexcept;
  /// True if `c` was registered and will not be called.
  bool remove_continuation(continuation& c) noexcept;

  /// From pending to being completed: true for exactly one caller, who then stores the result and
  /// publishes it. Not for bodies: these begin and finish.
  bool claim() noexcept;
  void publish_value() noexcept;
  void publish_error(std::exception_ptr error) noexcept;
  void publish_cancelled() noexcept;
  /// Ends what will never begin, unless it has ended; destroys its closure. Nobody is to blame, so
  /// the error never counts as unobserved. What is running goes on, but not to begin again.
  void abandon() noexcept;
  void reject(rejection reason) noexcept;
  /// The same with an error that somebody should look at.
  void fail(const std::exception_ptr& error) noexcept;

  /// A body begins: false if it must not (cancelled, or has run).
  bool begin() noexcept;
  /// It has ended, and what it called is destroyed. If the result came too late, because of
  /// cancel(), finish_value() is false: the value is to be destroyed before finish_cancelled().
  bool finish_value() noexcept;
  void finish_error(std::exception_ptr error) noexcept;
  void finish_cancelled() noexcept;
  /// Instead of finishing: it will begin again. False if it was cancelled, and has to finish.
  bool reset() noexcept;
  /// After that: true if it was abandoned while it ran, and has ended now.
  bool end_if_dropped() noexcept;

  /// What it does, if it has a body: calls it, for good or to be called again, unless it has been
  /// cancelled, is running or has run.
  virtual void run() noexcept {}
  virtual bool run_and_reset() { return false; }
  /// Requests stop of the run in progress, or of the next run if there is none. Does not cancel.
  virtual void request_stop() noexcept {}
  /// Requests stop of the run in progress. \return false if there is none; true also if the body
  /// takes no token.
  virtual bool request_stop_of_run() noexcept { return true; }
  /// The callable, if it has not been destroyed and `type` is its type_key.
  virtual void* target(const void* type) noexcept {
    static_cast<void>(type);
    return nullptr;
  }
  /// The type_key of the callable, also when that has been destroyed; null if it has none.
  [[nodiscard]] virtual const void* callable_type() const noexcept { return nullptr; }

  /// The executor whose thread is to run the body; null if there is none. Not dereferenced.
  // relaxed: a hint, compared with the executors that a waiting thread works for
  void set_home(const void* executor) noexcept { home_.store(executor, std::memory_order_relaxed); }
  [[nodiscard]] const void* home() const noexcept { return home_.load(std::memory_order_relaxed); }

  /// The error, now seen; null if it was cancelled. The future is ready and has no value.
  [[nodiscard]] std::exception_ptr take_error() noexcept;
  [[noreturn]] void throw_error();
  /// Takes over the result of a future that is ready without a value; instead of finishing.
  void finish_like(future_core& source) noexcept;

 protected:
  /// \throws std::invalid_argument if one of the options is null.
  explicit future_core(const future_options& options);
  virtual ~future_core();

  /// It was cancelled before it began: for who keeps it in a queue, to let go of it.
  virtual void leave_queue() noexcept {}
  /// Destroys what would have been called; by the canceller, before the future is cancelled.
  virtual void drop_closure() noexcept {}

 private:
  friend class ref_counted<future_core>;
  friend class body_scope;
  struct deferred_list;
  // A continuation that has been taken out of a ready future, to be called without its lock.
  struct taken_continuation {
    continuation* called = nullptr;
    std::coroutine_handle<> resumed{};
    bool begins_anew = false;  // nesting; see deliver()
    void operator()() const noexcept;
  };

  bool runs_on_this_thread() const noexcept;
  bool finish(std::uint32_t result) noexcept;
  void end_unrun(const std::exception_ptr& error, bool observed) noexcept;
  void finish_late() noexcept;
  void publish(std::uint32_t from, std::uint32_t to) noexcept;
  bool wait_while(bool (*condition)(std::uint32_t word), clock::time_point deadline,
                  const sync::stop_token& stop);
  taken_continuation take_continuation() noexcept TAKT_REQUIRES(mu_);
  taken_continuation take_or_defer() noexcept TAKT_REQUIRES(mu_);
  static void deliver(const taken_continuation& c) noexcept;
  static void deliver_deferred() noexcept;

  // Constant after construction.
  const future_options options_;

  // Atomic. Written by who completes, cancels or runs; a change that makes the future ready, or
  // ends its body, is made under mu_ and releases the result to those who acquire it.
  sync::atomic<std::uint32_t> word_{0};
  // Atomic. Written by abandon().
  sync::atomic<bool> dropped_{false};
  // Atomic. Written by who puts it into a queue.
  sync::atomic<const void*> home_{nullptr};

  mutable detail::mutex mu_;
  detail::timed_condition changed_ TAKT_GUARDED_BY(mu_);  // ready, or the body has ended
  continuation* continuation_ TAKT_GUARDED_BY(mu_) = nullptr;
  // Of the thread that has deferred the continuation; null if none has.
  const deferred_list* deferred_by_ TAKT_GUARDED_BY(mu_) = nullptr;

  // Written before the future becomes ready, then by its only owner.
  std::exception_ptr error_;
  bool observed_ = false;  // the error has been seen, or is nobody's fault

  // Constant after a continuation was set.
  bool may_defer_ = true;

  // Belongs to the thread that has the future in its list.
  future_core* next_deferred_ = nullptr;
};

/// Keeps a state alive while one of its members runs, since the member may release the last other
/// reference. For the task module.
class state_guard {
 public:
  explicit state_guard(future_core& core) noexcept : core_(core) { core_.retain(); }
  ~state_guard() { core_.release(); }
  state_guard(const state_guard&) = delete;
  state_guard& operator=(const state_guard&) = delete;

 private:
  future_core& core_;
};

/// While it exists, the calling thread runs the body of `core`, constructs its value, or destroys
/// its closure or a late result: a wait for `core` would wait for itself. For the task module.
class body_scope {
 public:
  explicit body_scope(const future_core& core) noexcept;
  ~body_scope();
  body_scope(const body_scope&) = delete;
  body_scope& operator=(const body_scope&) = delete;

 private:
  friend class future_core;
  const future_core& core_;
  const body_scope* const outer_;
};

/// The shared state with a result of type T. For the task module.
template <class T>
class future_state : public future_core {
  struct nothing {};
  using stored = std::conditional_t<
      std::is_void_v<T>, nothing,
      std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>>;

 public:
  explicit future_state(const future_options& options) : future_core(options) {}

  /// Stores the value; the caller has claimed, or runs the body. Publishes nothing. Makes the value
  /// of what may be foreign code: within a body_scope.
  template <class... Args>
  void store(Args&&... args) {
    if constexpr (std::is_reference_v<T>) {
      result_.emplace(std::addressof(args)...);
    } else {
      result_.emplace(std::forward<Args>(args)...);
    }
  }

  /// Calls `body` as the body of this future: what it returns or throws becomes the result. The
  /// caller had true from begin().
  template <class Body>
  void run_body(Body&& body) noexcept {
    std::exception_ptr error;
    bool was_cancelled = false;
    {
      const body_scope here(*this);
      try {
        if constexpr (std::is_void_v<T>) {
          static_cast<void>(std::forward<Body>(body)());
          store();
        } else {
          store(std::forward<Body>(body)());
        }
      } catch (const cancelled&) {
        was_cancelled = true;
      } catch (...) {
        error = std::current_exception();
      }
      drop_closure();
    }
    finish_body(std::move(error), was_cancelled);
  }

  /// Ends the body: as cancelled, with the error if it is not null, or with what was stored. For
  /// those who cannot leave it to run_body().
  void finish_body(std::exception_ptr error, bool was_cancelled) noexcept {
    if (was_cancelled) {
      finish_cancelled();
    } else if (error != nullptr) {
      finish_error(std::move(error));
    } else if (!finish_value()) {
      {
        const body_scope here(*this);
        result_.reset();
      }
      finish_cancelled();
    }
  }

  /// The value, moved out, or the error thrown. The future is ready.
  T take() {
    if (!has_value()) throw_error();
    if constexpr (std::is_reference_v<T>) {
      return static_cast<T>(**result_);
    } else if constexpr (!std::is_void_v<T>) {
      return std::move(*result_);
    }
  }

 private:
  std::optional<stored> result_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
