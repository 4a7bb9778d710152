/// \file
/// A queue with many producers and one consumer, whose links live in the elements.
#pragma once

#include <type_traits>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The link of an element of an mpsc_queue, as a public base class. An element is in one queue at
/// a time. Nodes are neither copied nor moved.
///
/// Thread safety: while it is in a queue, the queue's; before and after, the owner's. Destruction:
/// not in a queue.
class mpsc_node {
 public:
  mpsc_node() = default;
  mpsc_node(const mpsc_node&) = delete;
  mpsc_node& operator=(const mpsc_node&) = delete;

 private:
  template <class T>
  friend class mpsc_queue;

  sync::atomic<mpsc_node*> next_{nullptr};
};

/// A first-in first-out queue into which any thread pushes, and out of which one thread pops.
/// Dmitry Vyukov's intrusive MPSC queue: a push is one exchange and one store whatever other
/// threads do (wait-free), a pop usually a load; nothing allocates or throws. The queue does not
/// own its elements.
///
/// \code
/// struct message : takt::detail::mpsc_node { ... };
/// takt::detail::mpsc_queue<message> inbox;
///
/// inbox.push(*new message{...});                            // any thread
/// while (message* m = inbox.pop()) { handle(*m); delete m; }  // one thread
/// \endcode
///
/// **A push under way.** A push first takes its place in the order (the exchange) and then links
/// itself to its predecessor (the store). While a producer is between the two, pop() cannot see
/// past that gap: it returns nullptr although the queue is not empty, and although other pushes,
/// later in the order, may have returned already. When the producer returns from its push the gap
/// is closed. So every producer wakes the consumer *after* each of its pushes, not only after the
/// first into an empty queue. For this reason push() does not say whether the queue was empty:
/// a consumer may have looked, found the gap and gone to sleep on a queue that was not.
///
/// **Order.** Elements come out in the order of the exchanges: in program order for one producer,
/// and if one push returned before another began, in that order.
///
/// **Memory ordering.** push(e) happens before the return of the pop() that gives e. push() and
/// empty() have a place in the order of all seq_cst operations, hence a consumer that announces
/// its sleep (seq_cst store) and then sees empty(), and a producer that pushes and then looks for
/// such an announcement (seq_cst load), cannot both miss the other.
///
/// **After pop().** The element is the caller's: it may be destroyed, or pushed again into any
/// queue, at once. Its producer may not have returned from push(), but no longer touches it.
///
/// **Thread safety**: push() from any thread; pop() and empty() from one thread at a time, with a
/// happens-before from each to the next.
///
/// **Destruction**: by the consumer, and the queue is empty (checked with TAKT_ASSERT). As soon as
/// pop() has given all elements that were ever pushed, the queue may be destroyed, even if some
/// push() has not yet returned: it no longer touches the queue.
///
/// Invariants, where the *chain* is what is reached from first_ by the links:
/// 1. last_ is the node of the latest exchange; its link is null, or is about to be set by the
///    push that has just replaced it.
/// 2. Each node is the predecessor of at most one push since it was pushed itself, and storing its
///    link is the last thing which that push does to the node or the queue.
/// 3. The consumer gives an element away only when it has seen its link. With 2, nobody else
///    writes to the element after that, nor to the stub when the consumer is past it.
/// 4. The stub is pushed by the consumer, and only when it is past it: it is never in twice.
/// 5. The queue is empty exactly if first_ and last_ both are the stub.
template <class T>
class mpsc_queue {
 public:
  mpsc_queue() = default;
  ~mpsc_queue() { TAKT_ASSERT(empty()); }
  mpsc_queue(const mpsc_queue&) = delete;
  mpsc_queue& operator=(const mpsc_queue&) = delete;

  /// Adds an element, which is in no queue, at the end.
  void push(T& element) noexcept {
    static_assert(std::is_base_of_v<mpsc_node, T>, "elements derive publicly from mpsc_node");
    push_node(element);
  }

  /// Takes the first element out.
  /// \return nullptr if the queue is empty, or if a push under way hides what is left (see above).
  [[nodiscard]] T* pop() noexcept {
    mpsc_node* first = first_;
    mpsc_node* next = link_of(*first);
    if (first == &stub_) {
      if (next == nullptr) return nullptr;
      first_ = first = next;
      next = link_of(*first);
    }
    if (next == nullptr) {
      // Only with a successor can the element be given away (3). If it is the last one, the stub
      // becomes its successor; if not, its successor is about to be linked.
      if (first != last_.load()) return nullptr;
      push_node(stub_);
      next = link_of(*first);
      if (next == nullptr) return nullptr;  // a push came in before the stub
    }
    first_ = next;
    return static_cast<T*>(first);
  }

  /// Whether there is nothing in the queue. Exact, also with respect to pushes under way: these
  /// count from their exchange on.
  [[nodiscard]] bool empty() const noexcept { return first_ == &stub_ && last_.load() == &stub_; }

 private:
  static mpsc_node* link_of(const mpsc_node& node) noexcept {
    // acquire: the successor is complete when its link is seen, and its predecessor untouched
    return node.next_.load(std::memory_order_acquire);
  }

  void push_node(mpsc_node& node) noexcept {
    // relaxed: the exchange publishes it, to the only thread that will write to it
    node.next_.store(nullptr, std::memory_order_relaxed);
    mpsc_node* const before = last_.exchange(&node);
    // release: the element, to the consumer
    before->next_.store(&node, std::memory_order_release);
  }

  // Never given away; fills the queue when there is nothing else.
  mpsc_node stub_;

  // Written by every push. seq_cst: see Memory ordering.
  sync::atomic<mpsc_node*> last_{&stub_};

  // The consumer's.
  mpsc_node* first_ = &stub_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
