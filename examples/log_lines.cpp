// Writes lines from many threads to a file, stops, and accounts for every line.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;
namespace fs = std::filesystem;

int main() {
  const fs::path file =
      fs::temp_directory_path() / ("takt-log-" + std::to_string(getpid()) + ".log");
  takt::log_service log{takt::to_file(file), {.capacity = 16}};

  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&log, i] {
      try {
        for (int n = 0;; ++n) log.log(std::to_string(i) + ": step " + std::to_string(n));
      } catch (const takt::rejected&) {  // the log is shut down
      }
    });
  }
  while (log.statistics().written < 1000) std::this_thread::yield();

  log.shutdown();  // accepted lines are still written
  std::list<std::string> unwritten;
  // Lines that are not written within a second are returned.
  if (!log.await_termination(1s)) unwritten = log.shutdown_now();
  log.await_termination();  // the file is closed
  for (std::thread& t : workers) t.join();

  std::size_t lines = 0;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) ++lines;
  fs::remove(file);
  const takt::log_statistics s = log.statistics();
  std::printf("accepted %llu = written %llu + returned %llu; lines in the file: %zu\n",
              static_cast<unsigned long long>(s.accepted),
              static_cast<unsigned long long>(s.written),
              static_cast<unsigned long long>(s.returned), lines);
  return s.accepted == s.written + s.returned && lines == s.written &&
                 unwritten.size() == s.returned
             ? 0
             : 1;
}
