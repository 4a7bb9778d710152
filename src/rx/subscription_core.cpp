// A link makes one core a child of another. It has two sides:
//
//   the parent's   it is in `children` of the parent, which then owns the child
//   the child's    it is in `parents` of the child, which then holds a reference to the parent
//
// add() links the child's side first, and then the parent's. Each side is unlinked separately,
// under its own lock, never under both:
//
//   the child closes      it empties `parents`, and removes each link from `children` of its parent
//                         if it is there; `detached` informs an add() in progress
//   the parent closes, is cleared or loses its last owner
//                         it removes the links from `children` one by one, and each from `parents`
//                         of its child, unless the child is closed: then the thread that closes the
//                         child does that
//
// Invariants
//   1. The thread that removes a link from `children` releases the parent's ownership of the child.
//      The thread that removes it from `parents` releases the reference to the parent. A link on
//      the heap is deleted with its last side; the first link of a child is part of it, and used
//      once.
//   2. Once `closed` is set, only the thread that has set it uses `parents`, and nothing is added
//      to `children`. `closed` is set under the lock of the links, if there are any; if there are
//      none by then, none will be created. So a core without parents and children takes no lock.
//   3. No lock is held while foreign code runs or another lock is taken.
//   4. A link that is on neither side any more and is not dropped yet belongs to the thread that
//      has detached it. close_tree() and end_ownership() keep such links in a list, by their node
//      of the child's side, because other threads may still test whether the parent's side is
//      linked. So a chain of any length is closed and released without recursion or allocation.
#include <takt/rx/detail/subscription_core.hpp>

#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include <takt/rx/detail/error_collector.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

namespace {

using on_parent = list_node<link_of_parent>;
using on_child = list_node<link_of_child>;

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
// Above this number, searching all parents costs more than an index.
constexpr std::size_t parents_without_index = 16;

class owner_scope {
 public:
  explicit owner_scope(subscription_core& core) noexcept : core_(core) { core_.own(); }
  ~owner_scope() { core_.disown(); }
  owner_scope(const owner_scope&) = delete;
  owner_scope& operator=(const owner_scope&) = delete;

 private:
  subscription_core& core_;
};

}  // namespace

struct subscription_links::parent_index {
  std::unordered_map<const subscription_core*, subscription_link*> links;
};

void subscription_links::delete_index() noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS { delete index; }

subscription_link* subscription_links::link_to(const subscription_core& parent) const noexcept {
  if (index != nullptr) {
    const auto at = index->links.find(&parent);
    return at == index->links.end() ? nullptr : at->second;
  }
  for (const subscription_link& link : parents) {
    if (link.parent == &parent) return const_cast<subscription_link*>(&link);
  }
  return nullptr;
}

// Strong guarantee.
void subscription_links::add_parent(subscription_link& link) {
  if (index == nullptr && parent_count == parents_without_index) {
    auto made = std::make_unique<parent_index>();
    for (subscription_link& each : parents) made->links.emplace(each.parent, &each);
    index = made.release();
  }
  if (index != nullptr) index->links.emplace(link.parent, &link);
  parents.push_back(link);
  ++parent_count;
}

void subscription_links::remove_parent(subscription_link& link) noexcept {
  if (index != nullptr) index->links.erase(link.parent);
  parents.erase(link);
  --parent_count;
}

subscription_core::~subscription_core() {
  const std::uintptr_t word = word_.load(std::memory_order_relaxed);  // relaxed: the last reference
  if ((word & embedded) == 0) delete links_in(word);
}

// \return the links, created if necessary; null if there are none and the core is closed.
subscription_links* subscription_core::make_links() {
  std::uintptr_t word = word_.load(std::memory_order_acquire);  // acquire: the links' construction
  if (links_in(word) != nullptr || (word & closed) != 0) return links_in(word);
  auto made = std::make_unique<subscription_links>();
  while (links_in(word) == nullptr) {
    if ((word & closed) != 0) return nullptr;
    // acq_rel: publishes the construction; acquire: as above
    if (word_.compare_exchange_weak(word, word | reinterpret_cast<std::uintptr_t>(made.get()),
                                    std::memory_order_acq_rel, std::memory_order_acquire)) {
      return made.release();
    }
  }
  return links_in(word);
}

// The last owner has released the core: releases the children and the inner core, and those of each
// core whose last owner was this one.
void subscription_core::end_ownership() noexcept {
  links released;
  subscription_core* core = this;
  while (core != nullptr) {
    subscription_core* next = nullptr;
    core->detach_children(released);
    if (const subscription_link* const inner = core->inner_link()) {
      if (inner->child->disown_only()) next = inner->child;
    }
    core->release();
    while (next == nullptr && !released.empty()) {
      subscription_link& link = *released.pop_front();
      subscription_core& child = *link.child;
      drop(link, 2);
      if (child.disown_only()) next = &child;
    }
    core = next;
  }
}

// Only owners add children, and there are none left, so `added` can be read without the lock.
void subscription_core::detach_children(links& to) noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
  if (own_links() == nullptr || own_links()->added == 0) return;
  while (subscription_link* const link = pop_child(all)) {
    if (detach_from_child(*link)) {
      to.push_back(*link);
    } else {  // the child is closing: it has no children to release
      subscription_core& child = *link->child;
      drop(*link, 1);
      child.disown();
    }
  }
}

void subscription_core::mark_rejected() noexcept {
  word_.fetch_or(refused, std::memory_order_release);  // release: to is_rejected()
}

void subscription_core::unsubscribe() {
  const owner_scope here(*this);  // a callback may drop the last handle
  close();
}

// Sets `closed`, unless it is set, and leaves the parents.
subscription_core::found subscription_core::begin_close() noexcept {
  std::uintptr_t word = word_.load(std::memory_order_acquire);  // acquire: the links' construction
  while (links_in(word) == nullptr) {
    if ((word & closed) != 0) return found::closed_before;
    // acq_rel: to is_unsubscribed(); acquire: as above
    if (word_.compare_exchange_weak(word, word | closed, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return found::no_children;
    }
  }
  subscription_links& mine = *links_in(word);
  mutex_lock lock(mine.mu);
  // release: to is_unsubscribed()
  if ((word_.fetch_or(closed, std::memory_order_release) & closed) != 0) {
    return found::closed_before;
  }
  auto parents(std::move(mine.parents));
  const bool alone = mine.children.empty();  // and stays so
  lock.unlock();
  while (subscription_link* const link = parents.pop_front()) leave_parent(*link);
  return alone ? found::no_children : found::children;
}

void subscription_core::close() {
  const found children = begin_close();
  if (children == found::closed_before) return;
  subscription_link* const inner = inner_link();
  if (children == found::no_children && inner == nullptr) {
    on_unsubscribe();
    return;
  }
  error_collector errors;
  errors.run([this] { on_unsubscribe(); });
  close_tree(all, inner, errors);
  errors.throw_if_any();
}

// Closes the inner core and the children with numbers up to `until`, with everything below them:
// each core before its children, and children in the order of add().
void subscription_core::close_tree(std::uint64_t until, subscription_link* inner,
                                   error_collector& errors) noexcept {
  links path;  // to the core whose children are being closed, the nearest first
  for (;;) {
    subscription_core& top = path.empty() ? *this : *path.front().child;
    subscription_link* const link =
        inner != nullptr ? inner : top.pop_child(path.empty() ? until : all);
    if (link == nullptr) {
      if (path.empty()) return;
      subscription_link& done = *path.pop_front();
      subscription_core& child = *done.child;
      drop(done, 2);
      child.disown();
      continue;
    }
    subscription_core& child = *link->child;
    const bool detached = std::exchange(inner, nullptr) != nullptr || detach_from_child(*link);
    if (!detached || child.begin_close() == found::closed_before) {
      drop(*link, detached ? 2 : 1);
      child.disown();
      continue;
    }
    inner = child.inner_link();
    errors.run([&child] { child.on_unsubscribe(); });
    path.push_front(*link);
  }
}

void subscription_core::unsubscribe(const unhandled_hook& hook) noexcept {
  const owner_scope here(*this);
  close(hook);
}

void subscription_core::close(const unhandled_hook& hook) noexcept {
  try {
    close();
  } catch (...) {
    hook.on_unhandled(unhandled::uncaught, std::current_exception());
  }
}

// The analyzer does not follow pointers that share a word with flags.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete, clang-analyzer-cplusplus.NewDeleteLeaks)
void subscription_core::add(subscription_core& child) {
  if (&child == this) return;
  subscription_links* const theirs = child.make_links();
  if (theirs == nullptr) return;
  subscription_links* const mine = make_links();
  if (mine == nullptr) {
    child.unsubscribe();
    return;
  }
  subscription_link* link = &theirs->first;
  {
    const mutex_lock lock(theirs->mu);
    if (child.is_unsubscribed() || theirs->link_to(*this) != nullptr) return;
    std::unique_ptr<subscription_link> made;
    if (theirs->first_used) {
      made = std::make_unique<subscription_link>();
      link = made.get();
      link->on_heap = true;
    }
    link->parent = this;
    link->child = &child;
    theirs->add_parent(*link);
    made.release();  // NOLINT(bugprone-unused-return-value): the last side deletes it
    theirs->first_used = true;
    retain();
  }
  child.own();
  mutex_lock lock(mine->mu);
  if (!is_unsubscribed() && !link->detached) {
    link->number = ++mine->added;
    mine->children.push_back(*link);
    ++mine->size;
    return;
  }
  lock.unlock();
  leave_child(*link);
  const owner_scope here(child);
  child.disown();
  child.unsubscribe();
}
// NOLINTEND(clang-analyzer-cplusplus.NewDelete, clang-analyzer-cplusplus.NewDeleteLeaks)

bool subscription_core::take_out(subscription_core& child) noexcept {
  subscription_links* const mine = own_links();
  subscription_links* const theirs = child.own_links();
  if (mine == nullptr || theirs == nullptr) return false;
  subscription_link* link = nullptr;
  {
    const mutex_lock lock(theirs->mu);
    if (child.is_unsubscribed()) return false;
    link = theirs->link_to(*this);
    if (link == nullptr) return false;
    // relaxed: a side that is linked keeps the link
    link->sides.fetch_add(1, std::memory_order_relaxed);
  }
  bool taken = false;
  {
    const mutex_lock lock(mine->mu);
    taken = link->on_parent::is_linked();
    if (taken) {
      mine->children.erase(*link);
      --mine->size;
    }
  }
  if (taken) leave_child(*link).disown();
  drop(*link, 1);  // NOLINT(clang-analyzer-cplusplus.NewDelete): held above
  return taken;
}

void subscription_core::clear() {
  subscription_links* const mine = own_links();
  if (mine == nullptr) return;
  std::uint64_t until = 0;
  {
    const mutex_lock lock(mine->mu);
    until = mine->added;
  }
  const owner_scope here(*this);
  error_collector errors;
  close_tree(until, nullptr, errors);
  errors.throw_if_any();
}

std::size_t subscription_core::size() const noexcept {
  subscription_links* const mine = own_links();
  if (mine == nullptr) return 0;
  const mutex_lock lock(mine->mu);
  return mine->size;
}

subscription_link* subscription_core::pop_child(std::uint64_t until) noexcept {
  subscription_links* const mine = own_links();
  if (mine == nullptr) return nullptr;
  const mutex_lock lock(mine->mu);
  if (mine->children.empty() || mine->children.front().number > until) return nullptr;
  --mine->size;
  return mine->children.pop_front();
}

// Unlinks the child's side of a link that is not on the parent's side. \return false if the child
// is closed: then the thread that closes it unlinks that side. The caller has a reference to the
// parent, and the parent's ownership of the child.
bool subscription_core::detach_from_child(subscription_link& link) noexcept {
  {
    subscription_links& theirs = *link.child->own_links();
    const mutex_lock lock(theirs.mu);
    if (link.child->is_unsubscribed()) return false;
    theirs.remove_parent(link);
  }
  link.parent->release();
  return true;
}

// As detach_from_child(), and drops the link. \return the child.
subscription_core& subscription_core::leave_child(subscription_link& link) noexcept {
  subscription_core& child = *link.child;
  drop(link, detach_from_child(link) ? 2 : 1);
  return child;
}

// The child has closed: unlinks the parent's side, if it is linked.
void subscription_core::leave_parent(subscription_link& link) noexcept {
  subscription_core& parent = *link.parent;
  bool both = false;
  {
    subscription_links& of_parent = *parent.own_links();
    const mutex_lock lock(of_parent.mu);
    link.detached = true;
    both = link.on_parent::is_linked();
    if (both) {
      of_parent.children.erase(link);
      --of_parent.size;
    }
  }
  subscription_core& child = *link.child;
  drop(link, both ? 2 : 1);
  if (both) child.disown();
  parent.release();
}

// Drops sides of a link, and deletes it with the last one.
void subscription_core::drop(subscription_link& link, int sides) noexcept {
  if (!link.on_heap) return;
  // acq_rel: what the other side did happens before the deletion
  if (link.sides.fetch_sub(sides, std::memory_order_acq_rel) == sides) {
    delete &link;  // NOLINT(clang-analyzer-cplusplus.NewDelete): never the first link
  }
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
