/// \file
/// The benchmark harness: workloads, their competitors, and rounds that interleave them.
///
/// A workload is data (see any <workload>/workload.cpp). A competitor is a function that sets
/// itself up, times only the operation in question, and returns one number for each metric.
///
/// Read every figure as a ratio to the workload's reference within one run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

enum class better : std::uint8_t { lower, higher };

/// A metric of a workload, e.g. {"p99", "us"}.
struct metric {
  std::string name;
  std::string unit;
  better direction = better::lower;
};

/// A parameter of a workload. The workload runs once for each value or, with several parameters,
/// for each combination. --quick uses the quick values, if there are any.
struct parameter {
  std::string name;
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> quick_values{};
};

/// One value for each parameter, in the workload's order.
using setting = std::vector<std::pair<std::string, std::int64_t>>;

/// The input of one run of a competitor.
struct request {
  setting parameters;
  bool quick = false;

  /// Returns the value of a parameter. \throws std::out_of_range if the workload has no such
  /// parameter.
  std::int64_t operator[](std::string_view name) const;

  /// Returns the amount of work: `full`, or a tenth of it in a quick run.
  [[nodiscard]] std::int64_t amount(std::int64_t full) const { return quick ? full / 10 : full; }
};

/// One number for each metric, in the workload's order.
using numbers = std::vector<double>;

/// Thrown by a competitor that cannot run on this machine. what() is the reason, which the report
/// shows.
class unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct competitor {
  std::string name;
  std::function<numbers(const request&)> run;
};

/// A bar that --check tests: in every setting, `subject` is at least `at_least` times ahead of `of`
/// (a value below 1 allows it to be behind). Without `of` the bar is a limit: the median is at most
/// `at_most`; such a bar is for promises that no peer makes, and should leave room for slower
/// machines. With both, either is enough. With `grown_from` the limit is a factor: the median is at
/// most that many times the median in the setting with these values. An empty metric means all
/// metrics. `where` restricts the bar to settings with these values.
struct bar {
  std::string subject;
  double at_least = 1.0;
  std::string of{};
  double at_most = 0;
  std::string metric{};
  setting where{};
  setting grown_from{};
};

struct workload {
  std::string id;
  std::string title;
  std::vector<metric> metrics;
  std::vector<parameter> parameters{};
  std::vector<competitor> competitors;  ///< The first one is the reference of all ratios.
  std::vector<bar> bars{};
};

/// Results of one setting: samples[competitor][metric][round]. A skipped competitor has no samples.
struct case_result {
  setting parameters;
  std::vector<std::vector<std::vector<double>>> samples;
};

struct workload_result {
  workload what;
  std::map<std::string, std::string> skipped{};  ///< competitor -> reason
  std::vector<case_result> cases{};
};

/// The result of a bar in one setting. It is not measured if one of the two competitors was
/// skipped, or is not in this setting.
struct verdict {
  std::string text;
  bool measured = false;
  bool held = false;
  double ratio = 0;  ///< Factor by which it is ahead of the peer or of the limit.
};

struct run_options {
  int rounds = 7;
  bool quick = false;
  bool twin = false;  ///< The reference also competes with itself: its ratio is the noise.
};

class progress;

/// Runs every setting of a workload: a warm-up round, which is discarded, and then the rounds. Each
/// round runs every competitor once, in an order that is shuffled anew. \throws std::logic_error if
/// a competitor does not return one finite number for each metric; any exception of a competitor
/// except `unavailable`.
workload_result run(const workload& what, const run_options& options, progress& shown);

/// Checks each bar of the workload in each setting that it applies to. \throws std::logic_error if
/// a bar names a competitor or metric that the workload does not have.
std::vector<verdict> check(const workload_result& result);

/// Returns e.g. "producers=2", or "" for a workload without parameters.
std::string to_string(const setting& parameters);

}  // namespace bench
