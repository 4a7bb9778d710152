/// \file
/// Says how far a run is.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "support/stopwatch.hpp"

namespace bench {

/// Where somebody watches: one line, written over again with each round. Elsewhere: a line for each
/// workload.
class progress {
 public:
  /// `live`: `out` is a terminal. There will be so many workloads.
  progress(std::ostream& out, bool live, std::size_t workloads)
      : out_(out), live_(live), workloads_(workloads) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// The next workload has so many settings.
  void workload(const std::string& id, std::size_t settings);
  /// The next one of these: "pending=1000", or "" where there is only one.
  void setting(const std::string& text);
  /// A round begins; the 0th warms up.
  void round(int number, int of);
  /// Takes the line away, for what is printed next.
  void clear();

 private:
  std::ostream& out_;
  bool live_;
  std::size_t workloads_;
  std::size_t workload_ = 0;  // the number of the one that runs, like the next
  std::size_t setting_ = 0;
  std::size_t settings_ = 0;
  std::string id_{};
  std::string text_{};
  stopwatch since_{};
};

}  // namespace bench
