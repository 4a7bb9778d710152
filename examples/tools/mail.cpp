#include "mail.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace mail {
namespace {

class socket_handle {
 public:
  explicit socket_handle(int descriptor) : descriptor_(descriptor) {
    if (descriptor == -1) throw std::system_error(errno, std::generic_category());
  }
  socket_handle(const socket_handle&) = delete;
  socket_handle& operator=(const socket_handle&) = delete;
  ~socket_handle() { close(descriptor_); }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// The limits of an attempt: its deadline, and a stop request.
class attempt {
 public:
  attempt(takt::clock::time_point deadline, const tool::stop_descriptor& stopped)
      : deadline_(deadline), stopped_(stopped) {}

  // \throws no_greeting if the deadline has passed; takt::cancelled if stop is requested.
  void wait_for(int descriptor, short events) const {
    using namespace std::chrono_literals;
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline_ - takt::steady.now());
      const auto timeout = std::clamp<std::chrono::milliseconds>(left, 0ms, 1h);
      if (stopped_.wait_for(descriptor, events, static_cast<int>(timeout.count()))) return;
      if (stopped_.is_requested()) throw takt::cancelled();
      if (left == timeout || left < 0ms) throw no_greeting();
    }
  }

 private:
  takt::clock::time_point deadline_;
  const tool::stop_descriptor& stopped_;
};

void connect_to(int descriptor, const addrinfo& to, const attempt& limits) {
  if (connect(descriptor, to.ai_addr, to.ai_addrlen) == 0) return;
  int error = errno;
  if (error == EINPROGRESS) {
    limits.wait_for(descriptor, POLLOUT);
    socklen_t size = sizeof error;
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) throw std::system_error(error, std::generic_category());
}

std::string greeting_of(const addrinfo& address, const attempt& limits) {
  const socket_handle s(socket(
      address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  connect_to(s.get(), address, limits);
  std::string text;
  while (text.find('\n') == std::string::npos && text.size() < 1000) {
    limits.wait_for(s.get(), POLLIN);
    char block[512];
    const ssize_t n = recv(s.get(), block, sizeof block, 0);
    if (n == -1 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n == -1) throw std::system_error(errno, std::generic_category());
    if (n == 0) throw std::runtime_error("closed the connection without a greeting");
    text.append(block, static_cast<std::size_t>(n));
  }
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  for (const std::string_view start : {"220", "+OK", "* OK", "* PREAUTH"}) {
    if (text.starts_with(start)) return text;
  }
  throw std::runtime_error("does not greet like a mail server: " + text);
}

}  // namespace

addresses look_up(const server& which) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(which.host.c_str(), which.port.c_str(), &hints, &found);
  if (error != 0) throw std::runtime_error(gai_strerror(error));
  return addresses(found);
}

std::string greeting(const addrinfo* servers, takt::clock::time_point deadline,
                     const tool::stop_descriptor& stopped) {
  int untried = 0;
  for (const addrinfo* a = servers; a != nullptr; a = a->ai_next) ++untried;
  for (const addrinfo* a = servers;; a = a->ai_next, --untried) {
    const auto now = takt::steady.now();
    try {
      return greeting_of(*a, attempt(now + (deadline - now) / untried, stopped));
    } catch (const takt::cancelled&) {
      throw;
    } catch (const std::exception&) {
      if (untried == 1) throw;
    }
  }
}

}  // namespace mail
