#include "report.hpp"

#include <iomanip>
#include <optional>
#include <ostream>
#include <string_view>

#include "statistics.hpp"

namespace bench {
namespace {

struct quoted {
  std::string_view text;
};

std::ostream& operator<<(std::ostream& out, quoted q) {
  constexpr char hex[] = "0123456789abcdef";
  out << '"';
  for (const char c : q.text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (code < 0x20) {
      out << "\\u00" << hex[code >> 4] << hex[code & 15];
    } else {
      out << c;
    }
  }
  return out << '"';
}

// Writes a comma before every element except the first.
class separator {
 public:
  explicit separator(std::string_view between) : between_(between) {}

  friend std::ostream& operator<<(std::ostream& out, separator& s) {
    if (s.used_) return out << s.between_;
    s.used_ = true;
    return out;
  }

 private:
  std::string_view between_;
  bool used_ = false;
};

std::optional<spread> ratio_to_reference(const workload& what, const case_result& at,
                                         std::size_t competitor_index, std::size_t metric_index) {
  if (at.samples[0].empty()) return std::nullopt;
  return paired_ratio(at.samples[competitor_index][metric_index], at.samples[0][metric_index],
                      what.metrics[metric_index].direction);
}

bool is_takt(const competitor& subject) { return subject.name.starts_with("takt"); }

// The best competitor that is not takt, by its median. None if no peer ran.
std::optional<std::size_t> best_peer(const workload& what, const case_result& at,
                                     std::size_t metric_index) {
  const bool lower = what.metrics[metric_index].direction == better::lower;
  std::optional<std::size_t> found;
  double best_median = 0;
  for (std::size_t c = 0; c < what.competitors.size(); ++c) {
    if (is_takt(what.competitors[c]) || at.samples[c].empty()) continue;
    const double here = median(at.samples[c][metric_index]);
    if (found && (lower ? here >= best_median : here <= best_median)) continue;
    found = c;
    best_median = here;
  }
  return found;
}

void write_ratio(const spread& ratio, std::ostream& out) {
  out << "\"low\": " << ratio.low << ", \"median\": " << ratio.median
      << ", \"high\": " << ratio.high;
}

void write_figures(const workload& what, const case_result& at, std::ostream& out) {
  separator comma(",\n        ");
  for (std::size_t c = 0; c < what.competitors.size(); ++c) {
    if (at.samples[c].empty()) continue;
    for (std::size_t m = 0; m < what.metrics.size(); ++m) {
      const auto& samples = at.samples[c][m];
      out << comma << "{\"competitor\": " << quoted{what.competitors[c].name}
          << ", \"metric\": " << quoted{what.metrics[m].name} << ", \"median\": " << median(samples)
          << ", \"best\": " << best(samples, what.metrics[m].direction);
      if (const auto ratio = ratio_to_reference(what, at, c, m)) {
        out << ", \"ratio\": {";
        write_ratio(*ratio, out);
        out << "}";
      }
      const auto peer = best_peer(what, at, m);
      if (peer && is_takt(what.competitors[c])) {
        out << ", \"best_peer\": {\"name\": " << quoted{what.competitors[*peer].name};
        const auto ratio = paired_ratio(samples, at.samples[*peer][m], what.metrics[m].direction);
        if (ratio) {
          out << ", ";
          write_ratio(*ratio, out);
        }
        out << "}";
      }
      out << ", \"samples\": [";
      separator between(", ");
      for (const double sample : samples) out << between << sample;
      out << "]}";
    }
  }
}

void write_workload(const workload_result& result, std::ostream& out) {
  const workload& what = result.what;
  out << "    {\"id\": " << quoted{what.id} << ", \"title\": " << quoted{what.title}
      << ",\n     \"metrics\": [";
  separator between_metrics(", ");
  for (const metric& m : what.metrics) {
    out << between_metrics << "{\"name\": " << quoted{m.name} << ", \"unit\": " << quoted{m.unit}
        << ", \"better\": " << (m.direction == better::lower ? "\"lower\"" : "\"higher\"") << "}";
  }
  out << "],\n     \"competitors\": [";
  separator between_competitors(", ");
  for (const competitor& c : what.competitors) out << between_competitors << quoted{c.name};
  out << "],\n     \"reference\": " << quoted{what.competitors[0].name} << ",\n     \"skipped\": {";
  separator between_skipped(", ");
  for (const auto& [name, reason] : result.skipped) {
    out << between_skipped << quoted{name} << ": " << quoted{reason};
  }
  out << "},\n     \"cases\": [\n";
  separator between_cases(",\n");
  for (const case_result& at : result.cases) {
    out << between_cases << "       {\"parameters\": {";
    separator between_parameters(", ");
    for (const auto& [name, value] : at.parameters) {
      out << between_parameters << quoted{name} << ": " << value;
    }
    out << "}, \"results\": [\n        ";
    write_figures(what, at, out);
    out << "]}";
  }
  out << "],\n     \"bars\": [";
  separator between_bars(",\n       ");
  for (const verdict& v : check(result)) {
    out << between_bars << "{\"text\": " << quoted{v.text} << ", \"measured\": " << std::boolalpha
        << v.measured << ", \"held\": " << v.held << ", \"ratio\": " << v.ratio << "}";
  }
  out << "]}";
}

}  // namespace

void write_table(const workload_result& result, std::ostream& out) {
  const workload& what = result.what;
  out << std::fixed;
  for (const case_result& at : result.cases) {
    for (std::size_t m = 0; m < what.metrics.size(); ++m) {
      const metric& measured = what.metrics[m];
      out << "\n"
          << what.id << ' ' << to_string(at.parameters) << "  " << measured.name << " ["
          << measured.unit << "]\n";
      for (std::size_t c = 0; c < what.competitors.size(); ++c) {
        out << "  " << std::left << std::setw(28) << what.competitors[c].name << std::right;
        if (at.samples[c].empty()) {
          out << "  skipped: " << result.skipped.at(what.competitors[c].name) << '\n';
          continue;
        }
        const auto& samples = at.samples[c][m];
        out << std::setprecision(1) << "  median " << std::setw(9) << median(samples) << "  best "
            << std::setw(9) << best(samples, measured.direction);
        if (const auto ratio = ratio_to_reference(what, at, c, m)) {
          out << std::setprecision(2) << "  ratio " << std::setw(6) << ratio->median << "x ("
              << ratio->low << " to " << ratio->high << ")";
        }
        out << '\n';
      }
    }
  }
  out << std::defaultfloat;
}

void write_json(const environment& where, const run_options& options,
                const std::vector<workload_result>& results, std::ostream& out) {
  out << std::setprecision(8)
      << "{\n  \"format\": 2,\n  \"environment\": {\"takt\": " << quoted{where.takt}
      << ", \"compiler\": " << quoted{where.compiler} << ", \"peers\": {";
  separator between_peers(", ");
  for (const auto& [name, version] : where.peers) {
    out << between_peers << quoted{name} << ": " << quoted{version};
  }
  out << "}, \"cpu\": " << quoted{where.cpu} << ", \"cores\": " << where.cores
      << ", \"kernel\": " << quoted{where.kernel} << ", \"date\": " << quoted{where.date}
      << ", \"load\": " << where.load << "},\n  \"rounds\": " << options.rounds
      << ",\n  \"quick\": " << std::boolalpha << options.quick << ",\n  \"workloads\": [\n";
  separator comma(",\n");
  for (const workload_result& result : results) {
    out << comma;
    write_workload(result, out);
  }
  out << "\n  ]\n}\n";
}

}  // namespace bench
