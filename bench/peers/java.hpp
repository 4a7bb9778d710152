/// \file
/// Peers in Java and JavaScript.
#pragma once

#include <string>

#include "harness.hpp"

namespace bench {

/// Requirements of a source file beside the JDK: a jar with the Debian package that contains it,
/// and a heap size.
struct java_library {
  std::string path{};
  std::string package{};
  std::string heap = "1g";
};

/// Sends a request to the JVM that runs a source file of this folder; the JVM takes the times
/// itself. There is one JVM per source file, which the first request starts. It answers a line with
/// a line of numbers. \throws unavailable if the JDK or the library is missing; std::runtime_error
/// for any other answer.
numbers ask_java(const std::string& source, const std::string& question,
                 const java_library& library = {});

/// The same for node, which runs a script of this folder with rxjs. `./dev bench` installs rxjs.
numbers ask_node(const std::string& source, const std::string& question);

/// Sends a request to JavaTimers.java. Ten million timers need more than 1 GB.
inline numbers ask_java_timers(const std::string& question) {
  return ask_java("scheduled/JavaTimers.java", question, {.heap = "4g"});
}

/// Sends a request to NettyTimers.java.
inline numbers ask_netty(const std::string& question) {
  return ask_java(
      "peers/NettyTimers.java", question,
      {.path = "/usr/share/java/netty-common.jar", .package = "libnetty-java", .heap = "4g"});
}

}  // namespace bench
