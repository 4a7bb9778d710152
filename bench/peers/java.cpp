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

#ifndef TAKT_BENCH_FOLDER  // the build gives the whole path
#define TAKT_BENCH_FOLDER "."
#endif

namespace bench {
namespace {

// A process that answers each line with a line, on a socket that is its input and its output. It
// ends when its input does.
class java_process {
 public:
  /// Throws unavailable if it does not start, or cannot compile the source.
  java_process(const std::string& source, const java_library& library) {
    if (!library.path.empty() && !std::filesystem::exists(library.path)) {
      throw unavailable(library.path + " was not found (" + library.package + ")");
    }
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    socket_ = ends[0];
    const int error = spawn(TAKT_BENCH_FOLDER "/" + source, library.path, ends[1]);
    close(ends[1]);
    std::string reason;
    if (error == ENOENT) {
      reason = "java was not found (openjdk-17-jdk-headless)";
    } else if (error != 0) {
      reason = "java did not start: " + std::generic_category().message(error);
    } else if (read_line() != "ready") {
      reason = "java did not compile " + source + "; it takes a JDK (openjdk-17-jdk-headless)";
    }
    if (!reason.empty()) {
      end();
      throw unavailable(reason);
    }
  }

  ~java_process() { end(); }

  java_process(const java_process&) = delete;
  java_process& operator=(const java_process&) = delete;

  /// Empty if the process is gone.
  std::string ask(const std::string& question) {
    const std::string line = question + '\n';
    if (send(socket_, line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
      return {};
    }
    return read_line();
  }

 private:
  int spawn(const std::string& source, const std::string& library, int end) {
    // A heap of fixed size and the collector for throughput: what is measured is the pool. Without
    // a library the path of classes is empty.
    std::string command[] = {"java", "-XX:+UseParallelGC", "-Xms1g", "-Xmx1g", "-cp", library,
                             source};
    std::array<char*, std::size(command) + 1> arguments{};
    for (std::size_t i = 0; i < std::size(command); ++i) arguments[i] = command[i].data();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
    const int error = posix_spawnp(&process_, "java", &actions, nullptr, arguments.data(), environ);
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

}  // namespace

numbers ask_java(const std::string& source, const std::string& question,
                 const java_library& library) {
  static std::map<std::string, java_process> started;
  const std::string answer =
      started.try_emplace(source, source, library).first->second.ask(question);
  std::istringstream words(answer);
  numbers found;
  for (double number = 0; words >> number;) found.push_back(number);
  if (found.empty() || !words.eof()) {
    throw std::runtime_error("java, asked for '" + question + "', said '" + answer + "'");
  }
  return found;
}

}  // namespace bench
