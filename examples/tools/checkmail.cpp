// Checks many mail servers in parallel, with a time-out for each. A thread pool bounds the number
// of parallel checks, and a task_scope waits for all of them before it returns.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "mail.hpp"
#include "tool.hpp"
#include "tool_limits.hpp"

namespace {

constexpr const char* help = R"(usage: checkmail [OPTION]... [HOST[:PORT]]...

Connects to mail servers in parallel, and prints the greeting or the error of each. Understands SMTP,
POP3 and IMAP. If a host has several addresses, they are tried in turn until one of them greets.

  --port N       port of hosts without a port (25)
  --timeout S    time-out for each host in seconds, from the start of its own check (5)
  --parallel N   number of hosts checked at a time (64, or fewer if the limit of open files is low)
  --stdin        also read hosts from the input, one per line
  --help         this text

Control characters in a greeting are printed as \t, \n, \r or \xHH, and a backslash as \\.

Ctrl-C cancels the remaining checks at once, except for name look-ups, which neither Ctrl-C nor
--timeout can interrupt. The second Ctrl-C does not wait for look-ups, and prints no results.

exit code: 0 all hosts greet; 1 an error, or some hosts do not greet; 2 wrong usage; 3 stopped
)";

using mail::server;

struct settings {
  std::size_t port = 25;
  std::size_t timeout_s = 5;
  std::size_t parallel = 0;  // 0: the default, or fewer if descriptors are short
  bool from_stdin = false;
  std::vector<server> servers;
};

server parse_server(const std::string& text, std::size_t default_port) {
  // Accepts host, host:port and [address]:port; an address with several colons has no port.
  std::string host = text;
  std::string port = std::to_string(default_port);
  const std::size_t bracket = text.find(']');
  const std::size_t colon = text.rfind(':');
  if (text.starts_with('[') && bracket != std::string::npos) {
    host = text.substr(1, bracket - 1);
    if (bracket + 1 != text.size()) port = text[bracket + 1] == ':' ? text.substr(bracket + 2) : "";
  } else if (colon != std::string::npos && text.find(':') == colon) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         port.find_first_not_of("0123456789") == std::string::npos;
  const bool is_host = !host.empty() && host.find_first_of("[]") == std::string::npos;
  if (!is_host || !is_number || std::stoul(port) == 0 || std::stoul(port) > 65'535) {
    throw tool::misuse("'" + text + "' is not a HOST[:PORT]");
  }
  return {host, port};
}

// The form of the command line: an address with colons is in brackets.
std::string name_of(const server& which) {
  const bool brackets = which.host.find(':') != std::string::npos;
  return (brackets ? '[' + which.host + ']' : which.host) + ':' + which.port;
}

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.number("--port", s.port, 1, 65'535);
  line.number("--timeout", s.timeout_s, 1);
  line.number("--parallel", s.parallel, 1, 10'000);
  line.flag("--stdin", s.from_stdin);
  std::vector<std::string> hosts = line.parse(words);
  std::string text;
  while (s.from_stdin && std::getline(std::cin, text)) {
    if (!text.empty()) hosts.push_back(text);
  }
  if (std::ferror(stdin) != 0) {  // std::cin reads from stdin
    throw std::system_error(errno, std::generic_category(), "cannot read the input");
  }
  for (const std::string& host : hosts) s.servers.push_back(parse_server(host, s.port));
  if (s.servers.empty()) throw tool::misuse("no hosts");
  return s;
}

// Number of parallel checks. \throws misuse if --parallel is more than possible.
std::size_t parallel_checks(const settings& s) {
  constexpr std::size_t usual = 64;
  const std::size_t wanted = std::min(s.parallel == 0 ? usual : s.parallel, s.servers.size());
  return tool::parallel_limit({.doing = "checking",
                               .things = "hosts",
                               .option = "--parallel",
                               .descriptors_each = 4},  // a socket, or the files of a name look-up
                              wanted, s.parallel != 0);
}

int run(const std::vector<std::string>& words) {
  const settings s =
      read_settings(words);          // before `signals`: Ctrl-C ends the program while it reads
  const takt::stop_signals signals;  // first: before any thread
  const std::stop_callback hurry(signals.force_token(),
                                 [] { tool::leave_at_once("checkmail", tool::unfinished); });
  tool::progress line;
  line.show("checking " + std::to_string(s.servers.size()) + " servers");
  const tool::stop_descriptor stopped(signals.stop_token());
  takt::thread_pool pool{{.core_threads = parallel_checks(s), .name = "check"}};
  takt::task_scope<std::string> checks{{.executor = pool, .stop = signals.stop_token()}};
  for (const server& which : s.servers) {
    checks.spawn([&which, &s, &stopped] {
      const auto deadline = takt::steady.now() + std::chrono::seconds(s.timeout_s);
      return mail::greeting(mail::look_up(which).get(), deadline, stopped);
    });
  }
  std::vector<takt::future<std::string>> answers = checks.join();
  line.clear();
  std::size_t good = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::string said;
    try {
      said = "ok: " + answers[i].get();
      ++good;
    } catch (const takt::cancelled&) {
      said = "cancelled";
    } catch (const mail::no_greeting& e) {
      said = e.what();
    } catch (const std::exception& e) {
      said = std::string("failed: ") + e.what();
    }
    std::printf("%s %s\n", tool::printable(name_of(s.servers[i])).c_str(),
                tool::printable(said).c_str());
  }
  tool::finish_output();
  std::fprintf(stderr, "checkmail: %zu of %zu answer\n", good, answers.size());
  if (signals.first() != 0) return tool::unfinished;
  return good == answers.size() ? tool::success : tool::failure;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("checkmail", help, argc, argv, run); }
