/// \file
/// The command line of takt_bench.
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "harness.hpp"

namespace bench {

/// A command line that cannot be understood; what() says which part and why.
class bad_option : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct command_line {
  run_options run{};
  std::string filter{};     ///< Workloads whose id contains this.
  std::string json_path{};  ///< Empty: no file is written.
  bool list = false;
  bool check = false;
  bool help = false;
};

extern const char* const usage;

/// Reads the arguments that follow the program's name. Throws bad_option.
command_line parse(std::span<const char* const> arguments);

}  // namespace bench
