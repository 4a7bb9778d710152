#include "progress.hpp"

#include <cstdint>
#include <iomanip>
#include <ostream>
#include <sstream>

namespace bench {
namespace {

std::string elapsed(const stopwatch& since) {
  const auto seconds = static_cast<std::int64_t>(since.nanoseconds() / 1e9);
  std::ostringstream text;
  text << seconds / 60 << ':' << std::setw(2) << std::setfill('0') << seconds % 60;
  return text.str();
}

}  // namespace

void progress::workload(const std::string& id, std::size_t settings) {
  ++workload_;
  id_ = id;
  setting_ = 0;
  settings_ = settings;
  if (live_) return;
  out_ << elapsed(since_) << "  " << workload_ << " of " << workloads_ << ": " << id << std::endl;
}

void progress::setting(const std::string& text) {
  ++setting_;
  text_ = text.empty() ? "" : " " + text;
}

void progress::round(int number, int of) {
  if (!live_) return;
  out_ << "\r\033[K" << elapsed(since_) << "  " << workload_ << " of " << workloads_ << ": " << id_
       << text_;
  if (settings_ > 1) out_ << " (" << setting_ << " of " << settings_ << ")";
  if (number == 0) {
    out_ << ", warming up";
  } else {
    out_ << ", round " << number << " of " << of;
  }
  out_ << std::flush;
}

void progress::clear() {
  if (live_) out_ << "\r\033[K" << std::flush;
}

}  // namespace bench
