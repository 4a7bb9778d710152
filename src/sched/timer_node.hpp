/// A timer of a wheel_scheduler: its place in memory, and its word. The phases, and what may be
/// done in them, are in wheel_core.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/sched/timer_handle.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Thread safety: the word from any thread; the rest belongs to who has locked it, or made it.
class timer_node {
 public:
  enum phase : std::uint32_t { is_free, armed, paused, running, ended, cancelled };

  timer_node() noexcept {}  // NOLINT(*-member-init): `executor` is given when it is made

  /// A set of phases.
  static constexpr std::uint32_t in(phase p) noexcept { return 1U << p; }

  /// What it was at some moment.
  [[nodiscard]] bool is_in(std::uint32_t phases) const noexcept {
    // seq_cst: see try_lock()
    return (phases >> (word_.load(std::memory_order_seq_cst) & phase_bits) & 1) != 0;
  }

  /// Makes it so, by who has its place. With so many handles.
  void make(phase p, std::uint32_t handles) noexcept {
    // release: all of it. What is armed is put into the inbox, and that is seq_cst; what runs is
    // not: see try_lock()
    word_.store(p | handles * one_handle,
                p == armed ? std::memory_order_release : std::memory_order_seq_cst);
  }

  /// Waits for who has locked it. \return its phase.
  phase lock() noexcept {
    for (;;) {
      std::uint32_t w = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
      // acquire: what was done under the lock, and before it was made
      if ((w & locked) == 0 && word_.compare_exchange_weak(w, w | locked, std::memory_order_acquire,
                                                           std::memory_order_relaxed)) {
        return phase_in(w);
      }
      sync::yield();
    }
  }

  /// As above, if it is in one of these phases.
  bool try_lock(std::uint32_t phases) noexcept {
    for (;;) {
      // seq_cst: who closes the scheduler and then looks here, against who changes the phase and
      // then looks whether it is closed
      std::uint32_t w = word_.load(std::memory_order_seq_cst);
      if ((w & locked) == 0) {
        if ((phases >> phase_in(w) & 1) == 0) return false;
        // acquire: as above
        if (word_.compare_exchange_weak(w, w | locked, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return true;
        }
      }
      sync::yield();
    }
  }

  /// The phase of one that is locked.
  [[nodiscard]] phase locked_phase() const noexcept {
    return phase_in(word_.load(std::memory_order_relaxed));  // relaxed: nobody else changes it
  }

  /// By who has locked it.
  void unlock(phase to) noexcept { static_cast<void>(unlock_counting(to)); }
  /// The same, for `ended`. \return whether it has no handles: then it belongs to the caller.
  [[nodiscard]] bool unlock_ended() noexcept {
    // relaxed: without handles nobody changes one that is locked
    return word_.load(std::memory_order_relaxed) / one_handle == 0 || unlock_counting(ended) == 0;
  }

  /// Makes one that waits cancelled. \return the phase that it was in: armed or paused, if this was
  /// it.
  phase cancel() noexcept {
    std::uint32_t w = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
    for (;;) {
      if ((w & locked) != 0) {
        sync::yield();
        w = word_.load(std::memory_order_relaxed);  // relaxed: as above
        continue;
      }
      const phase was = phase_in(w);
      if (was == running) {
        // acq_rel: who has cancelled its future comes before or after the one who locks it in order
        // to arm it, and is seen by him, or sees him
        const std::uint32_t now = word_.fetch_or(0, std::memory_order_acq_rel);
        if (now == w) return was;
        w = now;
        continue;
      }
      if (was != armed && was != paused) return was;
      // acq_rel: all of it; and what the caller did, to who finds it cancelled
      if (word_.compare_exchange_weak(w, w - was + cancelled, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        return was;
      }
    }
  }

  /// One handle more. The caller has one, or its run.
  void hold() noexcept {
    word_.fetch_add(one_handle, std::memory_order_relaxed);  // relaxed: it is there
  }

  /// One handle less. \return the phase if it was the last one, and the task has ended: then it
  /// belongs to the caller. Else is_free.
  [[nodiscard]] phase let_go() noexcept {
    std::uint32_t w = word_.load(std::memory_order_acquire);  // acquire: what others did
    // acq_rel: what this one did, and the others, before it is another timer
    if (!is_last(w)) w = word_.fetch_sub(one_handle, std::memory_order_acq_rel);
    return is_last(w) ? phase_in(w) : is_free;
  }

  /// By who it belongs to, before its place is given back.
  void clear() noexcept {
    word_.store(is_free, std::memory_order_relaxed);  // relaxed: giving it back releases it
  }

 private:
  static constexpr std::uint32_t phase_bits = 7;
  static constexpr std::uint32_t locked = 8;
  static constexpr std::uint32_t one_handle = 16;

  static constexpr phase phase_in(std::uint32_t w) noexcept {
    return static_cast<phase>(w & phase_bits);
  }
  // With a single handle, and no task: nobody else can come to it.
  static constexpr bool is_last(std::uint32_t w) noexcept {
    return w == (ended | one_handle) || w == (cancelled | one_handle);
  }
  std::uint32_t unlock_counting(phase to) noexcept {
    // seq_cst: see try_lock()
    return word_.fetch_add(to - locked_phase() - locked, std::memory_order_seq_cst) / one_handle;
  }

  // handles << 4 | locked << 3 | phase
  sync::atomic<std::uint32_t> word_{is_free};

 public:
  sync::atomic<std::uint8_t> slack_bits{0};  // read without the lock, as the deadline is
  bool has_more : 1 = false;                 // there is something in its timer_details
  bool run_at_close : 1 = false;
  // Not 0: the deadline is a delay, which has not begun, and is in that part of the inbox.
  std::uint16_t begins_with = 0;
  sync::atomic<std::int64_t> deadline{0};  // ns; if it is paused, what is left
  const void* packed = nullptr;            // its task, without the callable
  union {
    any_executor executor;
  };
};

/// The callable of a timer's task.
struct alignas(std::max_align_t) timer_closure {
  std::byte bytes[32];
};

/// What not every timer has. Memory that is not touched, if none has it.
struct timer_details {
  task_name name;
  std::uint64_t id = 0;
  detail::period_state* periods = nullptr;  // null: it runs once
  detail::future_core* series = nullptr;    // of a periodic one that runs
  bool paused = false;                      // it was paused while it ran
};

}  // namespace takt::inline TAKT_ABI
