// Finds the links that the program crawl follows from a page, within limits.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "crawl_list.hpp"
#include "web.hpp"

namespace crawl {

struct link_limits {
  std::size_t links = 5000;  // maximum number of distinct links of a page
  std::size_t url = 2000;    // maximum length of an address, in bytes
};

struct links {
  std::vector<std::string> urls;  // normalised, without duplicates, in page order
  bool has_more = false;          // the page has more links than the limit
  std::size_t too_long = 0;       // number of links skipped because their addresses are too long
};

// Returns the links and the redirect of a page that lead to hosts allowed by the filters.
// \throws takt::cancelled if stop is requested.
links links_of(const web::page& answer, const std::string& url, const filters& followed,
               const link_limits& limits, const std::stop_token& stop);

}  // namespace crawl
