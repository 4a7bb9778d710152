// Prints as Markdown how many runs each strategy needs to find each planted bug: the mean over 20
// seeds, and how often the bug was not found within 5,000 runs.
#include <array>
#include <cstdint>
#include <iostream>
#include <utility>

#include <takt/model/explore.hpp>

#include "planted.hpp"

int main() {
  using takt::model::strategy;
  constexpr std::array<std::pair<const char*, strategy>, 6> columns{{
      {"random", strategy::random},
      {"pct", strategy::pct},
      {"pos", strategy::pos},
      {"sticky", strategy::sticky},
      {"rotating", strategy::rotating},
      {"exhaustive", strategy::exhaustive},
  }};
  constexpr std::uint64_t seeds = 20;
  std::cout << "| planted bug |";
  for (const auto& [name, how] : columns) std::cout << " " << name << " |";
  std::cout << " worst of rotating |\n|---|";
  for (std::size_t i = 0; i <= columns.size(); ++i) std::cout << "---:|";
  std::cout << "\n";
  for (const planted_bug& p : planted_bugs()) {
    std::cout << "| " << p.name << " |";
    std::uint64_t worst = 0;
    for (const auto& [name, how] : columns) {
      std::uint64_t sum = 0;
      std::uint64_t missed = 0;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto r = takt::model::explore(
            {.runs = 5000, .how = how, .seed = seed, .check_leaks = false}, p.bug);
        if (r.clean()) {
          ++missed;
          continue;
        }
        sum += r.runs;
        if (how == strategy::rotating) worst = std::max(worst, r.runs);
        if (how == strategy::exhaustive) sum = r.runs * seeds, seed = seeds;
      }
      if (missed == seeds) {
        std::cout << " never |";
      } else {
        std::cout << " " << (sum + (seeds - missed) / 2) / (seeds - missed);
        if (missed > 0) std::cout << " (missed " << missed << ")";
        std::cout << " |";
      }
    }
    std::cout << " " << worst << " |\n";
  }
}
