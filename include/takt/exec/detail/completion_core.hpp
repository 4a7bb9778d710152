/// \file
/// The part of a completion_queue that does not depend on the type.
#pragma once

#include <cstddef>
#include <memory>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/task/detail/executor_scope.hpp>
#include <takt/task/detail/future_state.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The part of a completion_queue that does not depend on the type. Counts its references: the
/// queue has one, and so has each future that has not ended, so that it finds the core when it
/// does. The invariants are in completion_queue.cpp. For completion_queue.
class completion_core : public ref_counted<completion_core> {
 public:
  /// A future, and its place in one of the lists.
  class entry final : public list_node<>, private continuation {
   public:
    /// Without a future: a mark in the list, which is passed over.
    explicit entry(completion_core& owner) noexcept : owner_(owner) {}

   private:
    friend class completion_core;
    void on_ready() noexcept override;

    completion_core& owner_;
    intrusive_ptr<future_core> result_;  // empty: a mark
    bool unwanted_ = false;              // guarded by the owner's lock
  };

  explicit completion_core(const clock& time) noexcept : time_(time) {}
  completion_core(const completion_core&) = delete;
  completion_core& operator=(const completion_core&) = delete;

  /// Gives up the reference of the queue: what is ready is dropped, and later what comes.
  void close() noexcept;

  /// Waits for `result`, which is not empty, with an entry that was made for it.
  void add(std::unique_ptr<entry> place, intrusive_ptr<future_core> result) noexcept;

  /// The first that is ready; empty if none is by then.
  [[nodiscard]] intrusive_ptr<future_core> try_take() noexcept;
  [[nodiscard]] intrusive_ptr<future_core> take_until(clock::time_point deadline,
                                                      const sync::stop_token& stop);

  void cancel_pending() noexcept;
  void discard() noexcept;

  [[nodiscard]] std::size_t pending() const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] const clock& time() const noexcept { return time_; }

 private:
  friend class ref_counted<completion_core>;
  ~completion_core() = default;

  executor_scope* runner_of_pending() const;
  class wait_for_any;
  static intrusive_ptr<future_core> take_out(entry* e) noexcept;
  static void drop(entry* e, bool silently) noexcept;
  void cancel_all() noexcept TAKT_REQUIRES(mu_);

  // Constant after construction.
  const clock& time_;

  mutable mutex mu_;
  intrusive_list<entry> pending_ TAKT_GUARDED_BY(mu_);  // in the order of their submission
  intrusive_list<entry> ready_ TAKT_GUARDED_BY(mu_);    // in the order of their end
  std::size_t pending_count_ TAKT_GUARDED_BY(mu_) = 0;
  bool closed_ TAKT_GUARDED_BY(mu_) = false;      // the queue is gone
  timed_condition arrived_ TAKT_GUARDED_BY(mu_);  // those who take
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
