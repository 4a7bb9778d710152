#include <takt/exec/fork_join.hpp>

#include <stdexcept>
#include <utility>

#include <takt/base/detail/deferred_continuations.hpp>
#include <takt/task/unhandled.hpp>

#include "pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace {

// The wait of a task for its children.
class join_wait final : public detail::task_wait {
 public:
  join_wait(const sync::atomic<std::int64_t>& elsewhere, std::int64_t left) noexcept
      : elsewhere_(elsewhere), left_(left) {}
  // False if the last child has ended, but the parent has not called end_wait() yet.
  [[nodiscard]] bool depends_on(const void* /*executor*/) const noexcept override {
    // relaxed: publishes nothing but the number
    const std::int64_t now = elsewhere_.load(std::memory_order_relaxed);
    return now != 1 && now != 2 * left_;
  }

 private:
  const sync::atomic<std::int64_t>& elsewhere_;
  const std::int64_t left_;
};

}  // namespace

fork_join::fork_join(stealing_pool& pool) noexcept
    : pool_(*pool.core_), thread_(this_thread()), runner_(detail::executor_scope::of(pool.core_)) {}

fork_join::~fork_join() {
  wait();
  if (error_ == nullptr) return;
  try {
    std::rethrow_exception(error_);
  } catch (const broken_promise&) {  // dropping a child was deliberate
  } catch (...) {
    pool_.future_options().unhandled->on_unhandled(unhandled::unobserved, error_);
  }
}

void fork_join::throw_other_thread() {
  throw std::logic_error("takt::fork_join: used by a thread other than the one that made it");
}

task* fork_join::place_for_child() noexcept {
  return runner_ == nullptr ? nullptr : pool_.slot_for_child(*runner_);
}

void fork_join::child_is_placed() noexcept { pool_.push_child_slot(*runner_); }

void fork_join::add(task&& t) {
  if (runner_ == nullptr) {
    pool_.execute(std::move(t));
  } else {
    spawn_.under_way = false;  // from here on it is a child, even if the pool drops it
    pool_.spawn(*runner_, t);
  }
}

void fork_join::end_elsewhere() noexcept {
  // acq_rel: what this child and earlier ones did, to join()
  if (elsewhere_.fetch_add(2, std::memory_order_acq_rel) == -1) wake_.unpark();
}

void fork_join::fail(std::exception_ptr error) noexcept {
  // relaxed: only the first child that fails writes error_; join() reads it when all have ended
  if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::move(error);
}

// A task of spawn() was destroyed without being run: a child that the pool has returned or dropped,
// or a task that the pool has not accepted.
void fork_join::drop_one() noexcept {
  if (thread_ == this_thread() && spawn_.under_way) {
    ++spawn_.dropped;
    return;
  }
  fail(std::make_exception_ptr(broken_promise()));
}

// Ends a spawn(). If the pool's rejection policy has dropped more tasks than `not_counted`, the new
// child or earlier ones, the fork_join fails.
void fork_join::end_spawn(std::size_t not_counted, const spawn_state& outer) noexcept {
  if (std::exchange(spawn_, outer).dropped > not_counted) {
    fail(std::make_exception_ptr(broken_promise()));
  }
}

void fork_join::join() {
  check_thread();
  wait();
  if (!failed_.load(std::memory_order_relaxed)) return;  // relaxed: all children have ended
  failed_.store(false, std::memory_order_relaxed);       // relaxed: as above
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void fork_join::wait() noexcept {
  if (left_ == 0) return;
  // acquire: what the children did
  const auto ended = [&] { return elsewhere_.load(std::memory_order_acquire) == 2 * left_; };
  do {
    while (!ended() && runner_ != nullptr && pool_.run_child(*runner_)) {
    }
  } while (!ended() && detail::deferred_continuations::run());
  if (!ended()) park();
  elsewhere_.store(0, std::memory_order_relaxed);  // relaxed: no other thread uses it any more
  left_ = 0;
}

// Parks until the remaining children, all of which other threads have taken, have ended.
void fork_join::park() noexcept {
  join_wait here(elsewhere_, left_);
  const bool registered = runner_ != nullptr && runner_->begin_wait(here);
  // acq_rel: what the children did, if all have ended; otherwise park() acquires that
  if (elsewhere_.fetch_add(1 - 2 * left_, std::memory_order_acq_rel) != 2 * left_) wake_.park();
  if (registered) runner_->end_wait(here);
}

}  // namespace takt::inline TAKT_ABI
