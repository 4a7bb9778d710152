// Parses diagrams: printing and parsing again gives the same result. Invalid diagrams are errors
// with a position.
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <takt/rx/marbles.hpp>

#include "fuzz.hpp"

namespace {

namespace rx = takt::rx;

// Half of the characters have a meaning, the others are arbitrary.
std::string diagram_from(script& input) {
  static constexpr char signs[] = "---  ab()|#^!019.ms";
  std::string text;
  while (!input.done()) {
    const std::size_t c = input.next(256);
    text += c < 192 ? signs[c % (sizeof signs - 1)] : static_cast<char>(input.next(256));
  }
  return text;
}

void check_marbles(const std::string& text, const rx::marble_syntax& how) {
  std::vector<rx::marble> read;
  try {
    read = rx::parse_marbles(text, how);
  } catch (const std::invalid_argument&) {
    return;
  }
  const std::string printed = rx::print_marbles(read);
  if (printed.find('@') != std::string::npos) return;  // a list, or a value with that name
  EXPECT(rx::parse_marbles(printed) == read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  script input(data, size);
  const rx::marble_syntax how{.frame = std::chrono::milliseconds(1),
                              .run_mode = input.next(2) == 0};
  const std::string text = diagram_from(input);
  check_marbles(text, how);
  try {
    const rx::subscription_times times = rx::parse_subscription_marbles(text, how);
    EXPECT(rx::parse_subscription_marbles(rx::print_marbles(times)) == times);
  } catch (const std::invalid_argument&) {
  }
  try {
    static_cast<void>(rx::parse_marble_time(text, how));
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
