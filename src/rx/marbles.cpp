#include <takt/rx/marbles.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace takt::inline TAKT_ABI {
namespace rx {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

[[noreturn]] void refuse(std::string_view diagram, const std::string& why) {
  throw std::invalid_argument("takt::rx marbles '" + std::string(diagram) + "': " + why);
}

constexpr nanoseconds longest = std::chrono::years(100);

bool begins_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Describes the character at a byte, such as "'(' at 3"; characters are counted from 1.
std::string sign_at(std::string_view diagram, std::size_t byte, std::string_view sign) {
  const auto before = std::ranges::count_if(diagram.substr(0, byte), begins_character);
  std::string text("'");
  return text.append(sign).append("' at ").append(std::to_string(before + 1));
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string number(nanoseconds t) {
  std::string text = std::to_string(t.count() / 1'000'000);
  if (nanoseconds part = t % 1ms; part != 0ns) {
    std::string digits = std::to_string(std::abs(part.count()));
    digits.insert(0, 6 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    if (t < 0ns && t > -1ms) text.insert(0, 1, '-');
    text += '.' + digits;
  }
  return text + "ms";
}

// Reads a diagram character by character, and keeps the time.
class reader {
 public:
  reader(std::string_view diagram, const marble_syntax& options)
      : text_(diagram), options_(options) {
    if (options.frame < 0ns) refuse(diagram, "a frame cannot last " + number(options.frame));
  }

  // Returns the next character that is an event, whose time is time(); empty at the end.
  std::string_view next() {
    while (at_ < text_.size()) {
      if (options_.run_mode && pass_time()) continue;
      const std::string_view c = character();
      found_ = at_;
      at_ += c.size();
      const nanoseconds begin = frame_;
      if (c != " " || !options_.run_mode) pass(options_.frame);
      if (c == " " || c == "-") continue;
      if (c == "(") {
        if (group_) refuse(text_, "there is " + sign(c) + " within a group");
        group_ = begin;
        group_found_ = found_;
        continue;
      }
      if (c == ")") {
        if (!group_) refuse(text_, "there is no '(' for the " + sign(c));
        group_.reset();
        continue;
      }
      time_ = group_.value_or(begin);
      return c;
    }
    if (group_) refuse(text_, "there is no ')' for the " + sign_at(text_, group_found_, "("));
    return {};
  }
  // Describes the last character and its position.
  [[nodiscard]] std::string sign(std::string_view c) const { return sign_at(text_, found_, c); }
  [[nodiscard]] nanoseconds time() const noexcept { return time_; }
  // Undoes the frame of the last character.
  void take_back_frame() noexcept { frame_ -= options_.frame; }

 private:
  // Returns the bytes of the current character.
  [[nodiscard]] std::string_view character() const noexcept {
    std::size_t end = at_ + 1;
    while (end < text_.size() && !begins_character(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  void pass(nanoseconds d) {
    if (d > longest || frame_ > longest - d) refuse(text_, "it is longer than a hundred years");
    frame_ += d;
  }

  // Reads a duration: "10ms ", "1.5s ", "2m ", at the beginning or after a space.
  bool pass_time() {
    if (!is_digit(text_[at_]) || (at_ != 0 && text_[at_ - 1] != ' ')) return false;
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    const std::string_view rest = text_.substr(end);
    const auto unit = [&](std::string_view name) { return rest.starts_with(name); };
    double scale = 0;
    if (unit("ms ")) {
      scale = 1e6;
    } else if (unit("s ")) {
      scale = 1e9;
    } else if (unit("m ")) {
      scale = 60e9;
    } else {
      return false;
    }
    // The result for a number that a double cannot represent: too small or too large. The unit ends
    // the search for a digit other than 0.
    const bool below_1 = text_[text_.find_first_not_of('0', at_)] == '.';
    double count = below_1 ? 0 : std::numeric_limits<double>::infinity();
    std::from_chars(text_.data() + at_, text_.data() + end, count);  // independent of the locale
    pass(to_nanoseconds(std::chrono::duration<double, std::nano>(std::round(count * scale))));
    at_ = end + rest.find(' ') + 1;
    return true;
  }

  const std::string_view text_;
  const marble_syntax options_;
  std::size_t at_ = 0;
  std::size_t found_ = 0;  // position of the last character
  nanoseconds frame_{0};
  nanoseconds time_{0};
  std::optional<nanoseconds> group_;  // time of the open group
  std::size_t group_found_ = 0;       // its position
};

std::string symbol_of(const marble& m) {
  if (m.kind == marble_kind::complete) return "|";
  return m.kind == marble_kind::error ? "#" : m.symbol;
}

std::string list_of(std::span<const marble> marbles) {
  std::string text;
  for (const marble& m : marbles) {
    if (!text.empty()) text += ' ';
    text += symbol_of(m) + '@' + number(m.time);
  }
  return text;
}

// Writes a diagram from left to right.
class writer {
 public:
  // \return false if that time has passed.
  bool pass_to(nanoseconds t) {
    if (t < now_) return false;
    const nanoseconds gap = t - now_;
    now_ = t;
    if (gap < 10ms && gap % 1ms == 0ns) {
      line_.append(static_cast<std::size_t>(gap / 1ms), '-');
    } else {
      if (!line_.empty()) line_ += ' ';
      line_ += number(gap) + ' ';
    }
    return true;
  }
  void put(std::string_view character, nanoseconds frame = 1ms) {
    line_ += character;
    now_ += frame;
  }
  [[nodiscard]] const std::string& line() const noexcept { return line_; }

 private:
  std::string line_;
  nanoseconds now_{0};
};

}  // namespace

std::vector<marble> parse_marbles(std::string_view diagram, const marble_syntax& options) {
  if (const std::size_t at = diagram.find('!'); at != std::string_view::npos) {
    refuse(diagram, "the unsubscription marker " + sign_at(diagram, at, "!") +
                        " is for diagrams of subscriptions");
  }
  std::vector<marble> marbles;
  std::optional<nanoseconds> zero;  // the first ^
  reader in(diagram, options);
  for (std::string_view c = in.next(); !c.empty(); c = in.next()) {
    if (c == "^") {
      if (!zero) zero = in.time();
    } else if (c == "|") {
      marbles.push_back({in.time(), marble_kind::complete});
    } else if (c == "#") {
      marbles.push_back({in.time(), marble_kind::error});
    } else {
      marbles.push_back({in.time(), marble_kind::next, std::string(c)});
    }
  }
  for (marble& m : marbles) m.time -= zero.value_or(0ns);
  return marbles;
}

subscription_times parse_subscription_marbles(std::string_view diagram,
                                              const marble_syntax& options) {
  subscription_times times;
  reader in(diagram, options);
  for (std::string_view c = in.next(); !c.empty(); c = in.next()) {
    if (c != "^" && c != "!") {
      refuse(diagram, "there can only be '^' and '!' in a subscription, found " + in.sign(c));
    }
    nanoseconds& which = c == "^" ? times.subscribed : times.unsubscribed;
    if (which != never)
      refuse(diagram, "there can only be one '" + std::string(c) + "', found " + in.sign(c));
    which = in.time();
    if (c == "!") in.take_back_frame();
  }
  return times;
}

nanoseconds parse_marble_time(std::string_view diagram, const marble_syntax& options) {
  std::optional<nanoseconds> end;  // the first |
  reader in(diagram, options);
  for (std::string_view c = in.next(); !c.empty(); c = in.next()) {
    if (c == "|" && !end) end = in.time();
  }
  if (!end) refuse(diagram, "a time needs a completion marker '|'");
  return *end;
}

// Returns false if digits are parsed as a duration, possibly one that is too long.
static bool reads_as(std::string_view diagram, std::span<const marble> marbles) {
  try {
    return std::ranges::equal(parse_marbles(diagram), marbles);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string print_marbles(std::span<const marble> marbles) {
  writer out;
  for (std::size_t i = 0; i < marbles.size();) {
    const nanoseconds t = marbles[i].time;
    std::size_t end = i + 1;
    while (end < marbles.size() && marbles[end].time == t) ++end;
    if (!out.pass_to(t)) return list_of(marbles);
    const bool group = end - i > 1;
    if (group) out.put("(");
    for (; i < end; ++i) out.put(symbol_of(marbles[i]));
    if (group) out.put(")");
  }
  return reads_as(out.line(), marbles) ? out.line() : list_of(marbles);
}

std::string print_marbles(const subscription_times& times) {
  writer out;
  if (times.subscribed == times.unsubscribed && times.subscribed != never) {
    out.pass_to(times.subscribed);
    return out.line() + "(^!)";
  }
  std::pair first{times.subscribed, "^"};
  std::pair second{times.unsubscribed, "!"};
  if (second.first < first.first) std::swap(first, second);  // possible in a diagram
  for (const auto& [time, sign] : {first, second}) {
    if (time == never) continue;
    out.pass_to(time);
    out.put(sign, time == times.unsubscribed ? 0ms : 1ms);  // as in the parser
  }
  return out.line();
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
