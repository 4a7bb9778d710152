/// \file
/// A group of subscriptions.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// A group of subscriptions whose children can be removed again.
///
/// \code
/// takt::rx::composite_subscription all;
/// all.add(worker.schedule(1s, tick));
/// all.add([] { tidy_up(); });
///
/// all.remove(one);      // removes a child and unsubscribes it
/// all.release(other);   // removes a child and leaves it open
/// all.clear();          // unsubscribes all children; the group stays open
/// all.unsubscribe();    // unsubscribes all children and closes the group
/// \endcode
///
/// **Order.** Children are unsubscribed in the order of add(). The group has each child at most
/// once. A child that closes on its own leaves the group.
///
/// **Errors**, **destruction** and **thread safety**: as for subscription. Copies name the same
/// group.
///
/// **Cost.** Removing a child takes constant time. Adding a child to its first parent does not
/// allocate.
class composite_subscription : public subscription {
 public:
  /// Creates an open group without children. \throws std::bad_alloc.
  composite_subscription() : subscription(subscription::empty()) {}
  /// Creates an open group with these children. \throws std::bad_alloc.
  composite_subscription(std::initializer_list<subscription> children);

  /// Removes a child and unsubscribes it. \return true if it was a child.
  /// \throws what unsubscribing the child throws.
  bool remove(const subscription& child) const;
  /// Removes a child and leaves it open. \return true if it was a child.
  bool release(const subscription& child) const noexcept;
  /// Unsubscribes and removes the children that the group has now; children added meanwhile stay.
  /// \throws what unsubscribing them throws, after all of them have been unsubscribed.
  void clear() const;
  /// Returns the number of children.
  [[nodiscard]] std::size_t size() const noexcept;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
