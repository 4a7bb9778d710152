#include "options.hpp"

#include <charconv>
#include <string_view>

namespace bench {
namespace {

constexpr int quick_rounds = 3;
constexpr int most_rounds = 1000;

int parse_rounds(std::string_view text) {
  int rounds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rounds);
  if (error != std::errc{} || end != text.data() + text.size() || rounds < 1 ||
      rounds > most_rounds) {
    throw bad_option("--rounds wants a number from 1 to 1000, not '" + std::string(text) + "'");
  }
  return rounds;
}

}  // namespace

const char* const usage =
    "usage: takt_bench [options]\n"
    "  --filter X    only workloads whose id contains X\n"
    "  --rounds N    rounds per setting (7; 3 with --quick)\n"
    "  --quick       fewer settings, a tenth of the work: to try things out, not to quote\n"
    "  --twin        let each reference compete with itself as well: its ratio is the noise\n"
    "  --json FILE   write all samples to FILE\n"
    "  --check       hold the figures against the declared bars; exit 1 if one is missed\n"
    "  --list        list workloads, settings and competitors, and run nothing\n"
    "  --help        this text\n";

command_line parse(std::span<const char* const> arguments) {
  command_line line;
  int rounds = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> const char* {
      if (i + 1 == arguments.size() || arguments[i + 1][0] == '\0') {
        throw bad_option(std::string(option) + " wants a value");
      }
      return arguments[++i];
    };
    if (option == "--filter") {
      line.filter = value();
    } else if (option == "--rounds") {
      rounds = parse_rounds(value());
    } else if (option == "--json") {
      line.json_path = value();
    } else if (option == "--quick") {
      line.run.quick = true;
    } else if (option == "--twin") {
      line.run.twin = true;
    } else if (option == "--check") {
      line.check = true;
    } else if (option == "--list") {
      line.list = true;
    } else if (option == "--help") {
      line.help = true;
    } else {
      throw bad_option("unknown option '" + std::string(option) + "'");
    }
  }
  if (rounds != 0) {
    line.run.rounds = rounds;
  } else if (line.run.quick) {
    line.run.rounds = quick_rounds;
  }
  return line;
}

}  // namespace bench
