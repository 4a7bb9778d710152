/// \file
/// Peers in Java, and in JavaScript.
#pragma once

#include <string>

#include "harness.hpp"

namespace bench {

/// What a source file needs beside the JDK. A jar, and the Debian package that it is from. And how
/// large a heap.
struct java_library {
  std::string path{};
  std::string package{};
  std::string heap = "1g";
};

/// Asks the JVM that runs a source file of this folder, which measures itself. There is one for
/// each such file; it is started by the first question, and answers a line with a line of numbers.
/// Throws unavailable if there is no JDK or no such library, std::runtime_error if the answer is
/// something else.
numbers ask_java(const std::string& source, const std::string& question,
                 const java_library& library = {});

/// The same of a node that runs a script of this folder with rxjs, which `./dev bench` installs.
numbers ask_node(const std::string& source, const std::string& question);

/// Asks JavaTimers.java. Ten million timers want more than 1 GB.
inline numbers ask_java_timers(const std::string& question) {
  return ask_java("scheduled/JavaTimers.java", question, {.heap = "4g"});
}

/// Asks NettyTimers.java.
inline numbers ask_netty(const std::string& question) {
  return ask_java(
      "peers/NettyTimers.java", question,
      {.path = "/usr/share/java/netty-common.jar", .package = "libnetty-java", .heap = "4g"});
}

}  // namespace bench
