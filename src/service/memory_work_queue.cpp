// A work_book under a lock: see there for states and invariants.
#include <takt/service/memory_work_queue.hpp>

#include <takt/base/detail/mutex.hpp>

#include "work_book.hpp"

namespace takt::inline TAKT_ABI {

work_queue::~work_queue() = default;

class memory_work_queue::impl {
 public:
  detail::mutex mu;
  work_book book TAKT_GUARDED_BY(mu);
};

memory_work_queue::memory_work_queue() : impl_(std::make_unique<impl>()) {}
memory_work_queue::~memory_work_queue() = default;

std::size_t memory_work_queue::enqueue(std::span<const work_item> items) {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.add(items);
}

std::optional<work_item> memory_work_queue::claim() {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.claim();
}

std::size_t memory_work_queue::complete(std::string_view key, std::span<const work_item> found) {
  const detail::mutex_lock lock(impl_->mu);
  const work_book::number claimed = impl_->book.find_claimed(key);
  const std::size_t added = impl_->book.add(found);
  impl_->book.complete(claimed);
  return added;
}

void memory_work_queue::release(std::string_view key) {
  const detail::mutex_lock lock(impl_->mu);
  impl_->book.release(impl_->book.find_claimed(key));
}

work_counts memory_work_queue::counts() const {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.counts();
}

std::vector<work_item> memory_work_queue::incomplete() const {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.incomplete();
}

}  // namespace takt::inline TAKT_ABI
