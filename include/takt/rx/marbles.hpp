/// \file
/// Diagrams of events in time, as text.
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

/// The kinds of events in a diagram.
enum class marble_kind : std::uint8_t { next, error, complete };

/// One event of a diagram.
struct marble {
  std::chrono::nanoseconds time{0};
  marble_kind kind = marble_kind::next;
  std::string symbol{};  ///< For `next`: the character that stands for the value.

  friend bool operator==(const marble&, const marble&) = default;
};

/// Options of the functions that parse diagrams.
struct marble_syntax {
  std::chrono::nanoseconds frame = std::chrono::milliseconds(1);  ///< Duration of one character.
  /// Spaces have no meaning, and "10ms " is a duration.
  bool run_mode = true;
};

/// Parses a diagram:
/// \code
/// const auto m = takt::rx::parse_marbles("--a-(bc)-|");      // a at 2 ms, b and c at 4, end at 9
/// takt::rx::parse_marbles("a 1.5s b 10ms #");                // in run mode
/// \endcode
///
/// | | |
/// |---|---|
/// | `-` | one frame |
/// | any other character | a value; takes one frame; also a digit that is not part of a duration |
/// | `(ab)` | events at the time of the parenthesis; takes one frame per character, here four |
/// | `\|`, `#` | the end, an error; take one frame |
/// | `^` | the first one is time 0, and events before it have negative times; takes one frame |
/// | space | one frame; nothing in run mode |
/// | `10ms `, `1.5s `, `2m ` | in run mode, a duration; at the start or after a space |
///
/// A duration ends with a space. A character is a code point of UTF-8. \throws
/// std::invalid_argument for `!`, an unbalanced or nested parenthesis, a diagram of more than a
/// hundred years, and a negative frame. parse_subscription_marbles() and parse_marble_time() throw
/// for the same reasons, except for `!`.
[[nodiscard]] std::vector<marble> parse_marbles(std::string_view diagram,
                                                const marble_syntax& options = {});

/// Times of a subscription and its end; `never` for a time that did not occur.
struct subscription_times {
  std::chrono::nanoseconds subscribed = never;
  std::chrono::nanoseconds unsubscribed = never;

  friend bool operator==(const subscription_times&, const subscription_times&) = default;
};

/// Parses a diagram of a subscription, such as `--^---!`. \throws std::invalid_argument if it has
/// two `^` or two `!`, or anything besides `^`, `!`, `-`, spaces, durations and parentheses.
[[nodiscard]] subscription_times parse_subscription_marbles(std::string_view diagram,
                                                            const marble_syntax& options = {});

/// Returns the time of the first `|` of a diagram. \throws std::invalid_argument if there is none.
[[nodiscard]] std::chrono::nanoseconds parse_marble_time(std::string_view diagram,
                                                         const marble_syntax& options = {});

/// Returns the diagram of events, in run mode with frames of 1 ms, such that parse_marbles()
/// returns the same events. If no diagram does, because a group overlaps the next event or an event
/// is before 0, returns a list of the events instead, such as `a@-1ms b@0ms`.
[[nodiscard]] std::string print_marbles(std::span<const marble> marbles);
/// Returns the diagram of a subscription.
[[nodiscard]] std::string print_marbles(const subscription_times& times);

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
