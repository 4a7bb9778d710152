#include "peers/versions.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#if TAKT_BENCH_HAS_ASIO
#include <asio/version.hpp>
#endif
#if TAKT_BENCH_HAS_TBB
#include <oneapi/tbb/version.h>
#endif
#if TAKT_BENCH_HAS_UV
#include <uv.h>
#endif
#if TAKT_BENCH_HAS_EVENT_CORE
#include <event2/event.h>
#endif

#ifndef TAKT_BENCH_RXJS  // the build defines the absolute path
#define TAKT_BENCH_RXJS "rxjs"
#endif

namespace bench {
namespace {

// Returns the first line that a command prints; empty if the command cannot run.
std::string said_by(const char* command) {
  std::FILE* const pipe = popen(command, "r");
  if (pipe == nullptr) return {};
  std::array<char, 256> text{};
  std::string line;
  if (std::fgets(text.data(), text.size(), pipe) != nullptr) line = text.data();
  pclose(pipe);
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

// Debian installs a jar under two names: netty-common.jar and netty-common-4.1.48.Final.jar.
std::string of_jar(const std::string& name) {
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/java", ignored)) {
    const std::string found = file.path().filename().string();
    const std::string prefix = name + "-";
    if (found.starts_with(prefix) && found.ends_with(".jar")) {
      return found.substr(prefix.size(), found.size() - prefix.size() - 4);
    }
  }
  return {};
}

std::string of_npm_package(const std::string& folder) {
  std::ifstream description(folder + "/package.json");
  const std::string key = "\"version\": \"";
  for (std::string line; std::getline(description, line);) {
    const auto begin = line.find(key);
    if (begin == std::string::npos) continue;
    const auto text = begin + key.size();
    return line.substr(text, line.find('"', text) - text);
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> peer_versions() {
  std::map<std::string, std::string> found{
      {"JDK", said_by("java --version 2>/dev/null")},
      {"Netty", of_jar("netty-common")},
      {"RxJava", of_jar("rxjava")},
      {"node", said_by("node --version 2>/dev/null")},
      {"rxjs", of_npm_package(TAKT_BENCH_RXJS)},
  };
#if TAKT_BENCH_HAS_ASIO
  found["asio"] = std::to_string(ASIO_VERSION / 100000) + "." +
                  std::to_string(ASIO_VERSION / 100 % 1000) + "." +
                  std::to_string(ASIO_VERSION % 100);
#endif
#if TAKT_BENCH_HAS_TBB
  found["oneTBB"] = TBB_runtime_version();
#endif
#if TAKT_BENCH_HAS_UV
  found["libuv"] = uv_version_string();
#endif
#if TAKT_BENCH_HAS_EVENT_CORE
  found["libevent"] = event_get_version();
#endif
  std::erase_if(found, [](const auto& peer) { return peer.second.empty(); });
  return found;
}

}  // namespace bench
