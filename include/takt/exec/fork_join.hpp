/// \file
/// Fork-join parallelism on a stealing_pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/parker.hpp>
#include <takt/exec/stealing_pool.hpp>
#include <takt/task/detail/executor_scope.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

namespace detail {
template <class F>
class fork_join_child;
class pool_core;
}  // namespace detail

/// Splits a task into children. The task spawns children, does its own share of the work, and joins
/// the children. The pool must outlive the fork_join.
///
/// \code
/// long sum(std::span<const int> numbers, takt::stealing_pool& pool) {
///   if (numbers.size() < 10'000) return std::accumulate(numbers.begin(), numbers.end(), 0L);
///   const auto middle = numbers.size() / 2;
///   long left = 0;
///   takt::fork_join children{pool};
///   children.spawn([&] { left = sum(numbers.first(middle), pool); });
///   const long right = sum(numbers.subspan(middle), pool);
///   children.join();
///   return left + right;
/// }
///
/// const long total = pool.submit([&] { return sum(numbers, pool); }).get();
/// \endcode
///
/// **Errors.** join() throws the first exception of a child, when all children have ended. If
/// shutdown_now() of the pool returns a child and its caller drops it, the child fails with
/// takt::broken_promise. **Destruction** waits for the children; an error that no join() has thrown
/// goes to the pool's unhandled hook as unobserved, unless it is takt::broken_promise.
///
/// **Thread safety.** Only the thread that constructed it may use a fork_join; a child makes its
/// own. See docs/executors.md for full queues, shutdown, and threads outside the pool.
class fork_join {
 public:
  explicit fork_join(stealing_pool& pool) noexcept;
  ~fork_join();
  fork_join(const fork_join&) = delete;
  fork_join& operator=(const fork_join&) = delete;

  /// Spawns a child: a callable without arguments. A callable of up to 24 bytes is not allocated.
  /// If the worker's local queue is full or the pool is shut down, spawn() runs the child itself.
  /// \throws std::invalid_argument if `f` is empty; std::logic_error on a thread that did not
  /// construct this; std::bad_alloc; takt::rejected, but only on a thread outside the pool. If it
  /// throws, there is no child.
  template <class F>
    requires detail::callable_once<std::decay_t<F>>
  void spawn(F&& f) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::fork_join: the callable is empty");
    check_thread();
    using child_task = detail::fork_join_child<call>;
    // Constructed in its slot of the queue if this runs no user code.
    if constexpr (task::held_inside<child_task> && std::is_trivially_copyable_v<call>) {
      if (task* const place = place_for_child()) {
        ::new (static_cast<void*>(place)) task(child_task(*this, std::forward<F>(f)));
        child_is_placed();
        return;
      }
    }
    const spawn_state outer = std::exchange(spawn_, {.under_way = true});
    bool made = false;
    try {
      child_task one(*this, std::forward<F>(f));
      made = true;
      add(task(std::move(one)));
    } catch (...) {
      end_spawn(made ? 1 : 0, outer);  // the child is destroyed and does not count
      throw;
    }
    end_spawn(0, outer);
  }

  /// Waits until all children have ended. Meanwhile the thread runs children that no other thread
  /// has stolen, and continuations deferred on it, but no other tasks. More children can be spawned
  /// afterwards.
  /// \throws the first exception of a child; std::logic_error on a thread that did not construct
  /// this.
  void join();

 private:
  template <class F>
  friend class detail::fork_join_child;

  // Its address identifies the thread.
  struct thread_mark {};
  [[nodiscard]] static const void* this_thread() noexcept { return &sync::tls<thread_mark>::get(); }

  // State of a spawn(). spawn() can be nested: it may wait for space in the pool's queue and run
  // deferred continuations that spawn.
  struct spawn_state {
    bool under_way = false;
    std::size_t dropped = 0;  // children dropped during the spawn()
  };

  void check_thread() const {
    if (thread_ != this_thread()) throw_other_thread();
  }
  [[noreturn]] static void throw_other_thread();
  task* place_for_child() noexcept;
  void child_is_placed() noexcept;
  void add(task&& t);
  void end_one() noexcept {
    if (thread_ == this_thread()) {
      --left_;
    } else {
      end_elsewhere();
    }
  }
  void end_elsewhere() noexcept;
  void fail(std::exception_ptr error) noexcept;
  void drop_one() noexcept;
  void end_spawn(std::size_t not_counted, const spawn_state& outer) noexcept;
  void wait() noexcept;
  void park() noexcept;

  // Constant after construction.
  detail::pool_core& pool_;
  const void* const thread_;              // the thread that constructed this
  detail::executor_scope* const runner_;  // of that thread if it is a worker, otherwise null

  // Accessed by the constructing thread only.
  std::int64_t left_ = 0;  // children spawned minus children that ended on this thread
  spawn_state spawn_;

  // Atomic. Twice the number of children that ended on other threads. While join() is parked: minus
  // twice the children that it waits for, plus 1. So the last child makes it 1 and wakes join().
  sync::atomic<std::int64_t> elsewhere_{0};
  parker wake_;

  // Atomic. Set by the first child that fails, which then writes error_; read by join().
  sync::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

namespace detail {

/// The callable of a child's task. For fork_join.
template <class F>
class fork_join_child {
 public:
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): call_ is raw storage for the callable
  template <class Arg>
  fork_join_child(fork_join& of, Arg&& f) : of_(&of) {
    ::new (static_cast<void*>(call_)) F(std::forward<Arg>(f));
    ++of.left_;
  }
  fork_join_child(fork_join_child&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : of_(other.of_) {
    ::new (static_cast<void*>(call_)) F(std::move(other.call()));
    other.call().~F();
    other.of_ = nullptr;
  }
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  fork_join_child& operator=(fork_join_child&&) = delete;
  ~fork_join_child() {
    if (of_ == nullptr) return;
    of_->drop_one();
    end();
  }

  void operator()() && {
    try {
      static_cast<void>(std::invoke(static_cast<one_shot<F>>(call())));
    } catch (...) {
      of_->fail(std::current_exception());
    }
    end();
  }

 private:
  F& call() noexcept { return *std::launder(reinterpret_cast<F*>(call_)); }

  // Destroys the callable first: it may refer to objects that the parent destroys after join().
  void end() noexcept {
    call().~F();
    std::exchange(of_, nullptr)->end_one();
  }

  fork_join* of_;  // null: the callable has been destroyed
  alignas(F) std::byte call_[sizeof(F)];
};

}  // namespace detail

template <class F>
inline constexpr bool moves_as_bytes<detail::fork_join_child<F>> = moves_as_bytes<F>;

}  // namespace takt::inline TAKT_ABI
