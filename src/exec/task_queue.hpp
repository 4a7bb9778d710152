/// Tasks that wait for a thread.
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

/// As far as numbers go, where `unbounded` is the largest.
constexpr std::size_t saturating_sum(std::size_t a, std::size_t b) {
  return a > unbounded - b ? unbounded : a + b;
}

/// FIFO, or by priority and then FIFO. Its front belongs to who holds the executor's lock; its back
/// has a lock of its own, so that those who add do not get in the way of those who take. When the
/// front is empty, the back becomes the front.
///
/// While it is open, tasks are added without the executor's lock. An executor opens it only if some
/// thread will look here before it sleeps or leaves. Who looks and finds nothing closes it, so that
/// the next one to add takes the lock, and sees to it that somebody runs its task.
///
/// Thread safety: add() and add_counts_to() for anyone, the rest under the executor's lock.
class task_queue {
 public:
  /// \param keeps_capacity  whether the memory of many tasks is kept while there are none.
  explicit task_queue(queue_order order = queue_order::fifo, bool keeps_capacity = true) noexcept
      : order_(order), keeps_capacity_(keeps_capacity) {}

  // --- without the executor's lock

  /// Counts and numbers a task; and if the queue is open, adds it, and returns true. Then nothing
  /// of the executor may be touched any more: the task may destroy it. If it throws, `t` is as it
  /// was, and counted, also as refused.
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

  /// The same for several, as many as there is memory for; those that are not added are not
  /// counted.
  /// \return how many it has added: none if it is closed.
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
    } catch (...) {  // NOLINT(bugprone-empty-catch): the caller goes on with the rest
    }
    return count;
  }

  /// Adds what add() has counted.
  void add_counts_to(task_totals& totals) const {
    const detail::mutex_lock lock(back_mu_);
    totals.submitted += submitted_;
    totals.rejected += refused_;
  }

  // --- under the executor's lock

  /// A queue by priority stays closed.
  void set_open(bool open) noexcept {
    if (open == is_open_ || order_ == queue_order::priority) return;
    const detail::mutex_lock lock(back_mu_);
    open_ = is_open_ = open;
    uses_back_ = open || !back_.empty();
  }

  [[nodiscard]] bool is_open() const noexcept { return is_open_; }

  /// Whether there is a task to pop(). If not, the queue is closed.
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

  /// What pop() would take, after find() has found one.
  [[nodiscard]] const task& front() noexcept { return front_[0]; }

  /// The next one, after find() has found one.
  void pop(task& t) noexcept {
    if (order_ == queue_order::priority) {
      std::swap(front_[0], front_.back());
      front_.pop_back(t);
      sift_down(front_, 0, front_.size());
    } else {
      front_.pop_front(t);
    }
  }

  /// How many pop() can take before find() is needed again.
  [[nodiscard]] std::size_t found() const noexcept { return front_.size(); }

  [[nodiscard]] std::size_t size() const noexcept {
    if (!uses_back_) return front_.size();
    const detail::mutex_lock lock(back_mu_);
    return front_.size() + back_.size();
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  /// Adds a task that add() has numbered. If it throws, `t` is as it was.
  void push(task&& t) {
    if (uses_back_) {
      const detail::mutex_lock lock(back_mu_);
      back_.push_back(std::move(t));
      return;
    }
    front_.push_back(std::move(t));
    if (order_ == queue_order::priority) sift_up(front_, front_.size() - 1);
  }

  /// All that is in front, and then what comes after it; the queue is closed. In no particular
  /// order, if by priority: see sort().
  [[nodiscard]] task_list take_front() noexcept { return std::move(front_); }
  [[nodiscard]] task_list take_back() noexcept {
    static_cast<void>(find());
    return std::move(front_);
  }

  /// Puts what take_front() gave into the order of the queue.
  static void sort(task_list& heap, queue_order order) noexcept {
    if (order == queue_order::fifo) return;
    // The next one to the end, of those that are left; so the last one ends up in front.
    for (std::size_t left = heap.size(); left > 1; --left) {
      std::swap(heap[0], heap[left - 1]);
      sift_down(heap, 0, left - 1);
    }
    for (std::size_t i = 0, j = heap.size(); i + 1 < j; ++i) std::swap(heap[i], heap[--j]);
  }

  /// Takes out those for which `wanted` holds, and adds them to `taken`: all, or as many as there
  /// is memory for.
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
    } catch (...) {  // the task is where it was
    }
    if (taken.size() != before) from.remove_empty();
  }

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
  const bool keeps_capacity_;

  // Of who holds the executor's lock.
  task_list front_;
  bool is_open_ = false;    // the same as open_
  bool uses_back_ = false;  // it is open, or back_ is not empty

  alignas(cache_line) mutable detail::mutex back_mu_;
  bool open_ TAKT_GUARDED_BY(back_mu_) = false;  // written under both locks
  std::uint64_t submitted_ TAKT_GUARDED_BY(back_mu_) = 0;
  std::uint64_t refused_ TAKT_GUARDED_BY(back_mu_) = 0;
  task_list back_ TAKT_GUARDED_BY(back_mu_);
};

}  // namespace takt::inline TAKT_ABI
