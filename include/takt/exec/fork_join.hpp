/// \file
/// A task that is split into parts.
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

/// The children of a task: spawn() them, do one's own part, join() them.
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
/// A child that no other thread has taken is run by join(), on the thread that spawned it, so that
/// splitting costs little where there is nobody to share with. While it waits for those that others
/// have taken, join() runs nothing else: no foreign task runs on top of one that waits. Of children
/// that wait for each other only in this way, some thread can always go on.
///
/// **Errors.** join() throws what a child has thrown, of several the first to be seen, when all
/// have ended. A child that is given back by the pool's shutdown_now() and dropped counts as one
/// that has thrown takt::broken_promise.
///
/// **Room and shutdown.** A child for which its thread has no room, or that comes after the pool's
/// shutdown, is run by spawn() itself: what has begun can be brought to its end.
///
/// **Thread safety**: belongs to the thread that made it. That may be one outside of the pool; then
/// spawn() is like execute(), and may throw takt::rejected, and join() only waits. A child does not
/// spawn into its parent's fork_join, but makes one of its own.
/// **Destruction** waits for the children. An error that no join() has thrown goes to the pool's
/// unhandled hook, as unobserved.
class fork_join {
 public:
  explicit fork_join(stealing_pool& pool) noexcept;
  ~fork_join();
  fork_join(const fork_join&) = delete;
  fork_join& operator=(const fork_join&) = delete;

  /// Has a child run by the pool: a callable without arguments. One of up to 24 bytes is not
  /// allocated. \throws std::invalid_argument if `f` is empty, std::logic_error on another thread
  /// than that which it belongs to. If it throws, there is no child.
  template <class F>
    requires detail::callable_once<std::decay_t<F>>
  void spawn(F&& f) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::fork_join: the callable is empty");
    check_thread();
    using child_task = detail::fork_join_child<call>;
    // Made in its place, if no code of the user's runs on the way there.
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
      end_spawn(made ? 1 : 0, outer);  // which is gone, and does not count
      throw;
    }
    end_spawn(0, outer);
  }

  /// Waits until all children have ended. \throws what one of them has thrown; std::logic_error on
  /// another thread than that which it belongs to. More can be spawned afterwards.
  void join();

 private:
  template <class F>
  friend class detail::fork_join_child;

  // Its address tells threads apart.
  struct thread_mark {};
  [[nodiscard]] static const void* this_thread() noexcept { return &sync::tls<thread_mark>::get(); }

  // A spawn() may wait for room, and have calls made that spawn.
  struct spawn_state {
    bool under_way = false;
    std::size_t dropped = 0;  // children, meanwhile
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
  const void* const thread_;              // the one that it belongs to
  detail::executor_scope* const runner_;  // of that thread, if it is one of the pool

  // Of the thread that it belongs to.
  std::int64_t left_ = 0;  // children spawned, less those that have ended on this thread
  spawn_state spawn_;

  // Atomic. Children that have ended on other threads, times 2; while join() is parked, less those
  // that it waits for, and plus 1. So who makes it 1 is the last one, and wakes it.
  sync::atomic<std::int64_t> elsewhere_{0};
  parker wake_;

  // Atomic. Set by the first child that fails, which then writes error_; read by join().
  sync::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

namespace detail {

/// What a pool gets of a child. For fork_join.
template <class F>
class fork_join_child {
 public:
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): storage, in which the callable is made
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

  // The callable goes first: it may refer to what goes when the parent goes on.
  void end() noexcept {
    call().~F();
    std::exchange(of_, nullptr)->end_one();
  }

  fork_join* of_;  // null: there is no callable any more
  alignas(F) std::byte call_[sizeof(F)];
};

}  // namespace detail

template <class F>
inline constexpr bool moves_as_bytes<detail::fork_join_child<F>> = moves_as_bytes<F>;

}  // namespace takt::inline TAKT_ABI
