#include <takt/task/task_list.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace takt::inline TAKT_ABI {

void task_list::clear() noexcept {
  for (task& t : *this) t.~task();
}

void task_list::trim() noexcept {
  if (size_ != 0 || room_ <= few) return;
  blocks_.clear();
  room_ = 0;
  first_ = 0;
}

void task_list::add_block() {
  if (room_ == few) {
    widen();
    return;
  }
  blocks_.emplace_back();  // room for it first: if that throws, nothing has changed
  // One of those in front that are done with, if there is one.
  const std::size_t done = first_ / per_block;
  for (std::size_t i = done; i != 0 && i + most_spare > done; --i) {
    if (blocks_[i - 1] == nullptr) continue;
    blocks_.back() = std::move(blocks_[i - 1]);
    room_ += per_block;
    return;
  }
  const std::size_t more = room_ == 0 ? few : per_block;
  try {
    blocks_.back() = make_block(more);
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
  room_ += more;
}

// A large block in the place of the small one.
void task_list::widen() {
  block wide = make_block(per_block);
  for (std::size_t i = 0; i < size_; ++i) {
    task& t = (*this)[i];
    ::new (wide.get() + i * sizeof(task)) task(std::move(t));
    t.~task();  // NOLINT(bugprone-use-after-move): moved-from objects are destroyed, too
  }
  blocks_.front() = std::move(wide);
  room_ = per_block;
  first_ = 0;
}

// The first block has no task any more, or there is none at all.
void task_list::drop_front_block() noexcept {
  const std::size_t done = size_ == 0 ? blocks_.size() : first_ / per_block;
  if (done > most_spare) blocks_[done - most_spare - 1].reset();
  // Those that are done with stay in front until they are half of all. Then they go to the end, to
  // be used again: at once, so that it costs little per task.
  if (done * 2 < blocks_.size()) return;
  std::rotate(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(done), blocks_.end());
  first_ = size_ == 0 ? 0 : first_ - done * per_block;
  room_ -= std::erase(blocks_, nullptr) * per_block;
  drop_spare_blocks();
}

// Of those at the end.
void task_list::drop_spare_blocks() noexcept {
  const std::size_t used = (first_ + size_ + per_block - 1) / per_block;
  if (blocks_.size() <= used + most_spare) return;
  blocks_.resize(used + most_spare);
  room_ = blocks_.size() * per_block;
}

void task_list::remove_empty() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    task& t = (*this)[i];
    if (!t) continue;
    if (i != kept) (*this)[kept] = std::move(t);
    ++kept;
  }
  for (std::size_t i = kept; i < size_; ++i) (*this)[i].~task();
  size_ = kept;
  drop_spare_blocks();
}

}  // namespace takt::inline TAKT_ABI
