/// \file
/// A doubly linked list whose links live in the elements.
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The links of an element of an intrusive_list, as a public base class. An element that is in
/// several lists at once derives from several nodes, distinguished by their Tag (any type, possibly
/// incomplete; void by default). Nodes can be neither copied nor moved.
///
/// **Thread safety**: as for the list that the element is in. **Destruction**: not linked (checked
/// with TAKT_ASSERT).
template <class Tag = void>
class list_node {
 public:
  list_node() = default;
  ~list_node() { TAKT_ASSERT(!is_linked()); }
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;

  /// True if the element is in a list.
  [[nodiscard]] bool is_linked() const noexcept { return next_ != nullptr; }

 private:
  template <class T, class U>
  friend class intrusive_list;

  list_node* prev_ = nullptr;
  list_node* next_ = nullptr;
};

/// A doubly linked list that neither owns nor copies its elements. Nothing allocates or throws, and
/// an element can be erased in O(1) without searching.
///
/// \code
/// struct waiter : takt::detail::list_node<> {
///   takt::parker wake;
/// };
/// takt::detail::intrusive_list<waiter> waiters;
///
/// waiter w;
/// waiters.push_back(w);
/// ...
/// while (waiter* next = waiters.pop_front()) next->wake.unpark();
/// \endcode
///
/// There is no size(). Iterators and references stay valid until their own element is erased; after
/// a splice they belong to the receiving list.
///
/// **Thread safety**: none. One lock guards the list and all of its elements, or one thread owns
/// them: linking or erasing an element writes to its neighbours.
///
/// **Destruction**: the list is empty (checked with TAKT_ASSERT). Erase an element before you
/// destroy it: its destructor does not unlink it.
template <class T, class Tag = void>
class intrusive_list {
  using node = list_node<Tag>;

  template <class Value>
  class basic_iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    basic_iterator() = default;

    operator basic_iterator<const T>() const noexcept  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<Value>)
    {
      return basic_iterator<const T>(at_);
    }

    reference operator*() const noexcept { return static_cast<Value&>(*at_); }
    pointer operator->() const noexcept { return &**this; }

    basic_iterator& operator++() noexcept {
      at_ = at_->next_;
      return *this;
    }
    basic_iterator operator++(int) noexcept {
      basic_iterator before = *this;
      ++*this;
      return before;
    }
    basic_iterator& operator--() noexcept {
      at_ = at_->prev_;
      return *this;
    }
    basic_iterator operator--(int) noexcept {
      basic_iterator before = *this;
      --*this;
      return before;
    }

    friend bool operator==(const basic_iterator&, const basic_iterator&) = default;

   private:
    friend class intrusive_list;
    using node_pointer = std::conditional_t<std::is_const_v<Value>, const node*, node*>;

    explicit basic_iterator(node_pointer at) noexcept : at_(at) {}

    node_pointer at_ = nullptr;
  };

 public:
  using value_type = T;
  using iterator = basic_iterator<T>;
  using const_iterator = basic_iterator<const T>;

  intrusive_list() noexcept { reset(); }

  /// Moves all elements of `other`, which is empty afterwards.
  intrusive_list(intrusive_list&& other) noexcept {
    reset();
    splice(end(), other);
  }

  // Deleted: the list does not own its old elements, so it could not dispose of them. Use splice().
  intrusive_list& operator=(intrusive_list&&) = delete;

  ~intrusive_list() {
    TAKT_ASSERT(empty());
    head_.prev_ = head_.next_ = nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }

  /// Requires a list that is not empty, as does back().
  [[nodiscard]] T& front() noexcept {
    TAKT_ASSERT(!empty());
    return *begin();
  }
  [[nodiscard]] const T& front() const noexcept {
    TAKT_ASSERT(!empty());
    return *begin();
  }
  [[nodiscard]] T& back() noexcept {
    TAKT_ASSERT(!empty());
    return *--end();
  }
  [[nodiscard]] const T& back() const noexcept {
    TAKT_ASSERT(!empty());
    return *--end();
  }

  [[nodiscard]] iterator begin() noexcept { return iterator(head_.next_); }
  [[nodiscard]] iterator end() noexcept { return iterator(&head_); }
  [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(head_.next_); }
  [[nodiscard]] const_iterator end() const noexcept { return const_iterator(&head_); }

  /// Returns the iterator to an element, which is linked.
  [[nodiscard]] static iterator iterator_to(T& element) noexcept {
    TAKT_ASSERT(as_node(element).is_linked());
    return iterator(&as_node(element));
  }

  /// Links an element, which is in no list, before `position`. \return the iterator to the element.
  iterator insert(iterator position, T& element) noexcept {
    node& added = as_node(element);
    TAKT_ASSERT(!added.is_linked());
    join(*position.at_->prev_, added);
    join(added, *position.at_);
    return iterator(&added);
  }

  void push_front(T& element) noexcept { insert(begin(), element); }
  void push_back(T& element) noexcept { insert(end(), element); }

  /// Unlinks the first element. \return the element, or nullptr if the list is empty.
  [[nodiscard]] T* pop_front() noexcept {
    if (empty()) return nullptr;
    T& first = front();
    erase(first);
    return &first;
  }

  /// Unlinks an element of this list. \return the iterator to the next element.
  iterator erase(T& element) noexcept {
    node& removed = as_node(element);
    TAKT_ASSERT(removed.is_linked());
    const iterator following(removed.next_);
    join(*removed.prev_, *removed.next_);
    removed.prev_ = removed.next_ = nullptr;
    return following;
  }

  /// Moves all elements of `other`, another list, before `position`, in their order and in O(1).
  void splice(iterator position, intrusive_list& other) noexcept {
    TAKT_ASSERT(this != &other);
    if (other.empty()) return;
    node& first = *other.head_.next_;
    node& last = *other.head_.prev_;
    other.reset();
    join(*position.at_->prev_, first);
    join(last, *position.at_);
  }

  /// Walks the whole list, for tests and fuzzers.
  /// \return true if the previous node of each node's successor is that node.
  [[nodiscard]] bool check_invariants() const noexcept {
    const node* at = &head_;
    do {
      if (at->next_ == nullptr || at->next_->prev_ != at) return false;
      at = at->next_;
    } while (at != &head_);
    return true;
  }

 private:
  // Asserts in a function, so that T may be incomplete where the list is declared.
  static node& as_node(T& element) noexcept {
    static_assert(std::is_base_of_v<node, T>, "elements derive publicly from list_node<Tag>");
    return element;
  }

  static void join(node& before, node& after) noexcept {
    before.next_ = &after;
    after.prev_ = &before;
  }

  void reset() noexcept { join(head_, head_); }

  // The sentinel of the circular list: its neighbours are the last and the first element, or head_.
  node head_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
