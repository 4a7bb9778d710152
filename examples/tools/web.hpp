// Fetches web pages and finds their links, with libcurl.
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

// Normalises an address for comparison: absolute, http or https, without fragment and default port,
// the host in lower case. `base` resolves relative addresses. The length is not limited. Returns
// nothing if the text is not such an address. Idempotent.
std::optional<std::string> normal_url(const std::string& text, const std::string& base = {});

// Returns the host of a normalised address, with its port if it has one; otherwise an empty string.
std::string host_of(const std::string& url);

// Calls `take` with each link of an HTML page, unresolved, until `take` returns false. Accepts any
// bytes, in linear time.
void each_link(std::string_view html, const std::function<bool(const std::string&)>& take);

struct fetch_options {
  std::chrono::milliseconds timeout{10'000};
  std::size_t max_bytes = 1'000'000;
};

// The answer of a server, with any status.
struct page {
  long status = 0;
  std::string body{};    // up to max_bytes
  bool is_whole = true;  // false: the body was longer
  bool is_html = false;
  std::string redirect{};  // target of a redirect, or empty
};

// Thrown if there was no answer. what() has the reason.
class no_answer : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Maximum number of descriptors that a fetch has open: connections to two addresses of a host,
// wake-up descriptors of libcurl and its name look-up, and the files and the socket of the look-up.
constexpr std::size_t descriptors_of_fetch = 10;

// Fetches a page without following redirects. Ends at once when stop is requested.
// \throws takt::cancelled if stop is requested; no_answer.
page fetch(const std::string& url, const fetch_options& how, const std::stop_token& stop);

}  // namespace web
