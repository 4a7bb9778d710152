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

/// The part of a completion_queue that does not depend on the type. The queue owns a reference, and
/// so does each pending future, whose continuation accesses the core. The invariants are in
/// completion_core.cpp.
class completion_core : public ref_counted<completion_core> {
 public:
  /// A future in one of the lists.
  class entry final : public list_node<>, private continuation {
   public:
    /// Constructs an entry without a future: a mark in the list, which is skipped.
    explicit entry(completion_core& owner) noexcept : owner_(owner) {}

   private:
    friend class completion_core;
    void on_ready() noexcept override;

    completion_core& owner_;
    intrusive_ptr<future_core> result_;  // null for a mark
    bool unwanted_ = false;              // guarded by the owner's lock
  };

  explicit completion_core(const clock& time) noexcept : time_(time) {}
  completion_core(const completion_core&) = delete;
  completion_core& operator=(const completion_core&) = delete;

  /// Releases the queue's reference. Ready results are discarded, and pending ones when they become
  /// ready.
  void close() noexcept;

  /// Adds `result`, which must not be null, with an entry that was allocated for it.
  void add(std::unique_ptr<entry> place, intrusive_ptr<future_core> result) noexcept;

  /// Remove and return the first ready result, or null if there is none (by the deadline).
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
  intrusive_list<entry> pending_ TAKT_GUARDED_BY(mu_);  // in order of submission
  intrusive_list<entry> ready_ TAKT_GUARDED_BY(mu_);    // in order of completion
  std::size_t pending_count_ TAKT_GUARDED_BY(mu_) = 0;
  bool closed_ TAKT_GUARDED_BY(mu_) = false;      // the queue has been destroyed
  timed_condition arrived_ TAKT_GUARDED_BY(mu_);  // wakes threads in take_until()
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
