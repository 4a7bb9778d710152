/// Tasks that wait for a thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// FIFO, or by priority and then FIFO. Thread safety: as for a container.
class task_queue {
 public:
  explicit task_queue(queue_order order = queue_order::fifo) noexcept : order_(order) {}

  [[nodiscard]] std::size_t size() const noexcept { return tasks_ == nullptr ? 0 : tasks_->size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// If it throws, `t` is as it was.
  void push(task&& t) {
    if (tasks_ == nullptr) tasks_ = std::make_unique<std::deque<task>>();
    tasks_->push_back(std::move(t));
    if (order_ == queue_order::priority) {
      std::push_heap(tasks_->begin(), tasks_->end(), &leaves_later);
    }
  }

  /// The next one. The queue is not empty.
  void pop(task& t) noexcept {
    if (order_ == queue_order::priority) {
      std::pop_heap(tasks_->begin(), tasks_->end(), &leaves_later);
      t = std::move(tasks_->back());
      tasks_->pop_back();
    } else {
      t = std::move(tasks_->front());
      tasks_->pop_front();
    }
  }

  /// All of them, and none is left. In no particular order, if by priority: see sort().
  [[nodiscard]] std::unique_ptr<std::deque<task>> take_all() noexcept { return std::move(tasks_); }

  /// Puts what take_all() gave into the order of the queue.
  static void sort(std::deque<task>& tasks, queue_order order) noexcept {
    if (order == queue_order::fifo) return;
    std::sort(tasks.begin(), tasks.end(),
              [](const task& a, const task& b) { return leaves_later(b, a); });
  }

  /// Takes out those for which `wanted` holds, which it moves to the end of `taken`.
  template <class Wanted>
  void take_if(Wanted wanted, std::deque<task>& taken) {
    if (tasks_ == nullptr) return;
    for (task& t : *tasks_) {
      if (wanted(t)) taken.push_back(std::move(t));
    }
    std::erase_if(*tasks_, [](const task& t) { return !t; });
    if (order_ == queue_order::priority) {
      std::make_heap(tasks_->begin(), tasks_->end(), &leaves_later);
    }
  }

 private:
  // For a heap whose top is what leaves next.
  static bool leaves_later(const task& a, const task& b) noexcept {
    return a.priority() != b.priority() ? a.priority() < b.priority() : a.id() > b.id();
  }

  // Constant after construction.
  const queue_order order_;

  // Null: nothing queued, and none made yet. A heap if by priority.
  std::unique_ptr<std::deque<task>> tasks_;
};

}  // namespace takt::inline TAKT_ABI
