/// What a crawler is made of.
///
/// Items of the list, from their being claimed on; each of them is a worker of the lifecycle:
///
///   claimed   -> waiting   not_before() says later: the timers have it
///             -> handed    the executor has it
///   waiting   -> ready     its time has come
///   ready     -> handed    the executor has room for it
///   handed    -> visited   the callable runs
///   visited   -> over      it has returned, and was confirmed
///             -> aside     it has thrown, or could not be confirmed; is given back at the end
///   any other -> over      given back: stopped, or the executor or the timers have dropped it;
///   what
///                          they still have of it is nobody's then, and does nothing
///
/// What takes items out of the list and hands them over is the pump, which is one thread at a time:
/// whoever has added something, ended a visit or shut down. Who finds somebody at it leaves a note.
/// So an executor that runs visits inside of execute() makes a loop and no recursion.
///
/// Invariants
///   1. At most how_.visits are handed or visited, at most how_.waiting wait.
///   2. Who makes the pump necessary does so before calling go_on(), and is a worker until that has
///      returned; who pumps is one; and a pump leaves off only when there is nothing to claim, or
///      when there are items under way, whose ends call it again. So in shutdown, when there is no
///      worker, there is nothing to claim.
///   3. From stop on, no visit begins. Who stops gives back what waits, is ready or handed, and
///   asks
///      neither the executor nor the timers for it: so the end does not depend on their running.
///   4. What is waiting or handed is linked, and belongs to who unlinks it: what the timers or the
///      executor have of it, or who stops. The other of the two finds it unlinked, and leaves off.
///   5. Who requests stop is no worker then, so that what that calls may wait for the end. But if
///      a visit stops it, that is done at once: it may look at its own token. And if the executor
///      does, its stop is theirs, within the callback that a visit waits for.
///   6. The list, the executor, the timers and all callables are called without the lock, by
///      workers; the callables are destroyed by the last of them.
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
  impl(any_executor where, work_queue& list, visit&& what, options&& how)
      : life_(*how.time),
        how_(std::move(how)),
        list_(list),
        visit_(std::move(what)),
        where_(where) {}

  // On the stack of a thread that runs a visit.
  class visit_scope final : public detail::executor_scope {
   public:
    explicit visit_scope(const impl& of) noexcept : detail::executor_scope(&of) {}
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }
  };

  // A call of the crawler, or of what its executor or its timers have; one may contain others.
  // Keeps it, as visits within it may destroy the crawler. When the outermost one of a thread ends,
  // that is no worker, and asks the visits to stop if it has stopped the crawler.
  class call_guard final : public detail::executor_scope {
   public:
    explicit call_guard(impl& of) noexcept : call_guard(of, innermost_of(of)) {}
    ~call_guard() {
      if (stops_ && around_ != nullptr) around_->stops_ = true;
      if (stops_ && around_ == nullptr) of_.stop_.request_stop();
      of_.release();  // NOLINT(clang-analyzer-cplusplus.NewDelete): it has a count
    }
    impl* operator->() const noexcept { return &of_; }
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }

    // Of the calling thread, or null.
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
  // An item that was claimed. The crawler has a reference until it is over, and so has what the
  // executor or the timers are given, which may be there for longer.
  class claimed_item : public detail::list_node<>, public detail::ref_counted<claimed_item> {
   public:
    explicit claimed_item(work_item&& claimed) noexcept : item(std::move(claimed)) {}
    const work_item item;
    // Guarded by the crawler's lock.
    timer_handle timer;
    bool is_submitted = false;  // and not waiting
  };

  // What the executor or the timers are given. If they drop it, the item is given back.
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
    // Calls one of the functions below, which ends or keeps the item.
    template <class... Args>
    void call(void (impl::*function)(claimed_item&, Args...), Args... args) noexcept {
      impl* const of = std::exchange(of_, nullptr);
      if (of == nullptr) return;
      const call_guard here(*of);
      if (of->unlink(*item_)) (of->*function)(*item_, args...);
      item_->release();  // NOLINT(clang-analyzer-cplusplus.NewDelete): that was another owner
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

  // Constant after construction; the callables until the end.
  options how_;
  work_queue& list_;
  visit visit_;
  any_executor where_;
  sync::stop_source stop_;

  mutable detail::mutex mu_;
  bool started_ TAKT_GUARDED_BY(mu_) = false;
  bool pumping_ TAKT_GUARDED_BY(mu_) = false;
  bool pump_again_ TAKT_GUARDED_BY(mu_) = false;  // a note for who pumps
  std::size_t visits_ TAKT_GUARDED_BY(mu_) = 0;   // handed, and visited
  std::size_t waiting_count_ TAKT_GUARDED_BY(mu_) = 0;
  detail::intrusive_list<claimed_item> waiting_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> ready_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> submitted_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<claimed_item> set_aside_ TAKT_GUARDED_BY(mu_);
  task_totals totals_ TAKT_GUARDED_BY(mu_);
  std::exception_ptr error_ TAKT_GUARDED_BY(mu_);
  bool by_drop_ TAKT_GUARDED_BY(mu_) = false;  // the error says no more than that
};

}  // namespace takt::inline TAKT_ABI
