#include <bit>

#include "timers.hpp"

namespace bench {
namespace {

// The classic hierarchical wheel (Varghese and Lauck): intrusive nodes owned by the user, doubly
// linked into slots of 1 ms on the first level and 64 times as long on each further level, with a
// bitmap per level. Slots are not ordered.
class linked_wheel {
 public:
  explicit linked_wheel(std::size_t count) : nodes_(count) {
    for (auto& level : slots_) {
      for (link& slot : level) slot.next = slot.previous = &slot;
    }
  }

  void schedule(std::size_t i, std::int64_t deadline, const timer_value& value) {
    node& n = nodes_[i];
    n.deadline = deadline;
    n.value = value;
    place(n);
  }

  timer_value cancel(std::size_t i) {
    node& n = nodes_[i];
    n.previous->next = n.next;
    n.next->previous = n.previous;
    if (n.next == n.previous) note_if_empty(*n.next);
    return n.value;
  }

  template <class Function>
  void fire(std::int64_t now, Function function) {
    const std::uint64_t until = tick_of(now);
    for (;;) {
      std::size_t level = 0;
      while (level < levels && occupied_[level] == 0) ++level;
      if (level == levels) break;
      const auto digit = static_cast<std::size_t>(std::countr_zero(occupied_[level]));
      const std::uint64_t start = (cursor_ >> 6 * level >> 6 << 6 | digit) << 6 * level;
      if (start > until) break;
      cursor_ = start;
      link& slot = slots_[level][digit];
      link* at = slot.next;
      slot.next = slot.previous = &slot;
      occupied_[level] &= ~(std::uint64_t{1} << digit);
      while (at != &slot) {
        node& n = static_cast<node&>(*at);
        at = at->next;
        if (tick_rounded_up(n.deadline) <= cursor_) {
          function(n.value);
        } else {
          place(n);
        }
      }
    }
    cursor_ = std::max(cursor_, until);
  }

 private:
  struct link {
    link* next = nullptr;
    link* previous = nullptr;
  };
  struct node : link {
    std::int64_t deadline = 0;
    timer_value value{};
  };
  static constexpr std::size_t levels = 8;
  static constexpr std::int64_t tick = 1'000'000;

  static std::uint64_t tick_of(std::int64_t t) { return static_cast<std::uint64_t>(t / tick); }
  static std::uint64_t tick_rounded_up(std::int64_t t) { return tick_of(t + tick - 1); }

  void place(node& n) {
    const std::uint64_t due = std::max(tick_rounded_up(n.deadline), cursor_ + 1);
    const std::size_t level = static_cast<std::size_t>(std::bit_width(due ^ cursor_) - 1) / 6;
    const std::size_t digit = due >> 6 * level & 63;
    link& slot = slots_[level][digit];
    occupied_[level] |= std::uint64_t{1} << digit;
    n.next = &slot;
    n.previous = slot.previous;
    slot.previous->next = &n;
    slot.previous = &n;
  }

  void note_if_empty(link& slot) {
    if (slot.next != &slot) return;
    const auto at = static_cast<std::size_t>(&slot - slots_[0].data());
    occupied_[at / 64] &= ~(std::uint64_t{1} << at % 64);
  }

  std::vector<node> nodes_;
  std::uint64_t cursor_ = 0;
  std::array<std::uint64_t, levels> occupied_{};
  std::array<std::array<link, 64>, levels> slots_;
};

}  // namespace

numbers timers_linked_wheel(const request& asked) { return timers_with<linked_wheel>(asked); }

}  // namespace bench
