/// \file
/// atomic<T> with weak memory: loads may return any value that the C++ memory model allows.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// The type-independent part of an atomic. Values have 64 bits.
///
/// Invariants:
///  1. The modification order is the order of execution. `stores_` holds its latest stores.
///  2. Coherence: a load reads no store older than a store or an earlier read of this atomic that
///     happens before the load.
///  3. A seq_cst load reads no store older than the newest store that was made or read by a seq_cst
///     operation. The total order of seq_cst operations is the order of execution.
///  4. A read-modify-write reads the newest store and continues its release sequence.
class atomic_core : public object {
 public:
  explicit atomic_core(std::uint64_t initial) noexcept;
  ~atomic_core();

  std::uint64_t load(std::memory_order order) const noexcept;
  void store(std::uint64_t value, std::memory_order order) noexcept;

  /// Replaces the newest value v by change(v). \return v.
  template <class Change>
  std::uint64_t modify(Change&& change, std::memory_order order) noexcept {
    step s(op::rmw, *this, true);
    const std::uint64_t before = newest().value;
    commit_rmw(change(before), order);
    return before;
  }

  bool compare_exchange(std::uint64_t& expected, std::uint64_t desired, std::memory_order success,
                        std::memory_order failure, bool weak) noexcept;

  /// Returns the newest value, as the kernel reads it on behalf of `self`. Not a step.
  [[nodiscard]] std::uint64_t newest_for(thread_state& self) const noexcept {
    return read(self, count_ - 1, std::memory_order_relaxed);  // relaxed: orders nothing
  }

 private:
  struct stored {
    std::uint64_t value = 0;
    std::uint64_t sequence = 0;                           // among all stores of the run
    std::uint32_t thread = 0;                             // the storing thread
    std::uint32_t epoch = 0;                              // its step count at the store
    std::array<std::uint32_t, max_threads> first_seen{};  // per reader: its step count; 0: never
    vector_clock released{};                              // joined by acquiring readers
  };
  static constexpr std::size_t history = 8;

  [[nodiscard]] stored& newest() const noexcept { return stores_[(count_ - 1) % history]; }
  std::uint64_t load_in_step(thread_state* self, std::memory_order order) const noexcept;
  std::uint64_t read(thread_state& self, std::uint64_t index,
                     std::memory_order order) const noexcept;
  [[nodiscard]] std::uint64_t oldest_readable(const thread_state& self,
                                              std::memory_order order) const noexcept;
  void append(thread_state* self, std::uint64_t value, const vector_clock& released,
              std::memory_order order) noexcept;
  void commit_rmw(std::uint64_t value, std::memory_order order) noexcept;

  mutable std::array<stored, history> stores_{};
  std::uint64_t count_ = 0;                  // stores made so far; the newest is count_ - 1
  mutable std::uint64_t seq_cst_floor_ = 0;  // index; see invariant 3
};

/// Blocks while the newest value of `word` is `expected`. \return true at the deadline.
bool futex_wait(atomic_core& word, std::uint64_t expected, time_point deadline) noexcept;
/// Wakes one waiter, or all. Uses only the address: the word may already be destroyed.
void futex_wake(const void* word, bool all) noexcept;

/// Drop-in for std::atomic<T> with T of at most eight bytes; takt/base/detail/sync.hpp lists what
/// it lacks.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;
  static constexpr bool counts =
      std::is_pointer_v<T> || (std::integral<T> && !std::same_as<T, bool>);
  using difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;

  atomic() noexcept : atomic(T{}) {}
  atomic(T value) noexcept : core_(encode(value)) {}  // NOLINT: implicit as in std::atomic
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return decode(core_.load(order));
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    core_.store(encode(value), order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return decode(core_.modify([&](std::uint64_t) { return encode(value); }, order));
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) noexcept {
    return compare_exchange(expected, desired, success, failure, true);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange(expected, desired, order, for_failure(order), true);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) noexcept {
    return compare_exchange(expected, desired, success, failure, false);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange(expected, desired, order, for_failure(order), false);
  }

  operator T() const noexcept { return load(); }  // NOLINT: implicit as in std::atomic
  T operator=(T value) noexcept {                 // NOLINT: returns the value as std::atomic does
    store(value);
    return value;
  }

  T fetch_add(difference n, std::memory_order order = std::memory_order_seq_cst) noexcept
    requires counts
  {
    return fetch([n](T v) { return plus(v, n); }, order);
  }
  T fetch_sub(difference n, std::memory_order order = std::memory_order_seq_cst) noexcept
    requires counts
  {
    return fetch([n](T v) { return minus(v, n); }, order);
  }
  T fetch_and(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept
    requires std::integral<T>
  {
    return fetch([bits](T v) { return static_cast<T>(v & bits); }, order);
  }
  T fetch_or(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept
    requires std::integral<T>
  {
    return fetch([bits](T v) { return static_cast<T>(v | bits); }, order);
  }
  T fetch_xor(T bits, std::memory_order order = std::memory_order_seq_cst) noexcept
    requires std::integral<T>
  {
    return fetch([bits](T v) { return static_cast<T>(v ^ bits); }, order);
  }
  T operator++() noexcept
    requires counts
  {
    return plus(fetch_add(1), 1);
  }
  T operator--() noexcept
    requires counts
  {
    return minus(fetch_sub(1), 1);
  }
  T operator++(int) noexcept
    requires counts
  {
    return fetch_add(1);
  }
  T operator--(int) noexcept
    requires counts
  {
    return fetch_sub(1);
  }

  /// For the futex functions of the shim. The core's address is that of the atomic.
  [[nodiscard]] atomic_core& core() noexcept { return core_; }

 private:
  static std::uint64_t encode(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T decode(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
    return value;
  }
  static T plus(T v, difference n) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return v + n;
    } else {  // wraps around, also for signed types, as std::atomic does
      return static_cast<T>(static_cast<std::uint64_t>(v) + static_cast<std::uint64_t>(n));
    }
  }
  static T minus(T v, difference n) noexcept {
    if constexpr (std::is_pointer_v<T>) {
      return v - n;
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(v) - static_cast<std::uint64_t>(n));
    }
  }
  template <class Change>
  T fetch(Change change, std::memory_order order) noexcept {
    return decode(core_.modify([&](std::uint64_t v) { return encode(change(decode(v))); }, order));
  }
  bool compare_exchange(T& expected, T desired, std::memory_order success,
                        std::memory_order failure, bool weak) noexcept {
    std::uint64_t bits = encode(expected);
    const bool done = core_.compare_exchange(bits, encode(desired), success, failure, weak);
    if (!done) expected = decode(bits);
    return done;
  }
  static constexpr std::memory_order for_failure(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
  }

  atomic_core core_;
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
