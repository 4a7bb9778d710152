/// \file
/// Results in the order in which they come.
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

/// Has an executor do work, and gives the results in the order in which they come.
///
/// \code
/// takt::completion_queue<page> done{pool};
/// for (const url& u : urls) done.submit([u] { return fetch(u); });
/// while (!done.empty()) show(done.take().get());
/// \endcode
///
/// What is taken is the future of the work, ready: its get() gives the value or throws the error.
/// There is no other; who has to know which work it was lets it return that. One that ends while
/// it is being submitted comes when submit() returns. If several threads take, let them use
/// take(stop) or try_take(): after empty() another may be faster.
///
/// The executor is borrowed, and has to live as long as submit() is called. Waiting is done on its
/// clock.
///
/// **Waiting** within a task of the executor itself, without a deadline, for what is pending, is
/// found out when no thread would be left to do it: std::system_error
/// (resource_deadlock_would_occur). Waiting for what somebody has yet to submit is not.
///
/// **Thread safety**: all members from any thread, but for the destructor. **Destruction** neither
/// waits nor cancels: the work goes on, its results are dropped as those of any future are; an
/// error among them is unobserved. See discard().
template <class T>
class completion_queue {
 public:
  explicit completion_queue(any_executor where)
      : where_(where),
        options_(where.future_options()),
        core_(new detail::completion_core(*options_.time)) {}
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;
  ~completion_queue() { core_->close(); }

  /// Has `f` run by the executor. Allocates once beside the future.
  /// \throws takt::rejected if the executor does not take it; std::invalid_argument if `f` is
  /// empty. Then there is nothing to be taken.
  template <class F>
    requires detail::task_callable<T, std::decay_t<F>>
  void submit(F&& f, const task_options& more = {}) {
    future_task<T> work(std::forward<F>(f), options_);
    task sent(std::move(work), more);
    sent.state()->retain();
    detail::intrusive_ptr<detail::future_core> result(sent.state());
    auto place = std::make_unique<detail::completion_core::entry>(*core_);
    any_executor(where_).execute(std::move(sent));
    core_->add(std::move(place), std::move(result));
  }

  /// Blocks until one is ready, and gives it away. If nothing is pending, that may take for ever.
  [[nodiscard]] future<T> take() { return *take_until(clock::time_point::max()); }
  /// Blocks until one is ready or stop is requested: then nothing.
  [[nodiscard]] std::optional<future<T>> take(const sync::stop_token& stop) {
    return take_until(clock::time_point::max(), stop);
  }
  /// As above, for that long at most.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<future<T>> take_for(std::chrono::duration<Rep, Period> timeout,
                                                  const sync::stop_token& stop = {}) {
    return take_until(deadline_after(core_->time().now(), to_nanoseconds(timeout)), stop);
  }
  /// As above, until that time at most.
  [[nodiscard]] std::optional<future<T>> take_until(clock::time_point deadline,
                                                    const sync::stop_token& stop = {}) {
    return as_future(core_->take_until(deadline, stop));
  }
  /// The first that is ready, if any; does not wait.
  [[nodiscard]] std::optional<future<T>> try_take() { return as_future(core_->try_take()); }

  /// How many have been submitted and have not ended.
  [[nodiscard]] std::size_t pending() const { return core_->pending(); }
  /// Whether there is nothing to take, now or later: all that was submitted has been taken.
  [[nodiscard]] bool empty() const { return core_->empty(); }

  /// Cancels what has not ended, the last first, so that no thread begins what is to be cancelled
  /// next. All of it can be taken then, as cancelled; what runs goes on until it heeds its token:
  /// `take().cancel_and_join()` waits for it.
  void cancel_pending() noexcept { core_->cancel_pending(); }

  /// For who has what he wants: cancels what has not ended, and drops what was submitted so far,
  /// now or when it ends. Errors among it are reported to nobody.
  void discard() noexcept { core_->discard(); }

 private:
  static std::optional<future<T>> as_future(detail::intrusive_ptr<detail::future_core> ready) {
    if (!ready) return std::nullopt;
    return future<T>(detail::intrusive_ptr<detail::future_state<T>>(
        static_cast<detail::future_state<T>*>(ready.detach())));
  }

  // Constant after construction.
  const any_executor where_;
  const future_options options_;
  detail::completion_core* const core_;  // counted
};

}  // namespace takt::inline TAKT_ABI
