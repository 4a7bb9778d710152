/// \file
/// A batch of tasks that does not outlive the function which began it.
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

/// How a task_scope is made.
struct task_scope_options {
  /// Where its tasks run; outlives the scope. Empty: on threads of its own, as many as there are
  /// tasks at a time (thread_pool::cached()).
  std::optional<any_executor> where{};
  /// If stop is requested here, it is of the scope. With the token of the task that makes it, a
  /// scope within a scope stops with that.
  sync::stop_token stop{};
  const clock* time = &steady;  ///< Of its deadlines, if it has threads of its own. Outlives it.
};

/// Runs a batch of tasks, waits for them, and tells what became of each; after a time it asks the
/// rest to stop. Nothing of it outlives the scope, so tasks may refer to what was there before it.
///
/// \code
/// // Which hosts have mail? Those that do not answer within five seconds are given up.
/// takt::task_scope<bool> checks;
/// for (const std::string& host : hosts) {
///   checks.spawn([&host](std::stop_token stop) { return has_mail(host, stop); });
/// }
/// std::vector<takt::future<bool>> answers = checks.join(5s);   // in the order of spawn()
/// for (std::size_t i = 0; i < answers.size(); ++i) {
///   switch (answers[i].outcome()) {
///     case takt::task_outcome::finished: show(hosts[i], answers[i].get()); break;
///     case takt::task_outcome::failed:   complain(hosts[i], answers[i]); break;   // get() throws
///     default:                           give_up(hosts[i]);                       // stopped
///   }
/// }
/// \endcode
///
/// The time bounds when the rest is asked to stop, not when join() returns: what has not begun then
/// never begins; what runs is told by its token, and join() waits for it, so let it heed that. A
/// task that is asked and finishes all the same has finished, and one that throws takt::cancelled
/// was stopped.
///
/// Tasks may spawn further ones; join() waits for these as well, and for a spawn() or
/// request_stop() under way to return, which is up to the executor and to stop callbacks. A task
/// that wants a scope of its own gives it its token: `takt::task_scope<int> inner{{.stop =
/// stop}};`.
///
/// **Beside** fork_join, which splits the work of a stealing_pool's task, a scope has a deadline,
/// results, and any executor; beside invoke_all(), it leaves nothing behind that still runs.
///
/// **Stopping**: request_stop(), at any time and by any thread, its own tasks included; what is
/// spawned later is stopped before it begins. The destructor asks all to stop and waits for those
/// that run; errors that nobody has looked at then go to the unhandled hook. In a child process
/// after fork() it does nothing.
///
/// **Thread safety**: spawn() and request_stop() from any thread; join() and the destructor by one,
/// which is not one of its tasks.
template <class T>
class task_scope {
 public:
  using options = task_scope_options;

  /// \throws std::invalid_argument if time is null.
  explicit task_scope(const options& how = {}) : s_(std::make_unique<shared>(how)) {
    if (how.stop.stop_possible()) s_->on_stop_.emplace(how.stop, stop_all{*this});
  }
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;
  ~task_scope() {
    if (!home_.is_here()) {
      static_cast<void>(s_.release());  // its locks are in no known state
      return;
    }
    s_->on_stop_.reset();
    request_stop();
    for_each_spawned([](detail::future_state<T>& state) {
      if (!state.is_ready()) state.cancel_and_join(clock::time_point::max(), {});
    });
  }

  /// Has `f` run, which takes a `std::stop_token` or nothing, and gives a T.
  /// \throws takt::rejected if the executor does not take it; std::invalid_argument if `f` is
  /// empty; std::bad_alloc. It is no part of the scope then.
  template <class F>
    requires(std::is_same_v<typename detail::task_result<std::decay_t<F>>::type, T>)
  void spawn(F&& f, const task_options& more = {}) {
    future_task<T> work(std::forward<F>(f), s_->where_.future_options());
    std::size_t index = 0;
    bool stopped = false;
    {
      future<T> its = work.get_future();
      const detail::mutex_lock lock(s_->mu_);
      index = s_->spawned_.size();
      s_->spawned_.push_back(std::move(its));  // before it begins: who stops it or waits finds it
      ++s_->calls_;
      stopped = s_->stopping_;
      s_->changed_.notify_all();
    }
    try {
      if (stopped) {
        work.cancel();
      } else {
        s_->where_.execute(task(std::move(work), more));
      }
    } catch (...) {
      finish_spawn(index, true);
      throw;
    }
    finish_spawn(index, false);
  }

  /// Asks all tasks to stop: see above. Runs their stop callbacks.
  void request_stop() noexcept {
    {
      const detail::mutex_lock lock(s_->mu_);
      if (std::exchange(s_->stopping_, true)) return;
      ++s_->calls_;
    }
    // One by one and without the lock: closures are destroyed, and callbacks run.
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
  [[nodiscard]] bool stop_requested() const noexcept {
    const detail::mutex_lock lock(s_->mu_);
    return s_->stopping_;
  }

  /// Waits until all tasks have ended. \return their futures, which are ready, in the order of
  /// spawn(); the scope is empty then, and can be used again unless it was stopped.
  /// \throws std::system_error (resource_deadlock_would_occur) within a task of the executor, if
  /// the wait would be for ever; the tasks are still there then.
  std::vector<future<T>> join() { return join_until(clock::time_point::max()); }
  /// As above; after that long it asks the rest to stop.
  template <class Rep, class Period>
  std::vector<future<T>> join(std::chrono::duration<Rep, Period> timeout) {
    return join_until(
        deadline_after(s_->where_.future_options().time->now(), to_nanoseconds(timeout)));
  }
  /// As above; at that time, by the clock of the executor.
  std::vector<future<T>> join_until(clock::time_point deadline) {
    std::vector<future<T>> all = for_each_spawned([&](detail::future_state<T>& state) {
      if (state.wait_until(deadline, {})) return;
      request_stop();
      state.wait_until(clock::time_point::max(), {});
    });
    std::erase_if(all, [](const future<T>& f) { return !f.valid(); });  // was refused
    return all;
  }

 private:
  struct stop_all {
    task_scope& scope;
    void operator()() const noexcept { scope.request_stop(); }
  };

  static thread_pool_options own_threads(const options& how) {
    thread_pool_options threads = thread_pool::cached();
    threads.name = "takt-scope";
    threads.time = how.time;
    return threads;
  }

  [[nodiscard]] detail::intrusive_ptr<detail::future_state<T>> shared_state(std::size_t index) const
      TAKT_REQUIRES(s_->mu_) {
    detail::future_state<T>& state = s_->spawned_[index].state();
    state.retain();
    return detail::intrusive_ptr<detail::future_state<T>>(&state);
  }

  // One that was refused keeps its turn, empty: others have theirs behind it.
  void finish_spawn(std::size_t index, bool refused) noexcept {
    future<T> none;  // outlives the lock
    const detail::mutex_lock lock(s_->mu_);
    if (refused) none = std::move(s_->spawned_[index]);
    --s_->calls_;
    s_->changed_.notify_all();
  }

  // Calls wait(state) for each, those included that are spawned meanwhile. \return all of them,
  // when no call of spawn() or request_stop() is under way: by then they have all ended.
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
    explicit shared(const options& how)
        : where_(how.where ? *how.where : any_executor(own_.emplace(own_threads(how)))) {}

    // Constant after construction.
    std::optional<thread_pool> own_;
    any_executor where_;

    mutable detail::mutex mu_;
    // An empty one was refused.
    std::vector<future<T>> spawned_ TAKT_GUARDED_BY(mu_);
    std::size_t calls_ TAKT_GUARDED_BY(mu_) = 0;      // of spawn() and request_stop(), under way
    detail::condition changed_ TAKT_GUARDED_BY(mu_);  // either of them
    bool stopping_ TAKT_GUARDED_BY(mu_) = false;

    std::optional<sync::stop_callback<stop_all>> on_stop_;  // last: it uses the rest
  };
  std::unique_ptr<shared> s_;  // what it points to is not destroyed in a child process
};

}  // namespace takt::inline TAKT_ABI
