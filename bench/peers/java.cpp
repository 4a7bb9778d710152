#include "peers/java.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#ifndef TAKT_BENCH_FOLDER  // the build defines the absolute path
#define TAKT_BENCH_FOLDER "."
#define TAKT_BENCH_RXJS "rxjs"
#endif

namespace bench {
namespace {

// A process that answers each line with a line, through a socket that is its input and output. It
// ends at the end of its input.
class peer_process {
 public:
  /// \throws unavailable if the process does not start, because `package` is missing, or is not
  /// ready in time.
  peer_process(std::vector<std::string> command, const std::string& package) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    socket_ = ends[0];
    const std::string program = command.front();
    const std::string source = command.back();
    const int error = spawn(std::move(command), ends[1]);
    close(ends[1]);
    std::string reason;
    if (error == ENOENT) {
      reason = program + " was not found (" + package + ")";
    } else if (error != 0) {
      reason = program + " did not start: " + std::generic_category().message(error);
    } else if (read_line() != "ready") {
      reason = program + " could not run " + source + " (" + package + ")";
    }
    if (!reason.empty()) {
      end();
      throw unavailable(reason);
    }
  }

  ~peer_process() { end(); }

  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  /// Returns an empty string if the process has ended.
  std::string ask(const std::string& question) {
    const std::string line = question + '\n';
    if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
      return {};
    }
    return read_line();
  }

 private:
  int spawn(std::vector<std::string> command, int end) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
    const int error = posix_spawnp(&process_, command.front().c_str(), &actions, nullptr,
                                   arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) process_ = 0;
    return error;
  }

  std::string read_line() {
    std::string line;
    for (char c = 0; recv(socket_, &c, 1, 0) == 1;) {
      if (c == '\n') return line;
      line += c;
    }
    return {};
  }

  void end() {
    close(socket_);
    if (process_ != 0) waitpid(process_, nullptr, 0);
  }

  int socket_ = -1;
  pid_t process_ = 0;
};

std::vector<std::string> java_command(const std::string& source, const java_library& library) {
  if (!library.path.empty() && !std::filesystem::exists(library.path)) {
    throw unavailable(library.path + " was not found (" + library.package + ")");
  }
  // A heap of fixed size and the throughput collector, because the pool is measured and not the
  // collector. Without a library the class path is empty.
  return {"java", "-XX:+UseParallelGC", "-Xms" + library.heap,         "-Xmx" + library.heap,
          "-cp",  library.path,         TAKT_BENCH_FOLDER "/" + source};
}

std::vector<std::string> node_command(const std::string& source) {
  if (!std::filesystem::exists(TAKT_BENCH_RXJS)) {
    throw unavailable("rxjs was not found at " TAKT_BENCH_RXJS " (npm)");
  }
  return {"node",      "--expose-gc",   "--max-old-space-size=4096",
          "--require", TAKT_BENCH_RXJS, TAKT_BENCH_FOLDER "/" + source};
}

// The first request starts each process.
template <class Command>
numbers ask(const std::string& source, const std::string& question, const std::string& package,
            Command command) {
  static std::map<std::string, peer_process> started;
  auto found = started.find(source);
  if (found == started.end()) found = started.try_emplace(source, command(), package).first;
  const std::string answer = found->second.ask(question);
  std::istringstream words(answer);
  numbers all;
  for (double number = 0; words >> number;) all.push_back(number);
  if (all.empty() || !words.eof()) {
    throw std::runtime_error(source + ", asked for '" + question + "', said '" + answer + "'");
  }
  return all;
}

}  // namespace

numbers ask_java(const std::string& source, const std::string& question,
                 const java_library& library) {
  return ask(source, question, "default-jdk-headless",
             [&] { return java_command(source, library); });
}

numbers ask_node(const std::string& source, const std::string& question) {
  return ask(source, question, "nodejs", [&] { return node_command(source); });
}

}  // namespace bench
