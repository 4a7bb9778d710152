// Atomics with weak memory, and plain data with race detection.
//
// See atomic_core for the invariants. A sampled load reads the newest store half of the time and
// otherwise any store that it may read, since most bugs need only one stale value.
#include <takt/model/atomic.hpp>
#include <takt/model/var.hpp>

#include "run.hpp"

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}
bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

atomic_core::atomic_core(std::uint64_t initial) noexcept : object("atomic") {
  append(current_thread(), initial, {}, std::memory_order_relaxed);
}

atomic_core::~atomic_core() { retire(); }

std::uint64_t atomic_core::load(std::memory_order order) const noexcept {
  // Loads commute unless both are seq_cst: each of these restricts the stores the other may read.
  const step s(op::load, *this, order == std::memory_order_seq_cst);
  return load_in_step(s.self(), order);
}

std::uint64_t atomic_core::load_in_step(thread_state* self,
                                        std::memory_order order) const noexcept {
  if (self == nullptr) return newest().value;
  std::uint64_t index = count_ - 1;
  if (active_run()->opts.weak_memory) {
    index -= active_run()->chooser.age(
        static_cast<std::uint32_t>(index - oldest_readable(*self, order)) + 1);
  }
  const std::uint64_t value = read(*self, index, order);
  note(index + 1 == count_ ? "=" : "= (stale)", value);
  return value;
}

std::uint64_t atomic_core::read(thread_state& self, std::uint64_t index,
                                std::memory_order order) const noexcept {
  stored& s = stores_[index % history];
  if (s.first_seen[self.number] == 0) s.first_seen[self.number] = self.seen[self.number];
  if (acquires(order)) {
    self.seen.join(s.released);
    sanitizer::tsan_acquire(this);
  }
  if (order == std::memory_order_seq_cst) seq_cst_floor_ = std::max(seq_cst_floor_, index);
  return s.value;
}

std::uint64_t atomic_core::oldest_readable(const thread_state& self,
                                           std::memory_order order) const noexcept {
  const std::uint64_t oldest_kept = count_ > history ? count_ - history : 0;
  const std::uint64_t floor = order == std::memory_order_seq_cst ? seq_cst_floor_ : 0;
  for (std::uint64_t index = count_ - 1; index > std::max(oldest_kept, floor); --index) {
    const stored& s = stores_[index % history];
    if (s.sequence <= self.fresh || s.epoch <= self.seen[s.thread]) return index;
    for (std::size_t i = 1; i < max_threads; ++i) {
      if (s.first_seen[i] != 0 && s.first_seen[i] <= self.seen[i]) return index;
    }
  }
  return std::max(oldest_kept, floor);
}

void atomic_core::append(thread_state* self, std::uint64_t value, const vector_clock& released,
                         std::memory_order order) noexcept {
  stored& s = stores_[count_ % history];
  s = {};
  s.value = value;
  s.released = released;
  if (self != nullptr) {
    s.sequence = ++active_run()->stores;
    s.thread = static_cast<std::uint32_t>(self->number);
    s.epoch = self->seen[self->number];
  }
  if (order == std::memory_order_seq_cst) seq_cst_floor_ = count_;
  ++count_;
}

void atomic_core::store(std::uint64_t value, std::memory_order order) noexcept {
  const step s(op::store, *this, true);
  const bool publishes = s.self() != nullptr && releases(order);
  append(s.self(), value, publishes ? s.self()->seen : vector_clock{}, order);
  if (publishes) sanitizer::tsan_release(this);
  note(":=", value);
}

void atomic_core::commit_rmw(std::uint64_t value, std::memory_order order) noexcept {
  thread_state* const self = current_thread();
  if (self == nullptr) {
    append(nullptr, value, {}, order);
    return;
  }
  note("=", read(*self, count_ - 1, order));
  vector_clock released = newest().released;
  if (releases(order)) released.join(self->seen);
  append(self, value, released, order);
  if (releases(order)) sanitizer::tsan_release(this);
  note(":=", value);
}

bool atomic_core::compare_exchange(std::uint64_t& expected, std::uint64_t desired,
                                   std::memory_order success, std::memory_order failure,
                                   bool weak) noexcept {
  const step s(op::rmw, *this, true);
  if (s.self() == nullptr) {
    const std::uint64_t value = newest().value;
    if (value == expected) append(nullptr, desired, {}, success);
    return value == std::exchange(expected, value);
  }
  scheduler& chooser = active_run()->chooser;
  // A failure is a load of any readable store with a different value, even if the newest store has
  // the expected value.
  const std::uint64_t newest_index = count_ - 1;
  std::uint64_t index = newest_index;
  if (active_run()->opts.weak_memory) {
    index -=
        chooser.age(static_cast<std::uint32_t>(index - oldest_readable(*s.self(), failure)) + 1);
    if (stores_[index % history].value == expected) index = newest_index;
  }
  const bool differs = stores_[index % history].value != expected;
  if (!differs && !(weak && chooser.chance(8))) {
    commit_rmw(desired, success);
    return true;
  }
  expected = read(*s.self(), index, failure);
  note(differs ? "= (failed)" : "= (spurious)", expected);
  return false;
}

void race_check::on_read() const noexcept {
  thread_state* const self = current_thread();
  if (self == nullptr) return;
  const engine_scope scope;
  check_use(*self, false);
  if (written_ > self->seen[writer_]) {
    fail("race: " + describe() + " is read by thread " + std::to_string(self->number) +
         " without happening after the write by thread " + std::to_string(writer_));
  }
  reads_[self->number] = self->seen[self->number];
}

void race_check::on_write() noexcept {
  thread_state* const self = current_thread();
  if (self == nullptr) return;
  const engine_scope scope;
  check_use(*self, false);
  if (written_ > self->seen[writer_]) {
    fail("race: " + describe() + " is written by thread " + std::to_string(self->number) +
         " without happening after the write by thread " + std::to_string(writer_));
  }
  for (std::size_t i = 1; i < max_threads; ++i) {
    if (reads_[i] > self->seen[i]) {
      fail("race: " + describe() + " is written by thread " + std::to_string(self->number) +
           " without happening after the read by thread " + std::to_string(i));
    }
  }
  writer_ = self->number;
  written_ = self->seen[self->number];
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
