/// \file
/// Diagrams of what happens when, in a line of text.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/clock/time.hpp>

namespace takt::inline TAKT_ABI {
namespace rx {

/// What a marble stands for.
enum class marble_kind : std::uint8_t { next, error, complete };

/// One marble of a diagram: something that happens at a time.
struct marble {
  std::chrono::nanoseconds time{0};
  marble_kind kind = marble_kind::next;
  std::string symbol{};  ///< Of `next`: the character that stands for the value.

  friend bool operator==(const marble&, const marble&) = default;
};

/// How diagrams are read.
struct marble_syntax {
  std::chrono::nanoseconds frame = std::chrono::milliseconds(1);  ///< How long a character is.
  /// Whether spaces are only there for the eye, and "10ms " is a time.
  bool run_mode = true;
};

/// Reads a diagram:
/// \code
/// const auto m = takt::rx::parse_marbles("--a-(bc)-|");      // a at 2 ms, b and c at 4, end at 9
/// takt::rx::parse_marbles("a 1.5s b 10ms #");                // in run mode
/// \endcode
///
/// | | |
/// |---|---|
/// | `-` | one frame passes |
/// | any character | a value, and one frame passes; digits too, unless they are a time |
/// | `(ab)` | at the same time, that of the parenthesis; each of the four takes its frame |
/// | `\|`, `#` | the end, an error |
/// | `^` | what is before the first one is before 0; one frame passes |
/// | space | one frame; nothing in run mode |
/// | `10ms `, `1.5s `, `2m ` | in run mode, at the beginning or after a space, and with one behind
/// it: so much time passes |
///
/// Characters are those of UTF-8. \throws std::invalid_argument for `!`, for a parenthesis that has
/// no other one or is within a group, for more than a hundred years, and for a frame below 0; the
/// two below, too, but for `!`.
[[nodiscard]] std::vector<marble> parse_marbles(std::string_view diagram,
                                                const marble_syntax& how = {});

/// When somebody has subscribed, and unsubscribed; `never` if not.
struct subscription_times {
  std::chrono::nanoseconds subscribed = never;
  std::chrono::nanoseconds unsubscribed = never;

  friend bool operator==(const subscription_times&, const subscription_times&) = default;
};

/// Reads a diagram of a subscription, such as `--^---!`. \throws std::invalid_argument if there are
/// two of one kind, or anything else but `-`, spaces, times and parentheses.
[[nodiscard]] subscription_times parse_subscription_marbles(std::string_view diagram,
                                                            const marble_syntax& how = {});

/// How long it is until the `|` of a diagram. \throws std::invalid_argument if there is none.
[[nodiscard]] std::chrono::nanoseconds parse_marble_time(std::string_view diagram,
                                                         const marble_syntax& how = {});

/// The diagram of what happens, in run mode, of frames of 1 ms: parse_marbles() reads it back. What
/// cannot be drawn, because a group overlaps what follows or comes before 0, is a list instead,
/// such as `a@-1ms b@0ms`.
[[nodiscard]] std::string print_marbles(std::span<const marble> marbles);
[[nodiscard]] std::string print_marbles(const subscription_times& times);

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
