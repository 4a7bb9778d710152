#include <takt/task/task_list.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {

static_assert(sizeof(task_list) <= sizeof(task) && alignof(task_list) <= alignof(task),
              "a task_list fits into the head of a block");

void task_list::clear() noexcept {
  for (std::size_t i = 0; i < size_; ++i) own(i).~task();
  if (rest_ != nullptr) static_cast<void>(take_rest());
}

void task_list::append(task_list&& other) noexcept {
  if (other.empty()) return;
  if (empty()) {
    swap(other);
    return;
  }
  task_list rest = take_rest();
  rest.append(std::move(other));
  full_at_ = first_ + size_;
  void* const address = rest.blocks_.back().get();
  rest_ = ::new (address) task_list(std::move(rest));
}

// Moves the appended list out. The caller changes it and appends it again.
task_list task_list::take_rest() noexcept {
  task_list rest;
  full_at_ = room_;
  if (task_list* const held = std::exchange(rest_, nullptr)) {
    rest.swap(*held);
    held->~task_list();
  }
  return rest;
}

void task_list::push_behind(task&& t) {
  task_list rest = take_rest();
  try {
    rest.push_back(std::move(t));
  } catch (...) {
    append(std::move(rest));
    throw;
  }
  append(std::move(rest));
}

void task_list::pop_behind(task& t) noexcept {
  task_list rest = take_rest();
  rest.pop_back(t);
  append(std::move(rest));
}

void task_list::reserve(std::size_t tasks) {
  TAKT_ASSERT(rest_ == nullptr);
  while (room_ < first_ + tasks) add_block();
}

void task_list::trim() noexcept {
  if (size_ != 0 || room_ <= few) return;
  blocks_.clear();
  full_at_ = room_ = 0;
  first_ = 0;
}

void task_list::add_block() {
  if (room_ == few) {
    widen();
    return;
  }
  blocks_.emplace_back();  // first: if this throws, nothing has changed
  // Reuses an empty block at the front, if there is one.
  const std::size_t done = first_ / per_block;
  for (std::size_t i = done; i != 0 && i + most_spare > done; --i) {
    if (blocks_[i - 1] == nullptr) continue;
    blocks_.back() = std::move(blocks_[i - 1]);
    full_at_ = room_ += per_block;
    return;
  }
  const std::size_t added = room_ == 0 ? few : per_block;
  try {
    blocks_.back() = make_block(added);
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
  full_at_ = room_ += added;
}

// Replaces the small block by a large one.
void task_list::widen() {
  block wide = make_block(per_block);
  for (std::size_t i = 0; i < size_; ++i) {
    task& t = own(i);
    ::new (place_in(wide, i)) task(std::move(t));
    t.~task();  // NOLINT(bugprone-use-after-move): moved-from objects are destroyed, too
  }
  blocks_.front() = std::move(wide);
  full_at_ = room_ = per_block;
  first_ = 0;
}

// Called when the first block, or the whole list, has become empty.
void task_list::drop_front_block() noexcept {
  if (size_ == 0 && rest_ != nullptr) {
    *this = take_rest();
    return;
  }
  const std::size_t done = size_ == 0 ? blocks_.size() : first_ / per_block;
  if (done > most_spare) blocks_[done - most_spare - 1].reset();
  // Empty blocks stay at the front until they are half of all blocks. Then all of them move to the
  // end, to be reused. Moving them in one step makes the cost per task small.
  if (done * 2 < blocks_.size()) return;
  std::rotate(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(done), blocks_.end());
  first_ = size_ == 0 ? 0 : first_ - done * per_block;
  room_ -= std::erase(blocks_, nullptr) * per_block;
  drop_spare_blocks();
  full_at_ = rest_ == nullptr ? room_ : first_ + size_;
}

// Frees empty blocks at the end beyond `most_spare`.
void task_list::drop_spare_blocks() noexcept {
  const std::size_t used = (first_ + size_ + per_block - 1) / per_block;
  if (blocks_.size() <= used + most_spare) return;
  blocks_.resize(used + most_spare);
  room_ = blocks_.size() * per_block;
}

void task_list::remove_empty() noexcept {
  task_list rest = take_rest();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    task& t = own(i);
    if (!t) continue;
    if (i != kept) own(kept) = std::move(t);
    ++kept;
  }
  for (std::size_t i = kept; i < size_; ++i) own(i).~task();
  size_ = kept;
  drop_spare_blocks();
  full_at_ = room_;
  if (rest.empty()) return;
  rest.remove_empty();
  append(std::move(rest));
}

}  // namespace takt::inline TAKT_ABI
