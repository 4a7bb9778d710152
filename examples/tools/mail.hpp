// Mail servers: their addresses, and the greeting with which they begin a connection.
#pragma once

#include <netdb.h>

#include <memory>
#include <stdexcept>
#include <string>

#include <takt/takt.hpp>

#include "tool.hpp"

namespace mail {

struct server {
  std::string host;
  std::string port;
};

struct free_addresses {
  void operator()(addrinfo* all) const { freeaddrinfo(all); }
};
using addresses = std::unique_ptr<addrinfo, free_addresses>;

// The addresses of a server, at least one. Cannot be interrupted. \throws std::runtime_error.
addresses look_up(const server& which);

// A server did not greet in time.
class no_greeting : public std::runtime_error {
 public:
  no_greeting() : std::runtime_error("no answer") {}
};

// The first line that a server sends. Tries the addresses in turn, and divides the time that is
// left among those that are left, until one greets as a mail server does.
// \throws takt::cancelled if stop is requested; no_greeting if the last address was silent;
// std::exception for what else was wrong with it.
std::string greeting(const addrinfo* servers, takt::clock::time_point deadline,
                     const tool::stop_descriptor& stopped);

}  // namespace mail
