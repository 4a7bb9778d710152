// The links of a page that the program crawl follows, and the limits that bound them.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "crawl_list.hpp"
#include "web.hpp"

namespace crawl {

struct link_limits {
  std::size_t links = 5000;  // different ones of a page
  std::size_t url = 2000;    // bytes of an address
};

struct links {
  std::vector<std::string> urls;  // normal, each once, in their order
  bool has_more = false;          // there are more than the limit
  std::size_t too_long = 0;       // so many were left out, as their addresses are too long
};

// The links of a page, and its redirect, to hosts that the filters let through.
// \throws takt::cancelled if stop is requested.
links links_of(const web::page& answer, const std::string& url, const filters& followed,
               const link_limits& limits, const std::stop_token& stop);

}  // namespace crawl
