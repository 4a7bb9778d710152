// java.util.concurrent: one JVM for the whole run, which measures itself.
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <string>
#include <system_error>

#include "pool.hpp"

#ifndef TAKT_BENCH_JAVA_SOURCE  // the build gives the whole path
#define TAKT_BENCH_JAVA_SOURCE "JavaPools.java"
#endif

namespace bench {
namespace {

// A process that answers each line with a line, on a socket that is its input and its output. It
// ends when its input does.
class java_process {
 public:
  /// Throws unavailable if it does not start, or cannot compile the source.
  explicit java_process(const char* source) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    socket_ = ends[0];
    const int error = spawn(source, ends[1]);
    close(ends[1]);
    std::string reason;
    if (error == ENOENT) {
      reason = "java was not found (openjdk-17-jdk-headless)";
    } else if (error != 0) {
      reason = "java did not start: " + std::generic_category().message(error);
    } else if (read_line() != "ready") {
      reason = "java did not compile JavaPools.java; it takes a JDK (openjdk-17-jdk-headless)";
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
  int spawn(const char* source, int end) {
    // A heap of fixed size and the collector for throughput: what is measured is the pool.
    std::string command[] = {"java", "-XX:+UseParallelGC", "-Xms1g", "-Xmx1g", source};
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

numbers ask_java(const std::string& question) {
  static java_process java(TAKT_BENCH_JAVA_SOURCE);
  const std::string answer = java.ask(question);
  std::istringstream words(answer);
  numbers found;
  for (double number = 0; words >> number;) found.push_back(number);
  if (found.empty() || !words.eof()) {
    throw std::runtime_error("java, asked for '" + question + "', said '" + answer + "'");
  }
  return found;
}

competitor in_java(const std::string& pool, const std::string& workload, std::int64_t tasks) {
  return {"java " + pool, [=](const request& asked) {
            std::ostringstream question;
            question << workload << ' ' << pool << ' ' << asked.amount(tasks);
            for (const auto& [name, value] : asked.parameters) question << ' ' << value;
            return ask_java(question.str());
          }};
}

}  // namespace

pool_competitors java_pools() {
  const char* fixed = "ThreadPoolExecutor";
  const char* fork_join = "ForkJoinPool";
  return {
      .submit = {in_java(fixed, "submit", many_tasks), in_java(fork_join, "submit", many_tasks)},
      .spawn = {{"java ForkJoinPool",
                 [](const request& asked) {
                   return ask_java("spawn ForkJoinPool " + std::to_string(depth_of(asked)));
                 }}},
      .wake = {in_java(fixed, "wake", wake_tasks), in_java(fork_join, "wake", wake_tasks)},
      .serial = {in_java(fixed, "serial", many_tasks)},
      .stop = {in_java(fixed, "stop", many_tasks)}};
}

}  // namespace bench
