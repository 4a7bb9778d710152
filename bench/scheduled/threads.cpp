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
