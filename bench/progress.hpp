/// \file
/// Shows the progress of a run.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "support/stopwatch.hpp"

namespace bench {

/// On a terminal: one line, which each round overwrites. Otherwise: one line per workload.
class progress {
 public:
  /// `live`: `out` is a terminal. `workloads`: their total number.
  progress(std::ostream& out, bool live, std::size_t workloads)
      : out_(out), live_(live), workloads_(workloads) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Starts the next workload, with this number of settings.
  void workload(const std::string& id, std::size_t settings);
  /// Starts the next setting: "pending=1000", or "" if there is only one.
  void setting(const std::string& text);
  /// Starts a round; round 0 is the warm-up.
  void round(int number, int of);
  /// Clears the line before other output.
  void clear();

 private:
  std::ostream& out_;
  bool live_;
  std::size_t workloads_;
  std::size_t workload_ = 0;  // number of the current workload
  std::size_t setting_ = 0;
  std::size_t settings_ = 0;
  std::string id_{};
  std::string text_{};
  stopwatch since_{};
};

}  // namespace bench
