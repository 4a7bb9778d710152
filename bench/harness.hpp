/// \file
/// The benchmark harness: workloads, their competitors, and rounds that interleave them.
///
/// A workload is data (see any <workload>/workload.cpp). A competitor is a function that sets
/// itself up, times only what the workload is about, and returns one number for each metric.
///
/// Every figure is meant to be read as a ratio to the workload's reference, within one run.
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

/// What a workload measures, e.g. {"p99", "us"}.
struct metric {
  std::string name;
  std::string unit;
  better direction = better::lower;
};

/// A parameter of a workload. It runs once for each value (with several parameters: for each
/// combination). With --quick the quick values are taken, if there are any.
struct parameter {
  std::string name;
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> quick_values{};
};

/// One value for each parameter, in the order in which the workload declares them.
using setting = std::vector<std::pair<std::string, std::int64_t>>;

/// What one run of a competitor is asked for.
struct request {
  setting parameters;
  bool quick = false;

  /// The value of a parameter; throws std::out_of_range if the workload has none of that name.
  std::int64_t operator[](std::string_view name) const;

  /// How much to do: all of `full`, or a tenth of it in a quick run.
  [[nodiscard]] std::int64_t amount(std::int64_t full) const { return quick ? full / 10 : full; }
};

/// One number for each metric of the workload, in the order in which it declares them.
using numbers = std::vector<double>;

/// Thrown by a competitor that cannot run here. what() is the reason that the report states.
class unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct competitor {
  std::string name;
  std::function<numbers(const request&)> run;
};

/// A promise that --check tests: in every setting, `who` is at least `at_least` times ahead of
/// `of` (below 1: at most so far behind). Without `of` it is a limit instead: the median is at most
/// `at_most`, for promises that no peer makes; it should leave room for slower machines. With both,
/// either of them is enough. With `grown_from` the limit is a factor: the median is at most so many
/// times what it is in the setting that has these values instead. An empty metric means each one.
/// `where` narrows it to the settings that contain these values.
struct bar {
  std::string who;
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

/// What the rounds of one setting gave: samples[competitor][metric][round]. A competitor that was
/// skipped has no samples.
struct case_result {
  setting parameters;
  std::vector<std::vector<std::vector<double>>> samples;
};

struct workload_result {
  workload what;
  std::map<std::string, std::string> skipped{};  ///< competitor -> reason
  std::vector<case_result> cases{};
};

/// A bar held against the figures of one setting. It is not measured when one of the two was
/// skipped, or is not among the settings.
struct verdict {
  std::string text;
  bool measured = false;
  bool held = false;
  double ratio = 0;  ///< How many times ahead, of the other or of the limit.
};

struct run_options {
  int rounds = 7;
  bool quick = false;
  bool twin = false;  ///< The reference competes with itself too: its ratio is the noise.
};

class progress;

/// Runs every setting of a workload: a warm-up round, which is dropped, and then the rounds, each
/// of which runs every competitor once, in an order that is shuffled anew.
/// Throws std::logic_error if a competitor returns something else than one finite number for
/// each metric, and whatever else a competitor throws.
workload_result run(const workload& what, const run_options& options, progress& shown);

/// Holds each bar of the workload against each setting that it is about. Throws std::logic_error
/// for a bar that names a competitor or metric which the workload does not have.
std::vector<verdict> check(const workload_result& result);

/// "producers=2", or "" for a workload without parameters.
std::string to_string(const setting& parameters);

}  // namespace bench
