/// The implementation of a crawler.
///
/// States of a claimed item. Until it is done or set aside, each item counts as a worker of the
/// lifecycle.
///
///   claimed   -> waiting    not_before() returned a later time: the timers have a timer_task
///             -> submitted  the executor has a visit_task
///   waiting   -> ready      the time has come
///   ready     -> submitted  fewer than how_.visits are submitted or visited
///   submitted -> visited    the callable runs
///   visited   -> done       it has returned, and the item was completed
///             -> set aside  it has thrown, or completing failed; released when the crawler ends
///   all others -> done      released: the crawler was stopped, or the executor or the timers have
///                           dropped the task. A task that is left over does nothing
///
/// The pump claims items and submits them. One thread at a time pumps: a thread that has added an
/// item, ended a visit, started the crawler or shut it down. A thread that finds another one
/// pumping sets pump_again_ instead. So an executor that runs visits within execute() causes a
/// loop, not a recursion.
///
/// Invariants
///   1. At most how_.visits items are submitted or visited, and at most how_.waiting are waiting.
///   2. A thread that creates work for the pump does so before it calls pump(), and is a worker
///      until pump() has returned. The pumping thread is a worker. It leaves only when nothing can
///      be claimed, or when items are under way that call pump() at their end. So in shutdown,
///      nothing can be claimed once there is no worker.
///   3. From stop on, no visit begins. The stopping thread releases all waiting, ready and
///      submitted items without the executor and the timers: the end does not depend on them.
///   4. A waiting or submitted item is linked. The thread that unlinks it owns it: the thread of
///      its task, or the stopping thread. The other one finds it unlinked and does nothing.
///   5. A thread that requests stop of the visits is not a worker at that time, so that stop
///      callbacks may wait for the end. Two exceptions: a visit that stops the crawler requests
///      stop at once, because it may test its own token; and a stop request of the executor is
///      passed on within its own callback, for which the visit waits.
///   6. Queue, executor, timers and callables are called without the lock, by workers. The last
///      worker destroys the callables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/work_queue.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {

class crawler::impl : public detail::ref_counted<impl> {
 public:
  impl(any_executor executor, work_queue& list, visit&& handler, options_type&& options)
      : life_(*options.time),
        options_(std::move(options)),
        list_(list),
        visit_(std::move(handler)),
        executor_(executor) {}

  // Marks a thread that runs a visit.
  class visit_scope final : public detail::executor_scope {
   public:
    explicit visit_scope(const impl& of) noexcept : detail::executor_scope(&of) {}
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }
  };

  // Marks a thread that is in a member of the crawler or in one of its tasks. Guards may be nested.
  // A guard has a reference, because a visit may destroy the crawler. When the outermost guard of
  // a thread ends, the thread is no worker; it then requests stop if it has stopped the crawler.
  class call_guard final : public detail::executor_scope {
   public:
    explicit call_guard(impl& of) noexcept : call_guard(of, innermost_of(of)) {}
    ~call_guard() {
      if (stops_ && around_ != nullptr) around_->stops_ = true;
      if (stops_ && around_ == nullptr) of_.stop_.request_stop();
      of_.release();  // NOLINT(clang-analyzer-cplusplus.NewDelete): it is reference-counted
    }
    impl* operator->() const noexcept { return &of_; }
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }

    // The innermost guard of the calling thread, or null.
    static call_guard* innermost_of(const impl& of) noexcept {
      return static_cast<call_guard*>(detail::executor_scope::of(&of.mu_));
    }
    void note_stop() noexcept { stops_ = true; }

   private:
    call_guard(impl& of, call_guard* around) noexcept
        : detail::executor_scope(&of.mu_), of_(of), around_(around) {
      of.retain();
    }

    impl& of_;
    call_guard* const around_;
    bool stops_ = false;
  };

  void start();
  std::size_t add(std::span<const work_item> items);
  void shutdown() noexcept;
  void stop() noexcept;
  void destroy() noexcept;
  void end_if_over() noexcept;  // for ending_guard
  std::exception_ptr error() const;
  task_totals totals() const;

  // Constant after construction.
  const detail::fork_guard home_;

  lifecycle life_;

 private:
  // A claimed item. The crawler has a reference until the item is done. The task that the executor
  // or the timers hold has another one, and may live longer.
  class claimed_item : public detail::list_node<>, public detail::ref_counted<claimed_item> {
   public:
    explicit claimed_item(work_item&& claimed) noexcept : item(std::move(claimed)) {}
    const work_item item;
    // Guarded by the crawler's lock.
    timer_handle timer;
    bool is_submitted = false;  // else it is waiting
  };

  // A task for the executor or the timers. If they drop it, the item is released.
  class item_task {
   public:
    item_task(impl& of, claimed_item& claimed) noexcept : of_(&of), item_(&claimed) {
      of.retain();
      claimed.retain();
    }
    item_task(item_task&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), item_(other.item_) {}
    item_task& operator=(item_task&&) = delete;

   protected:
    ~item_task() = default;
    // Calls one of the functions below if the item is still linked; it takes over the item.
    template <class... Args>
    void call(void (impl::*function)(claimed_item&, Args...), Args... args) noexcept {
      impl* const of = std::exchange(of_, nullptr);
      if (of == nullptr) return;
      const call_guard here(*of);
      if (of->unlink(*item_)) (of->*function)(*item_, args...);
      item_->release();  // NOLINT(clang-analyzer-cplusplus.NewDelete): another reference is left
      of->release();
    }

   private:
    impl* of_;
    claimed_item* item_;
  };

  class visit_task : public item_task {
   public:
    using item_task::item_task;
    visit_task(visit_task&&) = default;
    ~visit_task() { call(&impl::dropped); }
    void operator()(const sync::stop_token& stop) {
      call<const sync::stop_token&>(&impl::run, stop);
    }
  };

  class timer_task : public item_task {
   public:
    using item_task::item_task;
    timer_task(timer_task&&) = default;
    ~timer_task() { call(&impl::dropped); }
    void operator()() { call(&impl::due); }
  };

  enum class outcome : std::uint8_t { done, failed, cut_off };

  friend class ref_counted<impl>;
  ~impl() = default;

  void pump() noexcept;
  claimed_item* claim() noexcept;
  bool delay(claimed_item& claimed);
  void submit_visit(claimed_item& claimed) noexcept;

  bool unlink(claimed_item& claimed) noexcept;
  void due(claimed_item& claimed);
  void run(claimed_item& claimed, const sync::stop_token& executor_stops);
  void dropped(claimed_item& claimed);

  outcome call_visit(const work_item& item, const sync::stop_token& executor_stops) noexcept;
  void release_item(claimed_item& claimed) noexcept;
  void release_unstarted(claimed_item& claimed, detail::mutex_lock& lock) noexcept;
  void release_all(detail::intrusive_list<claimed_item>& from, detail::mutex_lock& lock) noexcept
      TAKT_REQUIRES(mu_);
  void set_error(const std::exception_ptr& why, bool by_drop) noexcept;
  void fail(const std::exception_ptr& why) noexcept;
  void note_rejection(const std::exception_ptr& why) noexcept;
  void remove_worker() noexcept;

  // Constant after construction, except that the callables are destroyed at the end.
  options_type options_;
  work_queue& list_;
  visit visit_;
  any_executor executor_;
  sync::stop_source stop_;

  mutable detail::mutex mu_;
  bool started_ TAKT_GUARDED_BY(mu_) = false;
  bool pumping_ TAKT_GUARDED_BY(mu_) = false;
  bool pump_again_ TAKT_GUARDED_BY(mu_) = false;  // for the pumping thread
  std::size_t visits_ TAKT_GUARDED_BY(mu_) = 0;   // submitted or visited items
  std::size_t waiting_count_ TAKT_GUARDED_BY(mu_) = 0;
  detail::intrusive_list<claimed_item> waiting_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> ready_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> submitted_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> set_aside_ TAKT_GUARDED_BY(mu_);
  task_totals totals_ TAKT_GUARDED_BY(mu_);
  std::exception_ptr error_ TAKT_GUARDED_BY(mu_);
  bool by_drop_ TAKT_GUARDED_BY(mu_) = false;  // error_ only says that a task was dropped
};

}  // namespace takt::inline TAKT_ABI
