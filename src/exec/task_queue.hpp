/// The shared task queue of an executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/exec/queue_order.hpp>
#include <takt/observe/task_statistics.hpp>
#include <takt/task/task.hpp>
#include <takt/task/task_list.hpp>

namespace takt::inline TAKT_ABI {

/// Returns a + b, or `unbounded`, which is the largest number, if the sum is greater.
constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

/// A queue of tasks in FIFO order, or by priority and then FIFO. The front is guarded by the
/// executor's lock. The back has a lock of its own, so that producers and workers do not contend:
/// a two-list queue, whose back becomes the front when the front is empty.
///
/// While the queue is open, producers append without the executor's lock. An executor opens it only
/// while some worker will look into it before it parks or leaves. A worker that finds no task
/// closes the queue; so the next producer takes the executor's lock, and wakes or starts a worker.
///
/// Thread safety: add(), add_all() and add_counts_to() from any thread; all other members under the
/// executor's lock.
class task_queue {
 public:
  /// \param keeps_capacity  Whether an empty queue keeps the memory that it has grown to.
  explicit task_queue(queue_order order = queue_order::fifo, bool keeps_capacity = true) noexcept
      : order_(order), keeps_capacity_(keeps_capacity) {}

  // --- without the executor's lock

  /// Counts and numbers a task, and appends it if the queue is open. After it has returned true,
  /// the caller must not touch the executor, which the task may destroy. \return whether the task
  /// was appended. \throws std::bad_alloc; then `t` is unchanged, and counted as submitted and
  /// rejected.
  bool add(task& t) {
    const detail::mutex_lock lock(back_mu_);
    t.set_id(++submitted_);
    if (!open_) return false;
    try {
      back_.push_back(std::move(t));
    } catch (...) {
      ++refused_;
      throw;
    }
    return true;
  }

  /// Appends tasks, from the first one on, as many as there is memory for. Tasks that are not
  /// appended are not counted. \return the number of tasks appended; 0 if the queue is closed.
  std::size_t add_all(std::span<task> tasks) noexcept {
    const detail::mutex_lock lock(back_mu_);
    if (!open_) return 0;
    std::size_t count = 0;
    try {
      for (task& t : tasks) {
        t.set_id(submitted_ + 1);
        back_.push_back(std::move(t));
        ++submitted_;
        ++count;
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): the caller handles the rest
    }
    return count;
  }

  /// Adds the counts of add() and add_all() to `totals`.
  void add_counts_to(task_totals& totals) const {
    const detail::mutex_lock lock(back_mu_);
    totals.submitted += submitted_;
    totals.rejected += refused_;
  }

  // --- under the executor's lock

  /// Opens or closes the queue. A priority queue stays closed.
  void set_open(bool open) noexcept {
    if (open == is_open_ || order_ == queue_order::priority) return;
    const detail::mutex_lock lock(back_mu_);
    open_ = is_open_ = open;
    uses_back_ = open || !back_.empty();
  }

  [[nodiscard]] bool is_open() const noexcept { return is_open_; }

  /// Returns whether there is a task to pop(). If not, closes the queue.
  [[nodiscard]] bool find() noexcept {
    if (!front_.empty()) return true;
    if (!uses_back_) {
      if (!keeps_capacity_) front_.trim();
      return false;
    }
    const detail::mutex_lock lock(back_mu_);
    front_.swap(back_);
    uses_back_ = is_open_ = open_ = open_ && !front_.empty();
    if (!front_.empty()) return true;
    if (!keeps_capacity_) {
      front_.trim();
      back_.trim();
    }
    return false;
  }

  /// Returns the task that pop() would take. Requires that find() has returned true.
  [[nodiscard]] const task& front() noexcept { return front_[0]; }

  /// Takes the next task. Requires that find() has returned true.
  void pop(task& t) noexcept {
    if (order_ == queue_order::priority) {
      std::swap(front_[0], front_.back());
      front_.pop_back(t);
      sift_down(front_, 0, front_.size());
    } else {
      front_.pop_front(t);
    }
  }

  /// Returns how many tasks pop() can take before find() must be called again.
  [[nodiscard]] std::size_t found() const noexcept { return front_.size(); }

  [[nodiscard]] std::size_t size() const noexcept {
    if (!uses_back_) return front_.size();
    const detail::mutex_lock lock(back_mu_);
    return front_.size() + back_.size();
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// Appends a task that add() has numbered. \throws std::bad_alloc; then `t` is unchanged.
  void push(task&& t) {
    if (uses_back_) {
      const detail::mutex_lock lock(back_mu_);
      back_.push_back(std::move(t));
      return;
    }
    front_.push_back(std::move(t));
    if (order_ == queue_order::priority) sift_up(front_, front_.size() - 1);
  }

  /// Takes all tasks of the front, and then, in a second call, those behind them. Requires that the
  /// queue is closed. The tasks of a priority queue are in heap order: see sort().
  [[nodiscard]] task_list take_front() noexcept { return std::move(front_); }
  [[nodiscard]] task_list take_back() noexcept {
    static_cast<void>(find());
    return std::move(front_);
  }

  /// Sorts the result of take_front() into the order of the queue: heapsort.
  static void sort(task_list& heap, queue_order order) noexcept {
    if (order == queue_order::fifo) return;
    // Moves the next task of the remaining heap behind it; so the list ends up reversed.
    for (std::size_t left = heap.size(); left > 1; --left) {
      std::swap(heap[0], heap[left - 1]);
      sift_down(heap, 0, left - 1);
    }
    for (std::size_t i = 0, j = heap.size(); i + 1 < j; ++i) std::swap(heap[i], heap[--j]);
  }

  /// Moves the tasks for which `wanted` returns true to `taken`: all, or as many as there is memory
  /// for.
  template <class Wanted>
  void take_if(Wanted wanted, task_list& taken) noexcept {
    take_if(wanted, front_, taken);
    if (order_ == queue_order::priority) {
      for (std::size_t i = front_.size() / 2; i-- > 0;) sift_down(front_, i, front_.size());
    }
    if (!uses_back_) return;
    const detail::mutex_lock lock(back_mu_);
    take_if(wanted, back_, taken);
  }

 private:
  template <class Wanted>
  static void take_if(Wanted wanted, task_list& from, task_list& taken) noexcept {
    const std::size_t before = taken.size();
    try {
      for (task& t : from) {
        if (wanted(t)) taken.push_back(std::move(t));
      }
    } catch (...) {  // out of memory: the task stays where it is
    }
    if (taken.size() != before) from.remove_empty();
  }

  static bool leaves_before(const task& a, const task& b) noexcept {
    return a.priority() != b.priority() ? a.priority() > b.priority() : a.id() < b.id();
  }

  // A binary heap: task 0 leaves next, and task i leaves before its children 2i + 1 and 2i + 2.
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
  const bool keeps_capacity_;

  // Guarded by the executor's lock.
  task_list front_;
  bool is_open_ = false;    // a copy of open_
  bool uses_back_ = false;  // the queue is open, or back_ is not empty

  alignas(cache_line) mutable detail::mutex back_mu_;
  bool open_ TAKT_GUARDED_BY(back_mu_) = false;  // written under both locks
  std::uint64_t submitted_ TAKT_GUARDED_BY(back_mu_) = 0;
  std::uint64_t refused_ TAKT_GUARDED_BY(back_mu_) = 0;
  task_list back_ TAKT_GUARDED_BY(back_mu_);
};

}  // namespace takt::inline TAKT_ABI
