#include "harness.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>

#include "progress.hpp"
#include "statistics.hpp"

namespace bench {
namespace {

// Returns every combination of the parameters' values; one empty setting if there are none.
std::vector<setting> settings_of(const workload& what, bool quick) {
  std::vector<setting> all{{}};
  for (const parameter& p : what.parameters) {
    const auto& values = quick && !p.quick_values.empty() ? p.quick_values : p.values;
    std::vector<setting> extended;
    for (const setting& s : all) {
      for (const std::int64_t value : values) {
        extended.push_back(s);
        extended.back().emplace_back(p.name, value);
      }
    }
    all = std::move(extended);
  }
  return all;
}

void require_sound(const workload& what, const competitor& subject, const numbers& got) {
  const bool sound = got.size() == what.metrics.size() &&
                     std::ranges::all_of(got, [](double x) { return std::isfinite(x); });
  if (!sound) {
    throw std::logic_error(what.id + "/" + subject.name +
                           " did not return one finite number for each metric");
  }
}

std::size_t index_of_competitor(const workload& what, const std::string& name) {
  const auto found = std::ranges::find(what.competitors, name, &competitor::name);
  if (found == what.competitors.end()) {
    throw std::logic_error("a bar of " + what.id + " names an unknown competitor: " + name);
  }
  return static_cast<std::size_t>(found - what.competitors.begin());
}

bool contains(const setting& parameters, const setting& part) {
  return std::ranges::all_of(part, [&](const auto& value) {
    return std::ranges::find(parameters, value) != parameters.end();
  });
}

// The results in the setting with these values instead; null if it was not run.
const case_result* case_with(const workload_result& result, setting parameters,
                             const setting& values) {
  for (auto& [name, value] : parameters) {
    for (const auto& [changed, to] : values) {
      if (name == changed) value = to;
    }
  }
  const auto found = std::ranges::find(result.cases, parameters, &case_result::parameters);
  return found == result.cases.end() ? nullptr : &*found;
}

// Factor by which the median is below the limit, at most 1000.
double below(double limit, const std::vector<double>& samples) {
  return limit / std::max(median(samples), limit / 1000);
}

verdict judge(const workload_result& result, const bar& promise, const case_result& at,
              std::size_t metric_index) {
  const metric& m = result.what.metrics[metric_index];
  std::ostringstream text;
  text << result.what.id;
  if (!at.parameters.empty()) text << " " << to_string(at.parameters);
  text << ", " << m.name << ": " << promise.subject;

  const std::size_t index = index_of_competitor(result.what, promise.subject);
  const auto& subject = at.samples[index];
  std::optional<double> ratio;
  if (!promise.grown_from.empty()) {
    text << " at most " << promise.at_most << "x of " << to_string(promise.grown_from);
    const case_result* const from = case_with(result, at.parameters, promise.grown_from);
    if (from != nullptr && !subject.empty() && !from->samples[index].empty()) {
      const double limit = promise.at_most * median(from->samples[index][metric_index]);
      if (limit > 0) ratio = below(limit, subject[metric_index]);
    }
  } else if (promise.of.empty()) {
    text << " at most " << promise.at_most << " " << m.unit;
    if (!subject.empty()) ratio = below(promise.at_most, subject[metric_index]);
  } else {
    text << " at least " << promise.at_least << "x ahead of " << promise.of;
    if (promise.at_most > 0) text << ", or at most " << promise.at_most << " " << m.unit;
    const auto& of = at.samples[index_of_competitor(result.what, promise.of)];
    if (!subject.empty() && !of.empty()) {
      const auto found = paired_ratio(subject[metric_index], of[metric_index], m.direction);
      if (found) ratio = found->median;
    }
  }
  verdict found{.text = text.str()};
  if (ratio) {
    found.measured = true;
    found.held = *ratio >= (promise.of.empty() ? 1.0 : promise.at_least) ||
                 (!promise.of.empty() && promise.at_most > 0 &&
                  below(promise.at_most, subject[metric_index]) >= 1.0);
    found.ratio = *ratio;
  }
  return found;
}

}  // namespace

std::int64_t request::operator[](std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  throw std::out_of_range("this workload has no parameter " + std::string(name));
}

std::string to_string(const setting& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (!text.empty()) text += ' ';
    text += name + "=" + std::to_string(value);
  }
  return text;
}

workload_result run(const workload& what, const run_options& options, progress& shown) {
  workload_result result{.what = what};
  auto& competitors = result.what.competitors;
  if (options.twin) competitors.push_back({competitors[0].name + "_twin", competitors[0].run});

  std::vector<std::size_t> order(competitors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 shuffler{2024};  // the same orders in every run

  const auto settings = settings_of(what, options.quick);
  shown.workload(what.id, settings.size());
  for (const setting& parameters : settings) {
    const request asked{.parameters = parameters, .quick = options.quick};
    case_result figures{.parameters = parameters, .samples = {}};
    figures.samples.resize(competitors.size());

    shown.setting(to_string(parameters));
    for (int round = 0; round <= options.rounds; ++round) {  // round 0 is the warm-up
      shown.round(round, options.rounds);
      std::ranges::shuffle(order, shuffler);
      for (const std::size_t index : order) {
        const competitor& subject = competitors[index];
        if (result.skipped.contains(subject.name)) continue;
        try {
          const numbers got = subject.run(asked);
          require_sound(what, subject, got);
          if (round == 0) continue;
          auto& samples = figures.samples[index];
          samples.resize(what.metrics.size());
          for (std::size_t m = 0; m < got.size(); ++m) samples[m].push_back(got[m]);
        } catch (const unavailable& reason) {
          result.skipped.emplace(subject.name, reason.what());
          figures.samples[index].clear();
        }
      }
    }
    result.cases.push_back(std::move(figures));
  }
  shown.clear();
  return result;
}

std::vector<verdict> check(const workload_result& result) {
  std::vector<verdict> verdicts;
  for (const bar& promise : result.what.bars) {
    index_of_competitor(result.what, promise.subject);
    if (promise.of.empty() && promise.at_most <= 0) {
      throw std::logic_error("a bar of " + result.what.id + " needs a peer or a limit");
    }
    if (!promise.of.empty()) index_of_competitor(result.what, promise.of);
    bool known_metric = false;
    for (std::size_t m = 0; m < result.what.metrics.size(); ++m) {
      if (!promise.metric.empty() && promise.metric != result.what.metrics[m].name) continue;
      known_metric = true;
      for (const case_result& at : result.cases) {
        if (!contains(at.parameters, promise.where)) continue;
        verdicts.push_back(judge(result, promise, at, m));
      }
    }
    if (!known_metric) {
      throw std::logic_error("a bar of " + result.what.id +
                             " names an unknown metric: " + promise.metric);
    }
  }
  return verdicts;
}

}  // namespace bench
