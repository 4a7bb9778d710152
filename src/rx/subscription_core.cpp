// A link says that one core is a child of another. It has two sides:
//
//   the parent's   it is in children of the parent, which owns the child meanwhile
//   the child's    it is in parents of the child, which retains the memory of the parent meanwhile
//
// It comes to be on the child's side first, and then on the parent's. Each side ends it alone,
// under its own lock, and never with both locks:
//
//   the child closes      it takes parents with it, and takes each link out of children of its
//                         parent, if it is there; `detached` tells an add() that is under way
//   the parent closes, clears or goes
//                         it takes links out of children, one after the other, and each out of
//                         parents of its child, unless that is closed and sees to it itself
//
// Invariants
//   1. Who takes a link out of children gives up the parent's ownership of the child. Who takes it
//      out of parents releases the parent. A link on the heap goes with its last side; the first
//      one of a child is part of it, and is used once.
//   2. When `closed` is set, parents belongs to who set it: others leave it alone. Nothing is added
//      to children any more. It is set under the lock of the family, if there is one; if there is
//      none by then, none will be made. So one that never had to do with others has no lock to
//      take.
//   3. No lock is held while code of others runs, nor while another lock is taken.
#include <takt/rx/subscription_core.hpp>

#include <limits>
#include <memory>

#include <takt/rx/aggregate_error.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

using on_parent = list_node<link_of_parent>;
using on_child = list_node<link_of_child>;

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

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

subscription_core::~subscription_core() {
  const std::uintptr_t word = word_.load(std::memory_order_relaxed);  // relaxed: nobody else has it
  if ((word & embedded) == 0) delete family_in(word);
}

// \return its family; null if there is none, and it is closed.
subscription_family* subscription_core::make_family() {
  std::uintptr_t word = word_.load(std::memory_order_acquire);  // acquire: it has been made
  if (family_in(word) != nullptr || (word & closed) != 0) return family_in(word);
  auto made = std::make_unique<subscription_family>();
  while (family_in(word) == nullptr) {
    if ((word & closed) != 0) return nullptr;
    // acq_rel: it has been made; acquire: as above
    if (word_.compare_exchange_weak(word, word | reinterpret_cast<std::uintptr_t>(made.get()),
                                    std::memory_order_acq_rel, std::memory_order_acquire)) {
      return made.release();
    }
  }
  return family_in(word);
}

void subscription_core::end_ownership() noexcept {
  let_go_of_children();
  release();
}

// The last owner has gone. Only owners add, so without a lock it can be seen whether there was ever
// a child.
void subscription_core::let_go_of_children() noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
  const subscription_family* const mine = family();
  if (mine == nullptr || mine->added == 0) return;
  while (subscription_link* const link = pop_child(all)) leave_child(*link).disown();
}

void subscription_core::mark_rejected() noexcept {
  word_.fetch_or(refused, std::memory_order_release);  // release: to is_rejected()
}

void subscription_core::unsubscribe() {
  const owner_scope here(*this);  // what is called may drop the last handle
  close();
}

void subscription_core::close() {
  std::uintptr_t word = word_.load(std::memory_order_acquire);  // acquire: its family is made
  while (family_in(word) == nullptr) {
    if ((word & closed) != 0) return;
    // acq_rel: to is_unsubscribed(); acquire: as above
    if (word_.compare_exchange_weak(word, word | closed, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      on_unsubscribe();
      return;
    }
  }
  subscription_family& mine = *family_in(word);
  mutex_lock lock(mine.mu);
  // release: to is_unsubscribed()
  if ((word_.fetch_or(closed, std::memory_order_release) & closed) != 0) return;
  auto parents(std::move(mine.parents));
  const bool alone = mine.children.empty();  // and stays so
  lock.unlock();
  while (subscription_link* const link = parents.pop_front()) leave_parent(*link);
  if (alone) {
    on_unsubscribe();
    return;
  }
  error_collector errors;
  errors.run([this] { on_unsubscribe(); });
  close_children(all, errors);
  errors.throw_if_any();
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
  subscription_family* const theirs = child.make_family();
  if (theirs == nullptr) return;
  subscription_family* const mine = make_family();
  if (mine == nullptr) {
    child.unsubscribe();
    return;
  }
  subscription_link* link = &theirs->first;
  {
    const mutex_lock lock(theirs->mu);
    if (child.is_unsubscribed() || link_to(*this, *theirs) != nullptr) return;
    if (theirs->first_used) {
      link = new subscription_link;
      link->on_heap = true;
    }
    theirs->first_used = true;
    link->parent = this;
    link->child = &child;
    theirs->parents.push_back(*link);
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
  subscription_family* const mine = family();
  subscription_family* const theirs = child.family();
  if (mine == nullptr || theirs == nullptr) return false;
  subscription_link* link = nullptr;
  {
    const mutex_lock lock(theirs->mu);
    if (child.is_unsubscribed()) return false;
    link = link_to(*this, *theirs);
    if (link == nullptr) return false;
    // relaxed: the side that it is on keeps it
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
  subscription_family* const mine = family();
  if (mine == nullptr) return;
  std::uint64_t until = 0;
  {
    const mutex_lock lock(mine->mu);
    until = mine->added;
  }
  const owner_scope here(*this);
  error_collector errors;
  close_children(until, errors);
  errors.throw_if_any();
}

std::size_t subscription_core::size() const noexcept {
  subscription_family* const mine = family();
  if (mine == nullptr) return 0;
  const mutex_lock lock(mine->mu);
  return mine->size;
}

// Closes those that were added up to a number.
void subscription_core::close_children(std::uint64_t until, error_collector& errors) noexcept {
  while (subscription_link* const link = pop_child(until)) {
    subscription_core& child = leave_child(*link);
    errors.run([&child] { child.unsubscribe(); });
    child.disown();
  }
}

subscription_link* subscription_core::pop_child(std::uint64_t until) noexcept {
  subscription_family& mine = *family();
  const mutex_lock lock(mine.mu);
  if (mine.children.empty() || mine.children.front().number > until) return nullptr;
  --mine.size;
  return mine.children.pop_front();
}

subscription_link* subscription_core::link_to(const subscription_core& parent,
                                              subscription_family& of) noexcept {
  for (subscription_link& link : of.parents) {
    if (link.parent == &parent) return &link;
  }
  return nullptr;
}

// The link is not, or no longer, on the parent's side: takes it off the child's, unless that
// closes. The caller has the parent's ownership of the child, which it returns.
subscription_core& subscription_core::leave_child(subscription_link& link) noexcept {
  subscription_core& child = *link.child;
  bool both = false;
  {
    subscription_family& theirs = *child.family();
    const mutex_lock lock(theirs.mu);
    both = !child.is_unsubscribed();
    if (both) theirs.parents.erase(link);
  }
  subscription_core& parent = *link.parent;
  drop(link, both ? 2 : 1);
  if (both) parent.release();
  return child;
}

// The child has closed: takes the link off the parent's side, if it is there.
void subscription_core::leave_parent(subscription_link& link) noexcept {
  subscription_core& parent = *link.parent;
  bool both = false;
  {
    subscription_family& of_parent = *parent.family();
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

// Ends so many of its sides.
void subscription_core::drop(subscription_link& link, int sides) noexcept {
  if (!link.on_heap) return;
  // acq_rel: what the other side did happens before the end
  if (link.sides.fetch_sub(sides, std::memory_order_acq_rel) == sides) {
    delete &link;  // NOLINT(clang-analyzer-cplusplus.NewDelete): not the one inside of a family
  }
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
