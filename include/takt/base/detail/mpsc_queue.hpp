/// \file
/// Vyukov's intrusive queue with many producers and one consumer.
#pragma once

#include <type_traits>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The link of an element of an mpsc_queue, as a public base class. An element is in one queue at
/// a time. Nodes can be neither copied nor moved.
///
/// **Thread safety**: the queue's while the node is in it, otherwise the owner's. **Destruction**:
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

/// Dmitry Vyukov's intrusive MPSC queue: first in, first out; any thread pushes, one thread pops.
/// A push is wait-free, one exchange and one store; a pop is usually one load. Nothing allocates or
/// throws. The queue does not own its elements.
///
/// \code
/// struct message : takt::detail::mpsc_node { ... };
/// takt::detail::mpsc_queue<message> inbox;
///
/// inbox.push(*new message{...});                            // any thread
/// while (message* m = inbox.pop()) { handle(*m); delete m; }  // one thread
/// \endcode
///
/// **Wake the consumer after every push**, not only after a push into an empty queue. A push first
/// takes its position (the exchange) and then links itself to its predecessor (the store). While a
/// producer is between the two, pop() cannot see past the gap: it returns nullptr although the
/// queue is not empty, and although later pushes may have returned. For this reason push() does not
/// report whether the queue was empty: the consumer may have found the gap and gone to sleep.
///
/// **Order.** The order of the exchanges: program order for one producer; for two pushes of which
/// one returned before the other began, that order.
///
/// **Memory ordering.** push(e) happens before the return of the pop() that returns e. push() and
/// empty() take part in the total order of seq_cst operations. So a consumer that announces its
/// sleep (seq_cst store) and then calls empty(), and a producer that pushes and then reads the
/// announcement (seq_cst load), cannot both miss the other.
///
/// **After pop()** the caller owns the element. It may destroy it, or push it into any queue, at
/// once: a producer that has not returned from push() no longer accesses the element.
///
/// **Thread safety**: push() from any thread; pop() and empty() from one thread at a time, each
/// call happening before the next.
///
/// **Destruction**: by the consumer, when the queue is empty (checked with TAKT_ASSERT). As soon as
/// pop() has returned all pushed elements the queue may be destroyed, even if a push() has not yet
/// returned: it no longer accesses the queue.
///
/// Invariants. The *chain* is the sequence of nodes reachable from first_ by links.
/// 1. last_ is the node of the latest exchange. Its link is null, or about to be set by the push
///    that has just replaced it.
/// 2. Since a node was pushed, at most one push has had it as its predecessor. Storing the
///    predecessor's link is the last access of a push to a node or to the queue.
/// 3. The consumer hands out an element only after it has seen a link in it. By 2, no other thread
///    writes to the element after that, nor to the stub once first_ is past it.
/// 4. The consumer pushes the stub, and only when first_ is past it: the stub is in the chain at
///    most once.
/// 5. The queue is empty if and only if first_ and last_ are both the stub.
template <class T>
class mpsc_queue {
 public:
  mpsc_queue() = default;
  ~mpsc_queue() { TAKT_ASSERT(empty()); }
  mpsc_queue(const mpsc_queue&) = delete;
  mpsc_queue& operator=(const mpsc_queue&) = delete;

  /// Appends an element, which is in no queue.
  void push(T& element) noexcept {
    static_assert(std::is_base_of_v<mpsc_node, T>, "elements derive publicly from mpsc_node");
    push_node(element);
  }

  /// Removes the first element.
  /// \return the element; nullptr if the queue is empty, or if a push in progress hides the rest.
  [[nodiscard]] T* pop() noexcept {
    mpsc_node* first = first_;
    mpsc_node* next = link_of(*first);
    if (first == &stub_) {
      if (next == nullptr) return nullptr;
      first_ = first = next;
      next = link_of(*first);
    }
    if (next == nullptr) {
      // An element is handed out only with a successor (invariant 3). The last one gets the stub as
      // its successor; any other is about to be linked.
      if (first != last_.load()) return nullptr;
      push_node(stub_);
      next = link_of(*first);
      if (next == nullptr) return nullptr;  // another push precedes the stub
    }
    first_ = next;
    return static_cast<T*>(first);
  }

  /// Returns whether the queue is empty. Exact, also with pushes in progress: a push counts from
  /// its exchange on.
  [[nodiscard]] bool empty() const noexcept { return first_ == &stub_ && last_.load() == &stub_; }

 private:
  static mpsc_node* link_of(const mpsc_node& node) noexcept {
    // acquire: makes the successor visible with its link, after the last access to `node`
    return node.next_.load(std::memory_order_acquire);
  }

  void push_node(mpsc_node& node) noexcept {
    // relaxed: the exchange publishes it to the one push that will write to it
    node.next_.store(nullptr, std::memory_order_relaxed);
    mpsc_node* const before = last_.exchange(&node);
    // release: publishes the element to the consumer
    before->next_.store(&node, std::memory_order_release);
  }

  // Never handed out; the only node of an empty queue.
  mpsc_node stub_;

  // Written by every push. seq_cst: see Memory ordering above.
  sync::atomic<mpsc_node*> last_{&stub_};

  // Accessed by the consumer only.
  mpsc_node* first_ = &stub_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
