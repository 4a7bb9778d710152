/// \file
/// The command line of takt_bench.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

/// A command line that cannot be understood; what() says which part and why.
class bad_option : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct command_line {
  run_options run{};
  std::vector<std::string> workloads{};  ///< Their ids; none: all of them.
  std::string json_path{};               ///< Empty: no file is written.
  bool list = false;
  bool check = false;
  bool help = false;
};

extern const char* const usage;

/// Reads the arguments that follow the program's name. Throws bad_option.
command_line parse(std::span<const char* const> arguments);

/// Those of `all` that have one of the ids, in the order of `all`; without ids, all of them. Throws
/// bad_option for an id that none of them has.
std::vector<workload> choose(std::vector<workload> all, const std::vector<std::string>& ids);

}  // namespace bench
