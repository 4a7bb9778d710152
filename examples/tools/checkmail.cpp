// Asks many mail servers at the same time whether they are there, and does not wait for ever: a
// batch on a scope, of which nothing is left when it returns.
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "tool.hpp"

namespace {

constexpr const char* help = R"(usage: checkmail [OPTION]... [HOST[:PORT]]...

Connects to mail servers, all at the same time, and prints what each says by way of greeting, or
what is wrong with it. Understands SMTP, POP3 and IMAP.

  --port N       where none is given (25)
  --timeout S    give up on those that have not answered by then (5)
  --stdin        read hosts from the input, too, one on each line
  --help         this text

Ctrl-C gives up on the rest at once, but for names that are being looked up, which cannot be
interrupted. The second Ctrl-C does not wait for those, and prints nothing.

exit code: 0 all answer; 1 an error, or some do not answer well; 2 wrong usage; 3 it was stopped
)";

struct server {
  std::string host;
  std::string port;
};

struct settings {
  std::size_t port = 25;
  std::size_t timeout_s = 5;
  bool from_stdin = false;
  std::vector<server> servers;
};

server parse_server(const std::string& text, std::size_t default_port) {
  // A host, host:port, or [address]:port; an address with several colons has no port.
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
    throw tool::misuse("'" + text + "' is no HOST[:PORT]");
  }
  return {host, port};
}

// As it is written on the command line: an address with colons in brackets.
std::string name_of(const server& who) {
  const bool brackets = who.host.find(':') != std::string::npos;
  return (brackets ? '[' + who.host + ']' : who.host) + ':' + who.port;
}

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.number("--port", s.port, 1, 65'535);
  line.number("--timeout", s.timeout_s, 1);
  line.flag("--stdin", s.from_stdin);
  std::vector<std::string> hosts = line.parse(words);
  std::string text;
  while (s.from_stdin && std::getline(std::cin, text)) {
    if (!text.empty()) hosts.push_back(text);
  }
  if (std::ferror(stdin) != 0) {  // which std::cin reads from
    throw std::system_error(errno, std::generic_category(), "cannot read the input");
  }
  for (const std::string& host : hosts) s.servers.push_back(parse_server(host, s.port));
  if (s.servers.empty()) throw tool::misuse("no hosts");
  return s;
}

class socket_handle {
 public:
  explicit socket_handle(int descriptor) : descriptor_(descriptor) {}
  socket_handle(socket_handle&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  socket_handle& operator=(socket_handle&&) = delete;
  ~socket_handle() {
    if (descriptor_ != -1) close(descriptor_);
  }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Connects to one address. \return 0, or why not.
int try_connect(int descriptor, const addrinfo& to, const tool::stop_descriptor& stopped) {
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  if (connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!stopped.wait_for(descriptor, POLLOUT)) throw takt::cancelled();
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

socket_handle connect_to(const server& to, const tool::stop_descriptor& stopped) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found);
  if (error != 0) throw std::runtime_error(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  int why = EHOSTUNREACH;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    socket_handle s(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    if (s.get() == -1) {
      why = errno;
      continue;
    }
    why = try_connect(s.get(), *a, stopped);
    if (why == 0) return s;
  }
  throw std::system_error(why, std::generic_category());
}

// The first line that a server says. \throws if there is none, or it is not a mail server's.
std::string greeting_of(const server& who, const std::stop_token& stop) {
  const tool::stop_descriptor stopped(stop);
  const socket_handle s = connect_to(who, stopped);
  std::string text;
  while (text.find('\n') == std::string::npos && text.size() < 1000) {
    if (!stopped.wait_for(s.get(), POLLIN)) throw takt::cancelled();
    char block[512];
    const ssize_t n = recv(s.get(), block, sizeof block, 0);
    if (n == -1 && errno == EINTR) continue;
    if (n == -1) throw std::system_error(errno, std::generic_category());
    if (n == 0) throw std::runtime_error("closed the connection without a greeting");
    text.append(block, static_cast<std::size_t>(n));
  }
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  }
  for (const std::string_view start : {"220", "+OK", "* OK", "* PREAUTH"}) {
    if (text.starts_with(start)) return text;
  }
  throw std::runtime_error("does not greet as a mail server does: " + text);
}

int run(const std::vector<std::string>& words) {
  const settings s = read_settings(words);  // Ctrl-C ends it while it reads its input
  const takt::stop_signals signals;         // first: before any thread
  const std::stop_callback hurry(signals.force_token(),
                                 [] { tool::leave_at_once("checkmail", tool::unfinished); });
  tool::progress line;
  line.show("asking " + std::to_string(s.servers.size()) + " servers");
  takt::task_scope<std::string> checks{{.stop = signals.stop_token()}};
  for (const server& who : s.servers) {
    checks.spawn([&who](const std::stop_token& stop) { return greeting_of(who, stop); });
  }
  std::vector<takt::future<std::string>> answers = checks.join(std::chrono::seconds(s.timeout_s));
  line.clear();
  std::size_t good = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::string said;
    try {
      said = "ok: " + answers[i].get();
      ++good;
    } catch (const takt::cancelled&) {
      said = signals.first() != 0 ? "given up" : "no answer";
    } catch (const std::exception& e) {
      said = std::string("failed: ") + e.what();
    }
    std::printf("%s %s\n", name_of(s.servers[i]).c_str(), said.c_str());
  }
  tool::finish_output();
  std::fprintf(stderr, "checkmail: %zu of %zu answer\n", good, answers.size());
  if (signals.first() != 0) return tool::unfinished;
  return good == answers.size() ? tool::success : tool::failure;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("checkmail", help, argc, argv, run); }
