// An observer that records task events and writes them as a Chrome trace (for chrome://tracing or
// Perfetto) or as an SVG picture. takt itself exports nothing; copy this file if you need it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <takt/observe/task_observer.hpp>

// Records the first `capacity` events and counts the rest. Write the files after all observed
// components have terminated.
class timeline : public takt::task_observer {
 public:
  explicit timeline(std::size_t capacity = 10'000) { events_.reserve(capacity); }

  void on_event(const takt::task_event& event) noexcept override {
    using kind = takt::task_event::kind;
    if (event.what == kind::started || event.what == kind::submitted)
      return;  // the end event has all times
    const std::scoped_lock lock(mu_);
    if (events_.size() == events_.capacity()) {
      ++lost_;
      return;
    }
    entry e{.what = event.what, .failed = event.failed, .lane = lane(), .when = event.when};
    const bool ran = event.what == kind::ran || event.what == kind::finished;
    e.began = ran ? event.began : event.when;
    e.due = ran ? event.due : event.when;
    std::copy_n(event.name.begin(), std::min(event.name.size(), e.name.size() - 1), e.name.begin());
    begin_ = std::min({begin_, e.due, e.began});
    end_ = std::max(end_, e.when);
    events_.push_back(e);
  }

  [[nodiscard]] std::size_t runs() const {
    return static_cast<std::size_t>(
        std::count_if(events_.begin(), events_.end(), [](const entry& e) { return e.is_run(); }));
  }
  [[nodiscard]] std::size_t lost() const { return lost_; }

  void write_trace(std::ostream& to) const {
    to << R"({"traceEvents":[)";
    const char* separator = "\n";
    for (const entry& e : events_) {
      to << separator << R"({"pid":1,"tid":)" << e.lane << R"(,"ts":)" << microseconds(e.began)
         << R"(,"name":")" << escaped(e.label()) << R"(",)";
      if (e.is_run()) {
        to << R"("ph":"X","dur":)" << microseconds(e.when) - microseconds(e.began)
           << R"(,"args":{"late_us":)" << microseconds(e.began) - microseconds(e.due) << "}}";
      } else {
        to << R"("ph":"i","s":"t","args":{"end":")" << word(e.what) << R"("}})";
      }
      separator = ",\n";
    }
    to << "\n]}\n";
  }

  void write_picture(std::ostream& to) const {
    const double span = std::max(1.0, microseconds(end_));
    const auto x = [&](time_point t) {
      return left + (width - left - 10) * microseconds(t) / span;
    };
    const double height = top + lane_height * static_cast<double>(threads_.size()) + 30;
    to << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width << ' ' << height
       << "' font-family='sans-serif' font-size='11'>\n<rect width='100%' height='100%' "
          "fill='white'/>\n";
    double at = left;
    std::vector<std::string> names;
    for (const entry& e : events_) {
      if (std::find(names.begin(), names.end(), e.label()) != names.end()) continue;
      names.push_back(e.label());
      to << "<rect x='" << at << "' y='8' width='10' height='10' fill='" << colour(names, e)
         << "'/><text x='" << at + 14 << "' y='17'>" << escaped(e.label()) << "</text>\n";
      at += 30 + 7.0 * static_cast<double>(e.label().size());
    }
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const double y = top + lane_height * static_cast<double>(i);
      to << "<text x='4' y='" << y + 16 << "'>thread " << i + 1 << "</text><line x1='" << left
         << "' y1='" << y + lane_height - 3 << "' x2='" << width - 10 << "' y2='"
         << y + lane_height - 3 << "' stroke='#dddddd'/>\n";
    }
    for (const entry& e : events_) {
      const double y = top + lane_height * static_cast<double>(e.lane);
      if (e.is_run()) {
        to << "<rect x='" << x(e.began) << "' y='" << y << "' width='"
           << std::max(1.5, x(e.when) - x(e.began)) << "' height='" << lane_height - 6 << "' fill='"
           << colour(names, e) << "'";
        if (e.failed) to << " stroke='black'";
        to << "><title>" << escaped(e.label()) << ", "
           << microseconds(e.when) - microseconds(e.began) << " us, late by "
           << microseconds(e.began) - microseconds(e.due) << " us</title></rect>\n";
      } else {
        to << "<text x='" << x(e.when) - 4 << "' y='" << y + 15 << "' fill='" << colour(names, e)
           << "'>&#x2715;<title>" << escaped(e.label()) << " " << word(e.what)
           << "</title></text>\n";
      }
    }
    double step = 1;  // microseconds: 1, 10, 100, ..., or five times that
    while (span > 12 * step) step *= span > 60 * step ? 10 : 5;
    for (int i = 0; i * step <= span; ++i) {
      const double t = i * step;
      to << "<text x='" << left + (width - left - 10) * t / span << "' y='" << height - 8
         << "' text-anchor='middle' fill='#666666'>" << t / 1000 << " ms</text>\n";
    }
    to << "</svg>\n";
  }

 private:
  using time_point = takt::task_event::time_point;
  static constexpr double width = 960;
  static constexpr double left = 70;
  static constexpr double top = 32;
  static constexpr double lane_height = 26;

  struct entry {
    takt::task_event::kind what;
    bool failed;
    std::size_t lane;
    time_point when;
    time_point began{};
    time_point due{};
    std::array<char, 24> name{};

    [[nodiscard]] bool is_run() const {
      return what == takt::task_event::kind::ran || what == takt::task_event::kind::finished;
    }
    [[nodiscard]] std::string label() const {
      return name[0] == '\0' ? std::string("task") : std::string(name.data());
    }
  };

  std::size_t lane() {
    const auto id = std::this_thread::get_id();
    const auto found = std::find(threads_.begin(), threads_.end(), id);
    if (found != threads_.end()) return static_cast<std::size_t>(found - threads_.begin());
    threads_.push_back(id);
    return threads_.size() - 1;
  }

  [[nodiscard]] double microseconds(time_point t) const {
    return std::chrono::duration<double, std::micro>(t - begin_).count();
  }

  static const char* word(takt::task_event::kind what) {
    switch (what) {
      case takt::task_event::kind::cancelled:
        return "cancelled";
      case takt::task_event::kind::rejected:
        return "rejected";
      case takt::task_event::kind::returned:
        return "returned";
      case takt::task_event::kind::missed:
        return "missed";
      default:
        return "ran";
    }
  }

  static const char* colour(const std::vector<std::string>& names, const entry& e) {
    static constexpr std::array colours{"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                        "#66ccee", "#aa3377", "#777777"};
    const auto found = std::find(names.begin(), names.end(), e.label());
    return colours[static_cast<std::size_t>(found - names.begin()) % colours.size()];
  }

  // Replaces characters that JSON or XML would have to escape.
  static std::string escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
      const bool plain = c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
      safe += plain ? c : '_';
    }
    return safe;
  }

  std::mutex mu_;  // guards all fields below until the observed components have terminated
  std::vector<entry> events_;
  std::vector<std::thread::id> threads_;
  std::uint64_t lost_ = 0;
  time_point begin_ = time_point::max();
  time_point end_ = time_point::min();
};
