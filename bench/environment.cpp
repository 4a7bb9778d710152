#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <takt/base/config.hpp>

#include "report.hpp"

namespace bench {
namespace {

std::string takt_version() {
  return std::to_string(TAKT_VERSION_MAJOR) + "." + std::to_string(TAKT_VERSION_MINOR) + "." +
         std::to_string(TAKT_VERSION_PATCH);
}

std::string compiler_name() {
#if defined(__clang__)
  return __VERSION__;  // begins with "Clang"
#elif defined(__GNUC__)
  return std::string("GCC ") + __VERSION__;
#else
  return "unknown";
#endif
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  const std::string key = "model name";
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string kernel_release() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + " " + names.release;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[sizeof "2000-01-01T00:00:00Z"];
  if (gmtime_r(&now, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return "unknown";
  }
  return text;
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

environment current_environment() {
  return {.takt = takt_version(),
          .compiler = compiler_name(),
          .cpu = cpu_model(),
          .cores = std::thread::hardware_concurrency(),
          .kernel = kernel_release(),
          .date = utc_now(),
          .load = load_average()};
}

}  // namespace bench
