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
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/clock/time.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/fwd.hpp>
#include <takt/task/future.hpp>
#include <takt/task/future_state.hpp>
#include <takt/task/future_task.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// The part of a completion_queue that does not depend on the type. Counts its references: the
/// queue has one, and so has each future that has not ended, so that it finds the core when it
/// does. The invariants are in completion_queue.cpp. For completion_queue.
class completion_core : public detail::ref_counted<completion_core> {
 public:
  /// A future, and its place in one of the lists.
  class entry final : public detail::list_node<>, private continuation {
   public:
    /// Without a future: a mark in the list, which is passed over.
    explicit entry(completion_core& owner) noexcept : owner_(owner) {}

   private:
    friend class completion_core;
    void on_ready() noexcept override;

    completion_core& owner_;
    state_ref<future_core> result_;  // empty: a mark
    bool unwanted_ = false;          // guarded by the owner's lock
  };

  explicit completion_core(const clock& time) noexcept : time_(time) {}
  completion_core(const completion_core&) = delete;
  completion_core& operator=(const completion_core&) = delete;

  /// Gives up the reference of the queue: what is ready is dropped, and later what comes.
  void close() noexcept;

  /// Waits for `result`, which is not empty, with an entry that was made for it.
  void add(std::unique_ptr<entry> place, state_ref<future_core> result) noexcept;

  /// The first that is ready; empty if none is by then.
  [[nodiscard]] state_ref<future_core> try_take() noexcept;
  [[nodiscard]] state_ref<future_core> take_until(clock::time_point deadline,
                                                  const sync::stop_token& stop);

  void cancel_pending() noexcept;
  void discard() noexcept;

  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] const clock& time() const noexcept { return time_; }

 private:
  friend class ref_counted<completion_core>;
  ~completion_core() = default;

  task_runner* runner_of_pending() const;
  class wait_for_any;
  static state_ref<future_core> take_out(entry* e) noexcept;
  static void drop(entry* e, bool silently) noexcept;
  void cancel_all() noexcept TAKT_REQUIRES(mu_);

  // Constant after construction.
  const clock& time_;

  mutable detail::mutex mu_;
  detail::intrusive_list<entry> pending_ TAKT_GUARDED_BY(mu_);  // in the order of their submission
  detail::intrusive_list<entry> ready_ TAKT_GUARDED_BY(mu_);    // in the order of their end
  std::size_t pending_count_ TAKT_GUARDED_BY(mu_) = 0;
  bool closed_ TAKT_GUARDED_BY(mu_) = false;              // the queue is gone
  detail::timed_condition arrived_ TAKT_GUARDED_BY(mu_);  // those who take
};

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
        core_(new completion_core(*options_.time)) {}
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;
  ~completion_queue() { core_->close(); }

  /// Has `f` run by the executor. Allocates once beside the future.
  /// \throws takt::rejected if the executor does not take it; std::invalid_argument if `f` is
  /// empty. Then there is nothing to be taken.
  template <class F>
    requires task_callable<T, std::decay_t<F>>
  void submit(F&& f, const task_options& more = {}) {
    future_task<T> work(std::forward<F>(f), options_);
    task sent(std::move(work), more);
    sent.state()->retain();
    state_ref<future_core> result(sent.state());
    auto place = std::make_unique<completion_core::entry>(*core_);
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
  static std::optional<future<T>> as_future(state_ref<future_core> ready) {
    if (!ready) return std::nullopt;
    return future<T>(state_ref<future_state<T>>(static_cast<future_state<T>*>(ready.detach())));
  }

  // Constant after construction.
  const any_executor where_;
  const future_options options_;
  completion_core* const core_;  // counted
};

}  // namespace takt::inline TAKT_ABI
