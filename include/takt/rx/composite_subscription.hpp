/// \file
/// Many subscriptions as one.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <takt/base/config.hpp>
#include <takt/rx/subscription.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// Many subscriptions as one, that can also be taken out again.
///
/// \code
/// takt::rx::composite_subscription all;
/// all.add(worker.schedule(1s, tick));
/// all.add([] { tidy_up(); });
///
/// all.remove(one);      // takes it out and unsubscribes it
/// all.release(other);   // takes it out
/// all.clear();          // unsubscribes all, and takes new ones
/// all.unsubscribe();    // unsubscribes all, for ever
/// \endcode
///
/// Children are unsubscribed in the order in which they were added; each is there once. A child
/// that closes by itself is no longer there. Taking one out costs the same however many there are,
/// and adding one to its first parent does not allocate.
///
/// Copies name the same one: it is a handle like every subscription, and what is said there of
/// errors, threads and destruction is true of it.
class composite_subscription : public subscription {
 public:
  /// Open, without children.
  composite_subscription() : subscription(subscription::empty()) {}
  /// Adds them all.
  composite_subscription(std::initializer_list<subscription> children);

  /// Takes a child out, and unsubscribes it. \return whether it was there.
  /// \throws what unsubscribing throws.
  bool remove(const subscription& child) const;
  /// Takes a child out. \return whether it was there.
  bool release(const subscription& child) const noexcept;
  /// Unsubscribes all children that are there; those that are added meanwhile stay.
  /// \throws what unsubscribing throws, when all have been called.
  void clear() const;
  /// How many children there are.
  [[nodiscard]] std::size_t size() const noexcept;
};

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
