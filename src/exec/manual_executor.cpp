#include <takt/exec/manual_executor.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/lifecycle.hpp>

#include "../task/delivery.hpp"
#include "ending_guard.hpp"
#include "running_task.hpp"
#include "task_harness.hpp"
#include "task_queue.hpp"

namespace takt::inline TAKT_ABI {

class manual_executor::impl : public detail::ref_counted<impl> {
 public:
  void execute(task t) {
    if (!t) throw std::invalid_argument("takt::manual_executor: the task is empty");
    detail::mutex_lock lock(mu_);
    t.set_id(++harness_.totals.submitted);
    if (life_.state() != life_state::running) {
      ++harness_.totals.rejected;
      lock.unlock();
      t.reject(rejection::shut_down);
      throw rejected(rejection::shut_down);
    }
    try {
      queue_.push(std::move(t));
    } catch (...) {
      ++harness_.totals.rejected;
      throw;
    }
  }

  bool poll_one() {
    const delivery_scope deliveries;
    running here;
    task t;
    {
      const detail::mutex_lock lock(mu_);
      if (!queue_.find()) return false;
      queue_.pop(t);
      running_.push_back(here);
    }
    std::exception_ptr uncaught;
    const run_result result = harness_.run(t, life_, &here.current, {}, &uncaught);
    {
      const detail::mutex_lock lock(mu_);
      running_.erase(here);
      count(result, harness_.totals);
    }
    if (uncaught != nullptr) std::rethrow_exception(uncaught);
    return true;
  }

  void shutdown() noexcept {
    const ending_guard ending(*this, life_);
    life_.advance_to(life_state::shutdown);
  }

  // Returns the tasks that have not begun, or cancels them and returns none.
  task_list stop(bool return_tasks) noexcept {
    const ending_guard ending(*this, life_);
    task_list unstarted;
    {
      const detail::mutex_lock lock(mu_);
      life_.advance_to(life_state::stop);
      unstarted = queue_.take_front();
    }
    request_stop_of_running();
    const std::size_t cancelled = harness_.end_unstarted(unstarted, return_tasks);
    const detail::mutex_lock lock(mu_);
    harness_.totals.cancelled += cancelled;
    harness_.totals.returned += unstarted.size();
    return unstarted;
  }

  // Termination is in the destructor, after all other calls that end the executor.
  void end_if_over() noexcept {
    if (life_.try_tidy(false)) life_.terminate();
  }
  void destroy() noexcept {
    // After fork() the mutex is in an unknown state, and other calls are not in this process.
    if (!home_.is_here()) return;
    static_cast<void>(stop(false));
    if (!is_ending_here(life_)) life_.await_unused();
    release();
  }

  bool is_shutdown() const noexcept { return life_.state() != life_state::running; }

  std::size_t queued() const {
    const detail::mutex_lock lock(mu_);
    return queue_.size();
  }

  task_totals totals() const {
    const detail::mutex_lock lock(mu_);
    return harness_.totals;
  }

 private:
  friend class ref_counted<impl>;
  ~impl() = default;

  // On the stack of each thread that runs a task.
  struct running : detail::list_node<> {
    running_task current;
    bool stop_requested = false;
  };

  // Requests stop of each running task once, without the lock; so it searches the list anew after
  // each request.
  void request_stop_of_running() noexcept {
    for (;;) {
      detail::intrusive_ptr<detail::future_core> found;
      {
        const detail::mutex_lock lock(mu_);
        for (running& r : running_) {
          if (!std::exchange(r.stop_requested, true)) {
            found = r.current.share();
            if (found) break;
          }
        }
      }
      if (!found) return;
      found->request_stop();
    }
  }

  const detail::fork_guard home_;
  lifecycle life_{steady};

  mutable detail::mutex mu_;
  task_harness harness_{steady, terminate_on_unhandled, nullptr};  // `totals` is guarded by mu_
  task_queue queue_ TAKT_GUARDED_BY(mu_);
  detail::intrusive_list<running> running_ TAKT_GUARDED_BY(mu_);
};

manual_executor::manual_executor() : impl_(new impl) {}

manual_executor::~manual_executor() { impl_->destroy(); }

void manual_executor::execute(task t) { impl_->execute(std::move(t)); }
bool manual_executor::poll_one() { return impl_->poll_one(); }

std::size_t manual_executor::poll() {
  std::size_t ran = 0;
  while (poll_one()) ++ran;
  return ran;
}

std::size_t manual_executor::queued() const { return impl_->queued(); }
task_totals manual_executor::totals() const { return impl_->totals(); }
void manual_executor::shutdown() noexcept { impl_->shutdown(); }
task_list manual_executor::shutdown_now() noexcept { return impl_->stop(true); }
bool manual_executor::is_shutdown() const noexcept { return impl_->is_shutdown(); }

}  // namespace takt::inline TAKT_ABI
