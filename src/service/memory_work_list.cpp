// States and invariants are those of work_book; a lock around it is all there is.
#include <takt/service/memory_work_list.hpp>

#include <takt/base/detail/mutex.hpp>

#include "work_book.hpp"

namespace takt::inline TAKT_ABI {

work_list::~work_list() = default;

class memory_work_list::impl {
 public:
  detail::mutex mu;
  work_book book TAKT_GUARDED_BY(mu);
};

memory_work_list::memory_work_list() : impl_(std::make_unique<impl>()) {}
memory_work_list::~memory_work_list() = default;

std::size_t memory_work_list::accept(std::span<const work_item> items) {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.add(items);
}

std::optional<work_item> memory_work_list::claim() {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.claim();
}

std::size_t memory_work_list::confirm(std::string_view key, std::span<const work_item> found) {
  const detail::mutex_lock lock(impl_->mu);
  const work_book::number claimed = impl_->book.find_claimed(key);
  const std::size_t added = impl_->book.add(found);
  impl_->book.confirm(claimed);
  return added;
}

void memory_work_list::give_back(std::string_view key) {
  const detail::mutex_lock lock(impl_->mu);
  impl_->book.give_back(impl_->book.find_claimed(key));
}

work_counts memory_work_list::counts() const {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.counts();
}

std::vector<work_item> memory_work_list::unconfirmed() const {
  const detail::mutex_lock lock(impl_->mu);
  return impl_->book.unconfirmed();
}

}  // namespace takt::inline TAKT_ABI
