/// \file
/// What the handles of a subscription share. For the rx module; others use takt::rx::subscription.
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

/// That one core is a child of another. In the lists of both: that of the parent is guarded by the
/// parent's lock, that of the child by the child's. See subscription_core.cpp.
struct subscription_link : list_node<struct link_of_parent>, list_node<struct link_of_child> {
  subscription_core* parent = nullptr;  // retained while it is on the child's side
  subscription_core* child = nullptr;   // owned while it is on the parent's side
  std::uint64_t number = 0;             // guarded by the parent's lock: of those that were added
  bool detached = false;                // guarded by the parent's lock: the child has closed
  bool on_heap = false;                 // constant
  sync::atomic<int> sides{2};           // of one on the heap; the last side deletes it
};

/// The children and the parents of a core: part of it, or made when there is the first one.
struct subscription_links {
  subscription_links() = default;
  ~subscription_links() {
    if (index != nullptr) delete_index();
  }
  subscription_links(const subscription_links&) = delete;
  subscription_links& operator=(const subscription_links&) = delete;

  /// The link to a parent; null if there is none.
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
  parent_index* index TAKT_GUARDED_BY(mu) = nullptr;  // of `parents`, when there are many
  bool first_used TAKT_GUARDED_BY(mu) = false;

  subscription_link first;  // to the first parent: most cores have only one

 private:
  void delete_index() noexcept;
};

/// A subscription: open, or closed for ever. It has children, which it closes when it is closed, in
/// the order in which they were added; and parents, of which it takes leave then.
///
/// It is owned by handles and by its parents. When its last owner goes, it lets go of its children;
/// they are not closed by that. Children refer to their parents without owning them.
///
/// **Thread safety**: all members, from any thread that owns it. No lock is held while something of
/// others is called, nor are two at a time.
class subscription_core : public ref_counted<subscription_core> {
 public:
  subscription_core(const subscription_core&) = delete;
  subscription_core& operator=(const subscription_core&) = delete;

  /// One more owner. Who makes one with `new` is the first. All owners together have one reference.
  void own(std::size_t times = 1) noexcept {
    if (owners_.fetch_add(times, std::memory_order_relaxed) == 0) retain();  // relaxed: it is there
  }
  void disown(std::size_t times = 1) noexcept {
    // acq_rel: what the others did happens before the last lets go of the children
    if (owners_.fetch_sub(times, std::memory_order_acq_rel) == times) end_ownership();
  }
  /// As own(), by who is the only one to know it.
  void own_unshared(std::size_t times) noexcept {
    // relaxed: it is published later
    owners_.store(owners_.load(std::memory_order_relaxed) + times, std::memory_order_relaxed);
  }

  /// Closes it, unless that has been done: takes leave of its parents, calls on_unsubscribe(), and
  /// closes its children. \throws what these throw, when all have been called.
  void unsubscribe();
  /// The same, but errors go to the hook.
  void unsubscribe(const unhandled_hook& hook) noexcept;
  /// The same by one who owns it until this returns, whatever is called.
  void close(const unhandled_hook& hook) noexcept;
  [[nodiscard]] bool is_unsubscribed() const noexcept {
    return (word_.load(std::memory_order_acquire) & closed) != 0;  // acquire: what led to it
  }

  /// What it was to do has been refused.
  void mark_rejected() noexcept;
  [[nodiscard]] bool is_rejected() const noexcept {
    return (word_.load(std::memory_order_acquire) & refused) != 0;  // acquire: what led to it
  }

  /// Adds a child, unless that is closed, is there already, or is this one. If this one is closed,
  /// closes the child. \throws std::bad_alloc; what closing the child throws.
  void add(subscription_core& child);
  /// Takes a child out, and does not close it. \return whether it was there.
  bool take_out(subscription_core& child) noexcept;
  /// Closes all children that are there now. \throws as unsubscribe().
  void clear();
  [[nodiscard]] std::size_t size() const noexcept;

 protected:
  subscription_core() = default;
  /// With a family that is part of what derives from it.
  explicit subscription_core(subscription_links& inside) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&inside) | embedded) {}
  virtual ~subscription_core();

  /// Called once, without a lock, when this core closes.
  virtual void on_unsubscribe() {}
  /// A core that this one owns besides its children: the caller takes over the ownership. It closes
  /// after on_unsubscribe() and before the children. The link is part of this core; only `child` is
  /// set. Only called for a core with a family.
  virtual subscription_link* take_inner() noexcept { return nullptr; }

 private:
  friend class ref_counted<subscription_core>;

  static constexpr std::uintptr_t closed = 1;
  static constexpr std::uintptr_t refused = 2;
  static constexpr std::uintptr_t embedded = 4;
  static_assert(alignof(subscription_links) > (closed | refused | embedded));

  [[nodiscard]] static subscription_links* family_in(std::uintptr_t word) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where it is, the flags are 0
    return reinterpret_cast<subscription_links*>(word & ~(closed | refused | embedded));
  }
  [[nodiscard]] subscription_links* family() const noexcept {
    return family_in(word_.load(std::memory_order_acquire));  // acquire: it has been made
  }
  using links = intrusive_list<subscription_link, link_of_child>;
  [[nodiscard]] subscription_links* make_family();
  // What begin_close() has found.
  enum class found : std::uint8_t { closed_before, no_children, children };
  [[nodiscard]] found begin_close() noexcept;
  void close();
  void close_tree(std::uint64_t until, subscription_link* inner, error_collector& errors) noexcept;
  [[nodiscard]] subscription_link* inner_link() noexcept {
    return family() == nullptr ? nullptr : take_inner();
  }
  void end_ownership() noexcept;
  void detach_children(links& to) noexcept;
  // As disown(), but leaves end_ownership() to the caller. \return whether that is due.
  [[nodiscard]] bool disown_only() noexcept {
    return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1;  // acq_rel: as in disown()
  }
  [[nodiscard]] subscription_link* pop_child(std::uint64_t until) noexcept;
  [[nodiscard]] static bool detach_from_child(subscription_link& link) noexcept;
  static subscription_core& leave_child(subscription_link& link) noexcept;
  static void leave_parent(subscription_link& link) noexcept;
  static void drop(subscription_link& link, int sides) noexcept;

  // Atomic. Handles, and parents that have it as a child.
  sync::atomic<std::size_t> owners_{1};
  // Atomic. Its family, or 0, and the flags. See subscription_core.cpp.
  sync::atomic<std::uintptr_t> word_{0};
};

/// One that is made to be added to others, or to have others added.
class linked_core : public subscription_core {
 protected:
  linked_core() noexcept : subscription_core(inside_) {}

 private:
  subscription_links inside_;
};

/// One that calls something when it is closed, and then destroys that.
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

  std::optional<F> call_;  // belongs to who closes it
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
