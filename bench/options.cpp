#include "options.hpp"

#include <algorithm>
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
    throw bad_option("--rounds needs a number from 1 to 1000, not '" + std::string(text) + "'");
  }
  return rounds;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

const char* const usage =
    "usage: takt_bench [options]\n"
    "  --workload A,B  run only workloads with these ids (--list shows them)\n"
    "  --rounds N      number of rounds per setting (7; 3 with --quick)\n"
    "  --quick         fewer settings and a tenth of the work, for trying things\n"
    "                  out; do not quote its figures\n"
    "  --twin          also let each reference compete with itself: its ratio is the\n"
    "                  noise\n"
    "  --json FILE     write all samples to FILE\n"
    "  --check         check the declared bars; exit with 1 if one is missed\n"
    "  --list          list workloads, settings and competitors without running them\n"
    "  --help          this text\n";

command_line parse(std::span<const char* const> arguments) {
  command_line line;
  int rounds = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> const char* {
      if (i + 1 == arguments.size() || arguments[i + 1][0] == '\0') {
        throw bad_option(std::string(option) + " needs a value");
      }
      return arguments[++i];
    };
    if (option == "--workload") {
      line.workloads = split(value());
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

std::vector<workload> choose(std::vector<workload> all, const std::vector<std::string>& ids) {
  const auto unknown = std::ranges::find_if(ids, [&](const std::string& id) {
    return std::ranges::find(all, id, &workload::id) == all.end();
  });
  if (unknown != ids.end()) {
    std::string known;
    for (const workload& what : all) known.append(known.empty() ? "" : ", ").append(what.id);
    throw bad_option("unknown workload '" + *unknown + "'; there are: " + known);
  }
  std::erase_if(all, [&](const workload& what) {
    return !ids.empty() && std::ranges::find(ids, what.id) == ids.end();
  });
  return all;
}

}  // namespace bench
