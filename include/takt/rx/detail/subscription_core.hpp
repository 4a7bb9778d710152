/// \file
/// The state that the handles of a subscription share. For the rx module; programs use
/// takt::rx::subscription.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_list.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/task/future.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

class error_collector;
class subscription_core;

/// Links a child core to one of its parents. It is in two lists: the parent's list of children,
/// guarded by the parent's lock, and the child's list of parents, guarded by the child's lock. See
/// subscription_core.cpp.
struct subscription_link : list_node<struct link_of_parent>, list_node<struct link_of_child> {
  subscription_core* parent = nullptr;  // retained while it is on the child's side
  subscription_core* child = nullptr;   // owned while it is on the parent's side
  std::uint64_t number = 0;    // guarded by the parent's lock: position in the order of add()
  bool detached = false;       // guarded by the parent's lock: the child has closed
  bool on_heap = false;        // constant
  sync::atomic<int> sides{2};  // of a link on the heap; the last side deletes it
};

/// The children and the parents of a core. Either part of the core, or allocated when the core gets
/// its first child or parent.
struct subscription_links {
  subscription_links() = default;
  ~subscription_links() {
    if (index != nullptr) delete_index();
  }
  subscription_links(const subscription_links&) = delete;
  subscription_links& operator=(const subscription_links&) = delete;

  /// Returns the link to a parent; null if there is none.
  [[nodiscard]] subscription_link* link_to(const subscription_core& parent) const noexcept
      TAKT_REQUIRES(mu);
  void add_parent(subscription_link& link) TAKT_REQUIRES(mu);
  void remove_parent(subscription_link& link) noexcept TAKT_REQUIRES(mu);

  mutex mu;
  // Guarded by mu.
  intrusive_list<subscription_link, link_of_parent> children TAKT_GUARDED_BY(mu);
  std::size_t size TAKT_GUARDED_BY(mu) = 0;
  std::uint64_t added TAKT_GUARDED_BY(mu) = 0;
  intrusive_list<subscription_link, link_of_child> parents TAKT_GUARDED_BY(mu);
  std::size_t parent_count TAKT_GUARDED_BY(mu) = 0;
  struct parent_index;
  parent_index* index TAKT_GUARDED_BY(mu) = nullptr;  // of `parents`, once there are many
  bool first_used TAKT_GUARDED_BY(mu) = false;

  subscription_link first;  // the link to the first parent; most cores have only one

 private:
  void delete_index() noexcept;
};

/// A subscription: open, or closed permanently. When it closes, it leaves its parents and closes
/// its children in the order in which they were added.
///
/// **Ownership.** Handles and parents own a core. When the last owner releases it, the core
/// releases its children without closing them. Children refer to their parents without owning them.
///
/// **Thread safety.** An owner may call all members from any thread. No lock is held while code
/// outside the core is called, and no two locks are held at a time.
class subscription_core : public ref_counted<subscription_core> {
 public:
  subscription_core(const subscription_core&) = delete;
  subscription_core& operator=(const subscription_core&) = delete;

  /// Adds owners. The creator of a core is its first owner. All owners together hold one reference.
  void own(std::size_t times = 1) noexcept {
    if (owners_.fetch_add(times, std::memory_order_relaxed) == 0) retain();  // relaxed: it exists
  }
  void disown(std::size_t times = 1) noexcept {
    // acq_rel: what the other owners did happens before the last one releases the children
    if (owners_.fetch_sub(times, std::memory_order_acq_rel) == times) end_ownership();
  }
  /// As own(), while no other thread can reach the core.
  void own_unshared(std::size_t times) noexcept {
    // relaxed: it is published later
    owners_.store(owners_.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
  }

  /// Closes the core, unless it is closed: leaves its parents, calls on_unsubscribe(), and closes
  /// its children. \throws what these calls throw, after all of them have been made.
  void unsubscribe();
  /// As unsubscribe(), but errors go to the hook.
  void unsubscribe(const unhandled_hook& hook) noexcept;
  /// As unsubscribe(hook), for a caller that owns the core until this returns.
  void close(const unhandled_hook& hook) noexcept;
  [[nodiscard]] bool is_unsubscribed() const noexcept {
    return (word_.load(std::memory_order_acquire) & closed) != 0;  // acquire: what was done before
  }

  /// Records that the task was rejected.
  void mark_rejected() noexcept;
  [[nodiscard]] bool is_rejected() const noexcept {
    return (word_.load(std::memory_order_acquire) & refused) != 0;  // acquire: what was done before
  }

  /// Adds a child, unless it is closed, was added already, or is this core. If this core is closed,
  /// closes the child. \throws std::bad_alloc; what closing the child throws.
  void add(subscription_core& child);
  /// Removes a child without closing it. \return true if it was a child.
  bool take_out(subscription_core& child) noexcept;
  /// Closes the children that the core has now. \throws as unsubscribe().
  void clear();
  [[nodiscard]] std::size_t size() const noexcept;

 protected:
  subscription_core() = default;
  /// With links that are part of the derived class.
  explicit subscription_core(subscription_links& inside) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&inside) | embedded) {}
  virtual ~subscription_core();

  /// Called once, with no lock held, when this core closes.
  virtual void on_unsubscribe() {}
  /// Returns a core that this one owns besides its children, and transfers that ownership to the
  /// caller. It closes after on_unsubscribe() and before the children. The link is part of this
  /// core; only its `child` is set. Called only for a core that has links.
  virtual subscription_link* take_inner() noexcept { return nullptr; }

 private:
  friend class ref_counted<subscription_core>;

  static constexpr std::uintptr_t closed = 1;
  static constexpr std::uintptr_t refused = 2;
  static constexpr std::uintptr_t embedded = 4;
  static_assert(alignof(subscription_links) > (closed | refused | embedded));

  [[nodiscard]] static subscription_links* links_in(std::uintptr_t word) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the flags use bits that are 0 in the address
    return reinterpret_cast<subscription_links*>(word & ~(closed | refused | embedded));
  }
  [[nodiscard]] subscription_links* own_links() const noexcept {
    return links_in(word_.load(std::memory_order_acquire));  // acquire: its construction
  }
  using links = intrusive_list<subscription_link, link_of_child>;
  [[nodiscard]] subscription_links* make_links();
  // The result of begin_close().
  enum class found : std::uint8_t { closed_before, no_children, children };
  [[nodiscard]] found begin_close() noexcept;
  void close();
  void close_tree(std::uint64_t until, subscription_link* inner, error_collector& errors) noexcept;
  [[nodiscard]] subscription_link* inner_link() noexcept {
    return own_links() == nullptr ? nullptr : take_inner();
  }
  void end_ownership() noexcept;
  void detach_children(links& to) noexcept;
  // As disown(), but the caller calls end_ownership() if this returns true.
  [[nodiscard]] bool disown_only() noexcept {
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // acq_rel: as in disown()
  }
  [[nodiscard]] subscription_link* pop_child(std::uint64_t until) noexcept;
  [[nodiscard]] static bool detach_from_child(subscription_link& link) noexcept;
  static subscription_core& leave_child(subscription_link& link) noexcept;
  static void leave_parent(subscription_link& link) noexcept;
  static void drop(subscription_link& link, int sides) noexcept;

  // Atomic. Number of owners: handles, and parents that have this core as a child.
  sync::atomic<std::size_t> owners_{1};
  // Atomic. The address of the links, or 0, and the flags. See subscription_core.cpp.
  sync::atomic<std::uintptr_t> word_{0};
};

/// A core that contains its links, because it is made to have parents or children.
class linked_core : public subscription_core {
 protected:
  linked_core() noexcept : subscription_core(inside_) {}

 private:
  subscription_links inside_;
};

/// A core that calls a callback when it closes, and then destroys the callback.
template <class F>
class callback_core final : public linked_core {
 public:
  template <class G>
  callback_core(std::in_place_t made_of, G&& f) : call_(made_of, std::forward<G>(f)) {}

 private:
  void on_unsubscribe() override {
    struct dropped_after {
      std::optional<F>& spent;
      ~dropped_after() { spent.reset(); }
    } const guard{call_};
    static_cast<void>(std::invoke(static_cast<one_shot<F>>(*call_)));
  }

  std::optional<F> call_;  // used by the closing thread only
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
