// Pages of the web: fetching one, and finding its links. With libcurl.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

namespace web {

// An address in the one form in which it is compared: absolute, http or https, without a fragment
// or a default port, the host in small letters. Of any length. `base` is what a relative one
// belongs to. None if it is no such address. Of a normal address, the address itself.
std::optional<std::string> normal_url(const std::string& text, const std::string& base = {});

// The host of a normal address, with its port if it has one. Of anything else: nothing.
std::string host_of(const std::string& url);

// Calls `take` with each link of an HTML page, as it stands there, until that returns false. Takes
// any bytes, in a time that is proportional to their number.
void each_link(std::string_view html, const std::function<bool(const std::string&)>& take);

struct fetch_options {
  std::chrono::milliseconds timeout{10'000};
  std::size_t max_bytes = 1'000'000;
};

// The answer of a server, of whatever kind.
struct page {
  long status = 0;
  std::string body{};    // up to max_bytes
  bool is_whole = true;  // false: it was longer
  bool is_html = false;
  std::string redirect{};  // where it sends us to; else empty
};

// There was no answer. what() says why.
class no_answer : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// As many descriptors as one fetch may have open: connections to two addresses of a host, what
// wakes libcurl and its look-up of the name, and the files and the socket of that look-up.
constexpr std::size_t descriptors_of_fetch = 10;

// Asks for a page; follows no redirects. Returns at once when stop is requested.
// \throws takt::cancelled if stop is requested; no_answer.
page fetch(const std::string& url, const fetch_options& how, const std::stop_token& stop);

}  // namespace web
