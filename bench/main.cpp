#include <unistd.h>

#include <cstdint>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <vector>

#include "harness.hpp"
#include "options.hpp"
#include "peers/versions.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "workloads.hpp"

namespace {

enum exit_code : std::uint8_t { success = 0, failure = 1, bad_usage = 2 };

std::vector<bench::workload> all_workloads() {
  std::vector<bench::workload> all;
  for (const auto& declare :
       {bench::submit_workload,       bench::spawn_workload,    bench::wake_workload,
        bench::serial_workload,       bench::stop_workload,     bench::churn_workload,
        bench::growth_workload,       bench::churn_mt_workload, bench::reschedule_workload,
        bench::fire_workload,         bench::periodic_workload, bench::late_workload,
        bench::idle_workload,         bench::memory_workload,   bench::memory_resident_workload,
        bench::stop_delayed_workload, bench::callable_workload, bench::mpsc_workload,
        bench::park_workload,         bench::observe_workload,  bench::task_workload,
        bench::timers_workload,       bench::rx_workload}) {
    all.push_back(declare());
  }
  return all;
}

void list(const std::vector<bench::workload>& chosen) {
  for (const bench::workload& what : chosen) {
    std::cout << what.id << ": " << what.title << '\n';
    for (const bench::parameter& p : what.parameters) {
      std::cout << "  " << p.name << " =";
      for (const auto value : p.values) std::cout << ' ' << value;
      std::cout << '\n';
    }
    for (const bench::metric& m : what.metrics) {
      std::cout << "  measures " << m.name << " [" << m.unit << "]\n";
    }
    for (const bench::competitor& c : what.competitors) {
      std::cout << "  " << c.name << (&c == what.competitors.data() ? " (reference)" : "") << '\n';
    }
  }
}

bool report_bars(const std::vector<bench::workload_result>& results) {
  bool all_held = true;
  std::cout << "\nbars\n" << std::fixed << std::setprecision(2);
  for (const auto& result : results) {
    for (const bench::verdict& v : bench::check(result)) {
      if (!v.measured) {
        std::cout << "  not measured  " << v.text << '\n';
        continue;
      }
      all_held = all_held && v.held;
      std::cout << (v.held ? "  held    " : "  MISSED  ") << std::setw(6) << v.ratio << "x  "
                << v.text << '\n';
    }
  }
  return all_held;
}

int run(const bench::command_line& line) {
  const auto chosen = bench::choose(all_workloads(), line.workloads);
  if (line.list) {
    list(chosen);
    return success;
  }
  std::ofstream json;
  if (!line.json_path.empty()) {
    json.open(line.json_path);  // before the long run, not after it
    if (!json) throw bench::bad_option("cannot write '" + line.json_path + "'");
  }
  bench::environment where = bench::current_environment();
  where.peers = bench::peer_versions();
  std::vector<bench::workload_result> results;
  bench::progress shown(std::cerr, isatty(STDERR_FILENO) == 1, chosen.size());
  for (const bench::workload& what : chosen) {
    results.push_back(bench::run(what, line.run, shown));
    bench::write_table(results.back(), std::cout);
  }
  if (json.is_open()) {
    bench::write_json(where, line.run, results, json);
    json.close();
    if (!json) {
      std::cerr << "takt_bench: writing '" << line.json_path << "' failed\n";
      return failure;
    }
  }
  return line.check && !report_bars(results) ? failure : success;
}

}  // namespace

int main(int count, char** values) {
  try {
    const std::vector<const char*> arguments(values + 1, values + count);
    const bench::command_line line = bench::parse(arguments);
    if (line.help) {
      std::cout << bench::usage;
      return success;
    }
    return run(line);
  } catch (const bench::bad_option& error) {
    std::cerr << "takt_bench: " << error.what() << " (--help lists the options)\n";
    return bad_usage;
  } catch (const std::exception& error) {
    std::cerr << "takt_bench: " << error.what() << '\n';
    return failure;
  }
}
