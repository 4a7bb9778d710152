// Looks up mail servers and reads the greetings with which they start a connection.
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

// Returns the addresses of a server, at least one. Cannot be interrupted. \throws
// std::runtime_error.
addresses look_up(const server& which);

// Thrown if a server did not greet in time.
class no_greeting : public std::runtime_error {
 public:
  no_greeting() : std::runtime_error("no answer") {}
};

// Returns the first line that a server sends. Tries the addresses in turn until one greets like a
// mail server, and divides the remaining time among the remaining addresses.
// \throws takt::cancelled if stop is requested; otherwise the error of the last address:
// no_greeting if it was silent, or another std::exception.
std::string greeting(const addrinfo* servers, takt::clock::time_point deadline,
                     const tool::stop_descriptor& stopped);

}  // namespace mail
