// States of an entry:
//   pending   in pending_: its future is not ready, or its on_ready() has not finished
//   ready     in ready_: its future is ready
//
//   (none)  -> pending   add()
//   pending -> ready     on_ready(), unless the result is unwanted or the queue is destroyed
//   pending -> (none)    on_ready() otherwise
//   ready   -> (none)    try_take(), take_until(), discard(), close()
//
// Invariants
//   1. A pending entry has a reference to the core, which on_ready() releases; a ready entry has
//      none. on_ready() is called once: by the future, or by add() if the future is ready already.
//   2. Only on_ready() removes an entry from pending_. So a thread that walks through pending_ may
//      release the lock, if it leaves a mark in the list at which to continue.
//   3. Futures are cancelled and released without the lock: that calls user code.
#include <takt/exec/detail/completion_core.hpp>

#include <system_error>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/detail/executor_scope.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

void completion_core::add(std::unique_ptr<entry> place,
                          intrusive_ptr<future_core> result) noexcept {
  entry& e = *place.release();
  future_core& core = *result;
  e.result_ = std::move(result);
  retain();
  {
    const mutex_lock lock(mu_);
    pending_.push_back(e);
    ++pending_count_;
  }
  if (!core.try_set_continuation(e)) e.on_ready();
}

void completion_core::entry::on_ready() noexcept {
  completion_core& core = owner_;
  bool silently = false;
  bool dropped = false;
  {
    const mutex_lock lock(core.mu_);
    core.pending_.erase(*this);
    silently = unwanted_;
    if (!silently) --core.pending_count_;
    dropped = silently || core.closed_;
    if (!dropped) {
      core.ready_.push_back(*this);
      core.arrived_.notify_one();
    }
  }
  if (dropped) drop(this, silently);
  core.release();
}

intrusive_ptr<future_core> completion_core::take_out(entry* e) noexcept {
  const std::unique_ptr<entry> gone(e);
  return gone == nullptr ? intrusive_ptr<future_core>() : std::move(gone->result_);
}

void completion_core::drop(entry* e, bool silently) noexcept {
  const intrusive_ptr<future_core> result = take_out(e);
  if (silently && !result->has_value()) static_cast<void>(result->take_error());
}

intrusive_ptr<future_core> completion_core::try_take() noexcept {
  deferred_continuations::run();  // they may make a future ready
  entry* first = nullptr;
  {
    const mutex_lock lock(mu_);
    first = ready_.pop_front();
  }
  return take_out(first);
}

// The wait of a task for the first pending future.
class completion_core::wait_for_any final : public task_wait {
 public:
  explicit wait_for_any(const completion_core& of) noexcept : of_(of) {}
  [[nodiscard]] bool depends_on(const void* executor) const noexcept override {
    const mutex_lock lock(of_.mu_);
    if (is_over) return false;
    bool pending = false;
    for (const entry& e : of_.pending_) {
      if (!e.result_) continue;  // a mark
      if (!e.result_->is_pending() || e.result_->home() != executor) return false;
      pending = true;
    }
    return pending && of_.ready_.empty();
  }

  // Guarded by the queue's lock.
  bool is_over = false;  // the wait has ended, but end_wait() was not called yet

 private:
  const completion_core& of_;
};

intrusive_ptr<future_core> completion_core::take_until(clock::time_point deadline,
                                                       const sync::stop_token& stop) {
  if (intrusive_ptr<future_core> first = try_take()) return first;
  // Only a wait without a deadline or a stop token can last for ever.
  const bool for_ever = deadline == clock::time_point::max() && !stop.stop_possible();
  executor_scope* const runner = for_ever ? runner_of_pending() : nullptr;
  wait_for_any self(*this);
  if (runner != nullptr && !runner->begin_wait(self)) {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "takt: a task waits for tasks that only its own thread could run");
  }
  entry* first = nullptr;
  {
    mutex_lock lock(mu_);
    bool goes_on = true;
    while ((first = ready_.pop_front()) == nullptr && goes_on) {
      goes_on = arrived_.wait_until(lock, time_, deadline, stop);
    }
    self.is_over = true;
  }
  if (runner != nullptr) runner->end_wait(self);
  return take_out(first);
}

// Returns the scope of the calling thread if it runs tasks of the executor that has the first
// pending task; else null.
executor_scope* completion_core::runner_of_pending() const {
  const mutex_lock lock(mu_);
  for (const entry& e : pending_) {
    if (e.result_) return executor_scope::of(e.result_->home());
  }
  return nullptr;
}

void completion_core::cancel_pending() noexcept {
  retain();  // a cancelled future's continuation may destroy the queue
  {
    const mutex_lock lock(mu_);
    cancel_all();
  }
  release();
}

void completion_core::discard() noexcept {
  retain();  // as above
  intrusive_list<entry> ended;
  {
    const mutex_lock lock(mu_);
    ended.splice(ended.end(), ready_);
    for (entry& e : pending_) e.unwanted_ = true;
    pending_count_ = 0;
    cancel_all();
  }
  while (entry* e = ended.pop_front()) drop(e, true);
  release();
}

// GCC 12 does not see that the mark, a local variable, is removed from the list before it returns.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif

// Cancels all pending futures from the last to the first. Futures added meanwhile are behind the
// mark, and are not cancelled.
void completion_core::cancel_all() noexcept {
  entry mark(*this);
  pending_.push_back(mark);
  using list = intrusive_list<entry>;
  for (auto at = list::iterator_to(mark); at != pending_.begin(); at = list::iterator_to(mark)) {
    --at;
    pending_.erase(mark);
    pending_.insert(at, mark);
    if (!at->result_) continue;  // the mark of another thread
    intrusive_ptr<future_core> doomed = at->result_.share();
    mu_.unlock();
    doomed->cancel();
    doomed = {};
    mu_.lock();
  }
  pending_.erase(mark);
}

void completion_core::close() noexcept {
  intrusive_list<entry> ended;
  {
    const mutex_lock lock(mu_);
    closed_ = true;
    ended.splice(ended.end(), ready_);
  }
  while (entry* e = ended.pop_front()) drop(e, false);
  release();
}

std::size_t completion_core::pending() const {
  const mutex_lock lock(mu_);
  return pending_count_;
}

bool completion_core::empty() const {
  const mutex_lock lock(mu_);
  return pending_count_ == 0 && ready_.empty();
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
