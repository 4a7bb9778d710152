#include "crawl_links.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <takt/takt.hpp>

namespace crawl {
namespace {

// Removes surrounding spaces and the fragment, which do not count for the length limit.
std::string_view bare(std::string_view link) {
  link = link.substr(0, link.find('#'));
  link.remove_prefix(std::min(link.find_first_not_of(" \t\r\n\f\v"), link.size()));
  return link.substr(0, link.find_last_not_of(" \t\r\n\f\v") + 1);
}

}  // namespace

links links_of(const web::page& answer, const std::string& url, const filters& followed,
               const link_limits& limits, const std::stop_token& stop) {
  links found;
  std::unordered_set<std::string> seen;
  const auto take = [&](const std::string& link) {
    if (stop.stop_requested()) throw takt::cancelled();
    const std::string_view text = bare(link);
    // For a link that is too long, its beginning decides whether it would be followed.
    const std::optional<std::string> to =
        web::normal_url(std::string(text.substr(0, limits.url)), url);
    if (!to || !followed.allow_host(web::host_of(*to))) return true;
    if (text.size() > limits.url || to->size() > limits.url) {
      ++found.too_long;
      return true;
    }
    if (seen.contains(*to)) return true;
    if (found.urls.size() == limits.links) {
      found.has_more = true;
      return false;
    }
    seen.insert(*to);
    found.urls.push_back(*to);
    return true;
  };
  if (!answer.redirect.empty()) take(answer.redirect);
  if (answer.is_html) web::each_link(answer.body, take);
  return found;
}

}  // namespace crawl
