/// Tasks that wait for a thread.
#pragma once

#include <cstddef>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// As far as numbers go, where `unbounded` is the largest.
constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

/// FIFO, or by priority and then FIFO. Thread safety: as for a container.
class task_queue {
 public:
  explicit task_queue(queue_order order = queue_order::fifo) noexcept : order_(order) {}

  [[nodiscard]] std::size_t size() const noexcept { return tasks_.size(); }
  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }

  /// If it throws, `t` is as it was.
  void push(task&& t) {
    tasks_.push_back(std::move(t));
    if (order_ == queue_order::priority) sift_up(tasks_, tasks_.size() - 1);
  }

  /// The next one. The queue is not empty.
  void pop(task& t) noexcept {
    if (order_ == queue_order::priority) {
      std::swap(tasks_[0], tasks_.back());
      tasks_.pop_back(t);
      sift_down(tasks_, 0, tasks_.size());
    } else {
      tasks_.pop_front(t);
    }
  }

  /// All of them, and none is left. In no particular order, if by priority: see sort().
  [[nodiscard]] task_list take_all() noexcept { return std::move(tasks_); }

  /// Puts what take_all() gave into the order of the queue.
  static void sort(task_list& heap, queue_order order) noexcept {
    if (order == queue_order::fifo) return;
    // The next one to the end, of those that are left; so the last one ends up in front.
    for (std::size_t left = heap.size(); left > 1; --left) {
      std::swap(heap[0], heap[left - 1]);
      sift_down(heap, 0, left - 1);
    }
    for (std::size_t i = 0, j = heap.size(); i + 1 < j; ++i) std::swap(heap[i], heap[--j]);
  }

  /// Takes out those for which `wanted` holds, and adds them to `taken`. If it throws, none is
  /// lost.
  template <class Wanted>
  void take_if(Wanted wanted, task_list& taken) {
    const std::size_t count = tasks_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted(tasks_[i])) taken.push_back(std::move(tasks_[i]));
    }
    tasks_.remove_empty();
    if (order_ == queue_order::fifo) return;
    for (std::size_t i = tasks_.size() / 2; i-- > 0;) sift_down(tasks_, i, tasks_.size());
  }

 private:
  static bool leaves_before(const task& a, const task& b) noexcept {
    return a.priority() != b.priority() ? a.priority() > b.priority() : a.id() < b.id();
  }

  // A binary heap: what leaves next is at 0, and each leaves before its children at 2i+1 and 2i+2.
  static void sift_up(task_list& heap, std::size_t at) noexcept {
    while (at != 0 && leaves_before(heap[at], heap[(at - 1) / 2])) {
      std::swap(heap[at], heap[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
  }
  static void sift_down(task_list& heap, std::size_t at, std::size_t size) noexcept {
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= size) return;
      if (child + 1 < size && leaves_before(heap[child + 1], heap[child])) ++child;
      if (!leaves_before(heap[child], heap[at])) return;
      std::swap(heap[child], heap[at]);
      at = child;
    }
  }

  // Constant after construction.
  const queue_order order_;

  task_list tasks_;
};

}  // namespace takt::inline TAKT_ABI
