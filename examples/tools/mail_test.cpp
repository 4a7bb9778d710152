#include "mail.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;

// A local server on a port that the system chooses. It sends one text to each client or, if it is
// silent, leaves the connection in the system's queue.
class mail_server {
 public:
  explicit mail_server(std::string greeting) : greeting_(std::move(greeting)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    if (listener_ == -1 || bind(listener_, get(), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, get(), &size) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    if (greeting_ != "silent") server_ = std::thread([this] { serve(); });
  }
  ~mail_server() {
    shutdown(listener_, SHUT_RDWR);  // ends accept()
    if (server_.joinable()) server_.join();
    close(listener_);
  }
  mail_server(const mail_server&) = delete;
  mail_server& operator=(const mail_server&) = delete;

  [[nodiscard]] sockaddr* get() {
    return reinterpret_cast<sockaddr*>(&address_);  // NOLINT(*-reinterpret-cast): what sockets want
  }

 private:
  void serve() const {
    for (;;) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection == -1) return;
      static_cast<void>(send(connection, greeting_.data(), greeting_.size(), MSG_NOSIGNAL));
      close(connection);
    }
  }

  const std::string greeting_;
  const int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{};
  std::thread server_;
};

// Returns the result or the error of mail::greeting() for a host with these addresses, as text.
std::string greeting_of(const std::vector<mail_server*>& servers, std::chrono::milliseconds time,
                        const std::stop_token& stop = {}) {
  std::vector<addrinfo> addresses(servers.size());
  for (std::size_t i = 0; i < servers.size(); ++i) {
    addresses[i].ai_family = AF_INET;
    addresses[i].ai_socktype = SOCK_STREAM;
    addresses[i].ai_addr = servers[i]->get();
    addresses[i].ai_addrlen = sizeof(sockaddr_in);
    if (i != 0) addresses[i - 1].ai_next = &addresses[i];
  }
  const tool::stop_descriptor stopped(stop);
  try {
    return mail::greeting(addresses.data(), takt::steady.now() + time, stopped);
  } catch (const takt::cancelled&) {
    return "cancelled";
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(mail, the_first_address_that_greets_counts) {
  mail_server hangs_up("");
  mail_server rude("go away\r\n");
  mail_server good("220 good\r\n");
  mail_server other("220 other\r\n");
  EXPECT_EQ(greeting_of({&good, &other}, 1h), "220 good");
  EXPECT_EQ(greeting_of({&hangs_up, &rude, &good}, 1h), "220 good");
}

// A server that never ends its line: 1000 bytes count as a line, and little more is read.
TEST(mail, a_greeting_without_an_end_is_cut) {
  const auto greeting = [](std::size_t size) { return "220 " + std::string(size - 4, 'x'); };
  mail_server shorter(greeting(999));
  mail_server exact(greeting(1000));
  mail_server longer(greeting(100'000));
  EXPECT_EQ(greeting_of({&shorter}, 1h), "closed the connection without a greeting");
  EXPECT_EQ(greeting_of({&exact}, 1h), greeting(1000));
  const std::string got = greeting_of({&longer}, 1h);
  EXPECT_TRUE(got.starts_with(greeting(1000)));
  EXPECT_LT(got.size(), 1000U + 512U);
}

TEST(mail, a_silent_address_leaves_time_for_the_others) {
  mail_server silent("silent");
  mail_server good("220 good\r\n");
  EXPECT_EQ(greeting_of({&silent, &good}, 10s), "220 good");  // after 5 s, with 5 s left
}

TEST(mail, the_last_address_says_what_is_wrong) {
  mail_server silent("silent");
  mail_server hangs_up("");
  EXPECT_EQ(greeting_of({&hangs_up, &silent}, 20ms), "no answer");
  EXPECT_EQ(greeting_of({&silent}, -1ms), "no answer");
}

TEST(mail, a_stop_ends_the_wait_and_tries_no_further_address) {
  mail_server silent("silent");
  mail_server good("220 good\r\n");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(greeting_of({&silent, &good}, 1h, stop.get_token()), "cancelled");
}

}  // namespace
