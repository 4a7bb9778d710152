/// \file
/// The outputs of a run: tables for people, JSON for tools/bench_report.py.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

/// The machine and the versions of a run. Contains neither host names nor paths.
struct environment {
  std::string takt{};
  std::string compiler{};
  std::map<std::string, std::string> peers{};  ///< Versions, by name.
  std::string cpu{};
  unsigned cores = 0;
  std::string kernel{};
  std::string date{};  ///< UTC
  double load = 0;     ///< The load average at the start.
};

environment current_environment();

void write_table(const workload_result& result, std::ostream& out);

void write_json(const environment& where, const run_options& options,
                const std::vector<workload_result>& results, std::ostream& out);

}  // namespace bench
