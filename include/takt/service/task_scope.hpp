/// \file
/// Structured concurrency: a batch of tasks that ends before its scope.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/fwd.hpp>  // the default of T
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Options of a task_scope.
struct task_scope_options {
  /// Executor of the tasks. Must outlive the scope. Empty means private threads, one for each
  /// concurrent task (thread_pool::cached()).
  std::optional<any_executor> executor{};
  /// Token that stops the scope when stop is requested on it. Pass the token of the surrounding
  /// task to make an inner scope stop with that task.
  sync::stop_token stop{};
  const clock* time = &steady;  ///< Clock of the private threads. Must outlive the scope.
};

/// Runs a batch of tasks and waits for all of them; after a timeout it requests stop of the rest.
/// No task outlives the scope, so tasks may refer to objects that were made before it.
///
/// \code
/// takt::task_scope<bool> checks;
/// for (const std::string& host : hosts) {
///   checks.spawn([&host](std::stop_token stop) { return has_mail(host, stop); });
/// }
/// std::vector<takt::future<bool>> answers = checks.join(5s);   // in the order of spawn()
/// if (answers[0].outcome() == takt::task_outcome::finished) show(answers[0].get());
/// \endcode
///
/// **Cancellation.** join() requests stop after the timeout, and returns when all tasks have ended.
/// Tasks that have not begun then never begin; running tasks are awaited, so they should observe
/// their tokens. A task that still returns a value is finished. Tasks spawned later are cancelled.
///
/// **Shutdown.** The destructor requests stop and waits. Errors that were not read then go to the
/// executor's unhandled hook. In a child process after fork() it does nothing. See
/// docs/services.md.
///
/// **Thread safety.** Any thread may call spawn() and request_stop(), also a task of the scope. One
/// thread may call join() and the destructor; it must not be running a task of the scope.
template <class T>
class task_scope {
 public:
  using options_type = task_scope_options;

  /// \throws std::invalid_argument if time is null.
  explicit task_scope(const options_type& options = {}) : s_(std::make_unique<shared>(options)) {
    if (options.stop.stop_possible()) s_->on_stop_.emplace(options.stop, stop_all{*this});
  }
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;
  ~task_scope() {
    if (!home_.is_here()) {
      static_cast<void>(s_.release());  // its locks are in an unknown state
      return;
    }
    s_->on_stop_.reset();
    request_stop();
    for_each_spawned([](detail::future_state<T>& state) {
      if (!state.is_ready()) state.cancel_and_join(clock::time_point::max(), {});
    });
  }

  /// Runs `f`, which takes a `std::stop_token` or nothing and returns a T.
  /// \throws takt::rejected if the executor rejects the task; std::invalid_argument if `f` is
  /// empty; std::bad_alloc. If this throws, the task is not part of the scope.
  template <class F>
    requires(std::is_same_v<typename detail::task_result<std::decay_t<F>>::type, T>)
  void spawn(F&& f, const task_options& options = {}) {
    future_task<T> work(std::forward<F>(f), s_->executor_.future_options());
    std::size_t index = 0;
    bool stopped = false;
    {
      future<T> its = work.get_future();
      const detail::mutex_lock lock(s_->mu_);
      index = s_->spawned_.size();
      s_->spawned_.push_back(std::move(its));  // before it begins: join() and request_stop() see it
      ++s_->calls_;
      stopped = s_->stopping_;
      s_->changed_.notify_all();
    }
    try {
      if (stopped) {
        work.cancel();
      } else {
        s_->executor_.execute(task(std::move(work), options));
      }
    } catch (...) {
      finish_spawn(index, true);
      throw;
    }
    finish_spawn(index, false);
  }

  /// Requests stop of all tasks and runs their stop callbacks.
  void request_stop() noexcept {
    {
      const detail::mutex_lock lock(s_->mu_);
      if (std::exchange(s_->stopping_, true)) return;
      ++s_->calls_;
    }
    // One by one and without the lock: this destroys closures and runs callbacks.
    for (std::size_t i = 0;; ++i) {
      detail::intrusive_ptr<detail::future_state<T>> next;
      {
        const detail::mutex_lock lock(s_->mu_);
        if (i >= s_->spawned_.size()) {
          --s_->calls_;
          s_->changed_.notify_all();
          return;  // the scope may be gone
        }
        if (!s_->spawned_[i].valid()) continue;
        next = shared_state(i);
      }
      future<T>(std::move(next)).request_stop();
    }
  }
  /// Returns true once stop of the scope was requested.
  [[nodiscard]] bool stop_requested() const noexcept {
    const detail::mutex_lock lock(s_->mu_);
    return s_->stopping_;
  }

  /// Waits for all tasks, also for tasks that they spawn meanwhile. \return the ready futures, in
  /// the order of spawn(). The scope is empty then; unless it was stopped, it can be used again.
  /// \throws std::system_error (resource_deadlock_would_occur) within a task of the executor, if
  /// the wait could never end; the tasks are still in the scope then.
  std::vector<future<T>> join() { return join_until(clock::time_point::max()); }
  /// As above, but requests stop of the scope after `timeout`.
  template <class Rep, class Period>
  std::vector<future<T>> join(std::chrono::duration<Rep, Period> timeout) {
    return join_until(
        deadline_after(s_->executor_.future_options().time->now(), to_nanoseconds(timeout)));
  }
  /// As above, but requests stop of the scope at `deadline`, by the clock of the executor.
  std::vector<future<T>> join_until(clock::time_point deadline) {
    std::vector<future<T>> all = for_each_spawned([&](detail::future_state<T>& state) {
      if (state.wait_until(deadline, {})) return;
      request_stop();
      state.wait_until(clock::time_point::max(), {});
    });
    std::erase_if(all, [](const future<T>& f) { return !f.valid(); });  // rejected tasks
    return all;
  }

 private:
  struct stop_all {
    task_scope& scope;
    void operator()() const noexcept { scope.request_stop(); }
  };

  static thread_pool_options own_threads(const options_type& options) {
    thread_pool_options threads = thread_pool::cached();
    threads.name = "takt-scope";
    threads.time = options.time;
    return threads;
  }

  [[nodiscard]] detail::intrusive_ptr<detail::future_state<T>> shared_state(std::size_t index) const
      TAKT_REQUIRES(s_->mu_) {
    detail::future_state<T>& state = s_->spawned_[index].state();
    state.retain();
    return detail::intrusive_ptr<detail::future_state<T>>(&state);
  }

  // A rejected task keeps its slot, empty: the indices of later tasks do not change.
  void finish_spawn(std::size_t index, bool refused) noexcept {
    future<T> none;  // must outlive the lock
    const detail::mutex_lock lock(s_->mu_);
    if (refused) none = std::move(s_->spawned_[index]);
    --s_->calls_;
    s_->changed_.notify_all();
  }

  // Calls wait(state) for each task, also for tasks spawned meanwhile. \return all futures, once no
  // call of spawn() or request_stop() is under way; by then all tasks have ended.
  template <class Wait>
  std::vector<future<T>> for_each_spawned(Wait wait) {
    for (std::size_t i = 0;; ++i) {
      detail::intrusive_ptr<detail::future_state<T>> next;
      {
        detail::mutex_lock lock(s_->mu_);
        while (i == s_->spawned_.size() && s_->calls_ != 0) s_->changed_.wait(lock);
        if (i == s_->spawned_.size()) return std::exchange(s_->spawned_, {});
        if (!s_->spawned_[i].valid()) continue;
        next = shared_state(i);
      }
      wait(*next);
    }
  }

  // Constant after construction.
  const detail::fork_guard home_;

  struct shared {
    explicit shared(const options_type& options)
        : executor_(options.executor ? *options.executor
                                     : any_executor(own_.emplace(own_threads(options)))) {}

    // Constant after construction.
    std::optional<thread_pool> own_;
    any_executor executor_;

    mutable detail::mutex mu_;
    // The future of a rejected task is empty.
    std::vector<future<T>> spawned_ TAKT_GUARDED_BY(mu_);
    std::size_t calls_ TAKT_GUARDED_BY(mu_) = 0;      // calls of spawn() and request_stop()
    detail::condition changed_ TAKT_GUARDED_BY(mu_);  // spawned_ or calls_
    bool stopping_ TAKT_GUARDED_BY(mu_) = false;

    std::optional<sync::stop_callback<stop_all>> on_stop_;  // last: uses all of the above
  };
  std::unique_ptr<shared> s_;  // leaked in a child process
};

}  // namespace takt::inline TAKT_ABI
