/// \file
/// Results of tasks in order of completion.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/detail/completion_core.hpp>
#include <takt/fwd.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Submits callables to an executor and returns their results in order of completion.
///
/// \code
/// takt::completion_queue<page> done{pool};
/// for (const url& u : urls) done.submit([u] { return fetch(u); });
/// while (!done.empty()) show(done.take().get());
/// \endcode
///
/// take() returns a ready future; get() of that future returns the value or throws the error. A
/// callable that must be identified returns its identity as part of its result. If several threads
/// take results, use take(stop) or try_take(): after empty() returned false, another thread may
/// take the last result. The executor must outlive all calls of submit(). Waits use the executor's
/// clock.
///
/// **Errors.** take() throws std::system_error (resource_deadlock_would_occur) if a task of the
/// executor calls it without a deadline and no thread would be left to produce the pending results.
/// A wait for work that is yet to be submitted is not detected.
///
/// **Thread safety.** All members except the destructor may be called concurrently. **Destruction**
/// neither waits nor cancels: pending work continues, results are discarded, and errors among them
/// are unobserved. See discard().
template <class T>
class completion_queue {
 public:
  explicit completion_queue(any_executor executor)
      : executor_(executor),
        options_(executor.future_options()),
        core_(new detail::completion_core(*options_.time)) {}
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;
  ~completion_queue() { core_->close(); }

  /// Submits `f` to the executor. Allocates once in addition to the future. A result that is ready
  /// before submit() returns can be taken when submit() has returned.
  /// \throws takt::rejected if the executor rejects the task; std::invalid_argument if `f` is
  /// empty; std::bad_alloc. If it throws, the queue is unchanged.
  template <class F>
    requires detail::task_callable<T, std::decay_t<F>>
  void submit(F&& f, const task_options& options = {}) {
    future_task<T> work(std::forward<F>(f), options_);
    task sent(std::move(work), options);
    sent.state()->retain();
    detail::intrusive_ptr<detail::future_core> result(sent.state());
    auto place = std::make_unique<detail::completion_core::entry>(*core_);
    any_executor(executor_).execute(std::move(sent));
    core_->add(std::move(place), std::move(result));
  }

  /// Blocks until a result is ready, and removes it. Blocks forever if nothing is pending and no
  /// more work is submitted.
  /// \throws std::system_error (resource_deadlock_would_occur); see above.
  [[nodiscard]] future<T> take() { return *take_until(clock::time_point::max()); }
  /// As above. Returns nullopt if stop is requested first.
  [[nodiscard]] std::optional<future<T>> take(const sync::stop_token& stop) {
    return take_until(clock::time_point::max(), stop);
  }
  /// As above. Returns nullopt if the time-out expires.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<future<T>> take_for(std::chrono::duration<Rep, Period> timeout,
                                                  const sync::stop_token& stop = {}) {
    return take_until(deadline_after(core_->time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above. Returns nullopt if the deadline passes.
  [[nodiscard]] std::optional<future<T>> take_until(clock::time_point deadline,
                                                    const sync::stop_token& stop = {}) {
    return as_future(core_->take_until(deadline, stop));
  }
  /// Removes the first result that is ready, or returns nullopt. Does not wait.
  [[nodiscard]] std::optional<future<T>> try_take() { return as_future(core_->try_take()); }

  /// Number of submitted callables that have not ended.
  [[nodiscard]] std::size_t pending() const { return core_->pending(); }
  /// Returns true if all submitted results have been taken: take() would wait for a submission.
  [[nodiscard]] bool empty() const { return core_->empty(); }

  /// Cancels all pending work, newest first, so that no thread begins a task that is about to be
  /// cancelled. The cancelled futures can be taken. A running callable continues until it heeds its
  /// token; `take().cancel_and_join()` waits for it.
  void cancel_pending() noexcept { core_->cancel_pending(); }

  /// For a caller that needs no more results: cancels all pending work and discards all results
  /// submitted so far, ready or not. Their errors are not reported.
  void discard() noexcept { core_->discard(); }

 private:
  static std::optional<future<T>> as_future(detail::intrusive_ptr<detail::future_core> ready) {
    if (!ready) return std::nullopt;
    return future<T>(detail::intrusive_ptr<detail::future_state<T>>(
        static_cast<detail::future_state<T>*>(ready.detach())));
  }

  // Constant after construction.
  const any_executor executor_;
  const future_options options_;
  detail::completion_core* const core_;  // owns a reference
};

}  // namespace takt::inline TAKT_ABI
