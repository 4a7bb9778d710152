#include "web_site.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

enum class kind { plain, slow, huge, error, circle, malformed, shy };

kind kind_of(int page) {
  if (page == 0) return kind::plain;
  if (page % 23 == 5) return kind::slow;
  if (page % 29 == 7) return kind::huge;
  if (page % 31 == 11) return kind::error;
  if (page % 37 == 13) return kind::circle;
  if (page % 41 == 17) return kind::malformed;
  if (page % 43 == 19) return kind::shy;
  return kind::plain;
}

std::string name(int page) { return "/p/" + std::to_string(page); }

std::string link(const std::string& to) { return "<p><a href=\"" + to + "\">on</a></p>\n"; }

std::string with_header(const std::string& status, const std::string& more,
                        const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: text/html\r\nConnection: close\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

web_site::web_site(int pages) : pages_(pages) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what sockets want
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener_ == -1 || bind(listener_, any, size) != 0 || listen(listener_, 128) != 0 ||
      getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error("cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

web_site::~web_site() {
  ending_ = true;
  acceptor_.join();
  close(listener_);
  for (std::thread& t : connections_) t.join();
}

std::string web_site::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

std::set<std::string> web_site::all() const {
  std::set<std::string> found;
  for (int i = 0; i < pages_; ++i) {
    found.insert(name(i));
    if (kind_of(i) != kind::circle) continue;
    found.insert(name(i) + "/left");
    found.insert(name(i) + "/right");
  }
  return found;
}

// Connections are accepted in order: when the site answers this one, it has accepted all earlier
// ones.
void web_site::settle() {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(port_));
  const std::string request = "GET /settled HTTP/1.0\r\n\r\n";
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what sockets want
  if (connection >= 0 &&
      connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send_all(connection, request)) {
    pollfd waits{.fd = connection, .events = POLLIN, .revents = 0};
    poll(&waits, 1, 5000);
  }
  close(connection);
  for (int i = 0; i < 10'000 && served_now_ != 0; ++i) poll(nullptr, 0, 1);
}

std::map<std::string, int> web_site::take_asked() {
  const std::lock_guard lock(mu_);
  return std::exchange(asked_, {});
}

std::set<std::string> web_site::answered() const {
  const std::lock_guard lock(mu_);
  return answered_;
}

void web_site::accept_all() {
  while (!ending_) {
    pollfd waits{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, 20) <= 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection == -1) continue;
    ++served_now_;
    const std::lock_guard lock(mu_);
    connections_.emplace_back([this, connection] {
      serve(connection);
      close(connection);
      --served_now_;
    });
  }
}

void web_site::serve(int connection) {
  std::string request;
  std::array<char, 4096> block{};
  while (request.find("\r\n\r\n") == std::string::npos) {
    pollfd waits{.fd = connection, .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, 5000) <= 0) return;
    const ssize_t n = recv(connection, block.data(), block.size(), 0);
    if (n <= 0) return;
    request.append(block.data(), static_cast<std::size_t>(n));
  }
  const std::size_t from = request.find(' ') + 1;
  const std::string path = request.substr(from, request.find(' ', from) - from);
  const std::string bytes = answer(path);
  ++requests_;
  if (bytes.empty() || !send_all(connection, bytes)) return;
  const std::lock_guard lock(mu_);
  if (path.starts_with("/p/")) answered_.insert(path);
}

// Returns the answer to a path; empty if the site does not answer.
std::string web_site::answer(const std::string& path) {
  if (!path.starts_with("/p/")) return with_header("404 Not Found", "", "");
  int times = 0;
  {
    const std::lock_guard lock(mu_);
    ++asked_[path];
    times = ++asked_ever_[path];
  }
  if (path.ends_with("/left") || path.ends_with("/right")) {
    const std::string base = path.substr(0, path.rfind('/'));
    const std::string to = path.ends_with("/left") ? base + "/right" : base + "/left";
    return with_header("302 Found", "Location: " + to + "\r\n", "");
  }
  if (path.find_first_not_of("0123456789", 3) != std::string::npos) {
    return with_header("404 Not Found", "", "");
  }
  const int page = std::stoi(path.substr(3));
  std::string body = "<html><body>\n" + link(path + "#here") + link("mailto:nobody");
  for (const int to : {2 * page + 1, 2 * page + 2, page + 1, page + 2, page + 3}) {
    if (to < pages_) body += link(to % 2 == 0 ? name(to) : std::to_string(to));
  }
  switch (kind_of(page)) {
    case kind::slow:
      poll(nullptr, 0, 100);
      break;
    case kind::huge:
      body.append(3'000'000, 'x');
      break;
    case kind::error:
      return with_header("500 Internal Server Error", "", body);
    case kind::circle:
      return with_header("301 Moved Permanently", "Location: " + path + "/left\r\n", "");
    case kind::malformed:
      body = "<<a <a href= ><!-- -- <a href='lost'> --><a href=\"" +
             name(page + 1 < pages_ ? page + 1 : 0) + "\" =<a hREF = '" + name(0) +
             "'><a href=\"never closed";
      break;
    case kind::shy:
      if (times == 1) return "";
      break;
    case kind::plain:
      break;
  }
  return with_header("200 OK", "", body);
}

bool web_site::send_all(int connection, const std::string& bytes) const {
  std::size_t done = 0;
  while (done < bytes.size() && !ending_) {
    pollfd waits{.fd = connection, .events = POLLOUT, .revents = 0};
    if (poll(&waits, 1, 1000) < 0) return false;
    const ssize_t n =
        send(connection, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN) return done > 0;  // the client has read as much as it wanted
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return true;
}
