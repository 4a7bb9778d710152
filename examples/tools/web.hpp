// Pages of the web: fetching one, and finding its links. With libcurl.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace web {

// An address in the one form in which it is compared: absolute, http or https, without a fragment
// or a default port, the host in small letters. `base` is what a relative one belongs to. None if
// it is no such address.
std::optional<std::string> normal_url(const std::string& text, const std::string& base = {});

// The host of a normal address, with its port if it has one. Of anything else: nothing.
std::string host_of(const std::string& url);

// What the links of an HTML page say, as they stand there. Takes any bytes.
std::vector<std::string> links_in(std::string_view html);

struct fetch_options {
  std::chrono::milliseconds timeout{10'000};
  std::size_t max_bytes = 1'000'000;
};

// The answer of a server, of whatever kind.
struct page {
  long status = 0;
  std::string body;      // up to max_bytes
  bool is_whole = true;  // false: it was longer
  bool is_html = false;
  std::string redirect;  // where it sends us to; else empty
};

// There was no answer. what() says why.
class no_answer : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Asks for a page; follows no redirects. Returns at once when stop is requested.
// \throws takt::cancelled if stop is requested; no_answer.
page fetch(const std::string& url, const fetch_options& how, const std::stop_token& stop);

}  // namespace web
