#include <takt/rx/batch_scheduler.hpp>

#include <exception>

#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

void batch_scheduler::request(action_node& a, std::chrono::nanoseconds delay) {
  if (delay > std::chrono::nanoseconds(0)) {
    async_scheduler::request(a, delay);
    return;
  }
  // Also if the loop has dropped the call of this batch.
  if (loop().is_shutdown()) throw rejected(rejection::shut_down);
  if (call_ == loop_requests::handle()) {
    call_ = calls_.set([this] {
      call_ = {};
      drain(batch_++);
    });
  }
  enqueue(a, batch_);
}

bool batch_scheduler::recycle(action_node& a, action_delay delay) noexcept {
  const bool kept = async_scheduler::recycle(a, delay);
  dequeue(a);
  if (call_ != loop_requests::handle() && !has_queued(batch_)) {
    calls_.clear(call_);
    call_ = {};
  }
  return kept;
}

// For an action with a delay.
void batch_scheduler::flush_from(action_node& due) {
  if (const std::exception_ptr error = execute(due)) std::rethrow_exception(error);
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
