/// \file
/// A list of tasks.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// A list of tasks: the queue of executors and the result of shutdown_now(). It owns the tasks; its
/// destructor drops them, which fails their futures with takt::broken_promise.
///
/// \code
/// for (takt::task& t : pool.shutdown_now()) keep(std::move(t));
/// \endcode
///
/// **Cost.** Tasks are stored in blocks. The list keeps up to 1 MB of empty blocks: a steady flow
/// of some ten thousand tasks does not allocate. A list that never held more than a few tasks takes
/// some 600 bytes. Moving the list and append() neither move tasks nor allocate nor throw.
///
/// **Thread safety.** As for a container of the standard library.
class task_list {
 public:
  /// Forward iterator. Any change of the list invalidates it.
  template <class List, class Task>
  class basic_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = task;
    using difference_type = std::ptrdiff_t;
    using pointer = Task*;
    using reference = Task&;

    basic_iterator() = default;
    basic_iterator(List* list, std::size_t index) noexcept : list_(list), index_(index) {}
    reference operator*() const noexcept { return (*list_)[index_]; }
    pointer operator->() const noexcept { return &**this; }
    basic_iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    basic_iterator operator++(int) noexcept {
      const basic_iterator before = *this;
      ++index_;
      return before;
    }
    friend bool operator==(const basic_iterator&, const basic_iterator&) = default;

   private:
    List* list_ = nullptr;
    std::size_t index_ = 0;
  };
  using iterator = basic_iterator<task_list, task>;
  using const_iterator = basic_iterator<const task_list, const task>;

  task_list() noexcept = default;
  task_list(task_list&& other) noexcept { swap(other); }
  task_list& operator=(task_list&& other) noexcept {
    task_list(std::move(other)).swap(*this);
    return *this;
  }
  ~task_list() { clear(); }
  void swap(task_list& other) noexcept {
    blocks_.swap(other.blocks_);
    std::swap(room_, other.room_);
    std::swap(full_at_, other.full_at_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    std::swap(rest_, other.rest_);
  }

  [[nodiscard]] std::size_t size() const noexcept {
    return rest_ == nullptr ? size_ : size_ + rest_->size();
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] task& operator[](std::size_t index) noexcept { return *find(index); }
  [[nodiscard]] const task& operator[](std::size_t index) const noexcept { return *find(index); }
  [[nodiscard]] task& back() noexcept { return (*this)[size() - 1]; }
  [[nodiscard]] iterator begin() noexcept { return {this, 0}; }
  [[nodiscard]] iterator end() noexcept { return {this, size()}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {this, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {this, size()}; }

  /// Adds a task at the end. \throws std::bad_alloc; `t` is unchanged then.
  void push_back(task&& t) {
    if (first_ + size_ == full_at_) {
      if (rest_ != nullptr) {
        push_behind(std::move(t));
        return;
      }
      add_block();
    }
    ::new (place(first_ + size_)) task(std::move(t));
    ++size_;
  }

  /// Moves the first task to `t`. Requires a list that is not empty.
  void pop_front(task& t) noexcept {
    take_out(own(0), t);
    ++first_;
    --size_;
    if (first_ % per_block == 0 || size_ == 0) drop_front_block();
  }

  /// Moves the last task to `t`. Requires a list that is not empty.
  void pop_back(task& t) noexcept {
    if (rest_ != nullptr) {
      pop_behind(t);
      return;
    }
    take_out(own(size_ - 1), t);
    --size_;
    if (first_ + size_ + (most_spare + 1) * per_block > room_) return;
    blocks_.pop_back();
    full_at_ = room_ -= per_block;
  }

  /// Adds the tasks of `other` at the end by taking over its blocks; `other` is empty afterwards.
  /// For a few lists only: each appended list makes access to a task slower.
  void append(task_list&& other) noexcept;

  /// Reserves memory for `tasks` tasks: adding them does not allocate. Requires an empty list.
  /// \throws std::bad_alloc.
  void reserve(std::size_t tasks);

  /// Removes tasks that are empty.
  void remove_empty() noexcept;

  /// Releases the memory of an empty list, unless it is only the small block for a few tasks.
  void trim() noexcept;

 private:
  // One thread adds tasks and another one removes them. If the second freed the blocks that the
  // first allocates, both would contend for the allocator's lock; hence blocks are large and rarely
  // freed. A list that never had more than `few` tasks has one small block, because there may be
  // thousands of such lists.
  static constexpr std::size_t few = 8;
  static constexpr std::size_t per_block = 256;
  static constexpr std::size_t most_spare = 64;
  using block = std::unique_ptr<std::byte[]>;
  static_assert(alignof(task) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  // Each block begins with space for a task_list: see rest_.
  static constexpr std::size_t head = sizeof(task);
  [[nodiscard]] static void* place_in(const block& b, std::size_t at) noexcept {
    return b.get() + head + at * sizeof(task);
  }
  [[nodiscard]] void* place(std::size_t at) const noexcept {
    return place_in(blocks_[at / per_block], at % per_block);
  }
  [[nodiscard]] static block make_block(std::size_t tasks) {
    return std::make_unique_for_overwrite<std::byte[]>(head + tasks * sizeof(task));
  }
  // The task at `index` of this list, without rest_.
  [[nodiscard]] task& own(std::size_t index) const noexcept {
    return *std::launder(static_cast<task*>(place(first_ + index)));
  }
  [[nodiscard]] task* find(std::size_t index) const noexcept {
    return index < size_ || rest_ == nullptr ? &own(index) : rest_->find(index - size_);
  }
  static void take_out(task& from, task& to) noexcept {
    to = std::move(from);
    from.~task();  // NOLINT(bugprone-use-after-move): moved-from objects are destroyed, too
  }
  void clear() noexcept;
  [[nodiscard]] task_list take_rest() noexcept;
  void push_behind(task&& t);
  void pop_behind(task& t) noexcept;
  void add_block();
  void widen();
  void drop_front_block() noexcept;
  void drop_spare_blocks() noexcept;

  // Indices count through all blocks. The tasks are [first_, first_ + size_).
  std::vector<block> blocks_;
  std::size_t room_ = 0;     // capacity of all blocks; `few` if the only block is the small one
  std::size_t full_at_ = 0;  // room_, or first_ + size_ if there is a rest
  std::size_t first_ = 0;
  std::size_t size_ = 0;  // without rest_; not 0 if there is one
  // The appended list, owned, stored at the beginning of its own last block. To change it, move it
  // out with take_rest() first, since its blocks may change.
  task_list* rest_ = nullptr;
};

}  // namespace takt::inline TAKT_ABI
