#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "scheduled.hpp"

std::map<std::string, std::int64_t> bench::context_switches() {
  std::map<std::string, std::int64_t> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    for (std::string key; status >> key;) {
      if (key == "voluntary_ctxt_switches:") status >> found[thread.path().filename().string()];
    }
  }
  return found;
}

double bench::resident_memory() {
  std::ifstream pages("/proc/self/statm");
  double size = 0;
  double resident = 0;
  pages >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}
