#include "crawl_links.hpp"

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/task/errors.hpp>

namespace {

using strings = std::vector<std::string>;

crawl::links links_of(const std::string& html, const crawl::link_limits& limits,
                      const crawl::filters& followed = {.hosts = {"h"}}) {
  const web::page page{.status = 200, .body = html, .is_html = true};
  return crawl::links_of(page, "http://h/base/", followed, limits, {});
}

TEST(links_of, follows_each_link_once_to_the_hosts_that_are_allowed) {
  const std::string html =
      "<a href=1><a href=/2><a href='1#x'><a href=http://other/><a href=mailto:a>";
  EXPECT_EQ(links_of(html, {}).urls, (strings{"http://h/base/1", "http://h/2"}));
  EXPECT_EQ(links_of(html, {}, {.any_host = true}).urls,
            (strings{"http://h/base/1", "http://h/2", "http://other/"}));
}

TEST(links_of, bounds_the_links_of_a_page) {
  std::string html;
  for (int i = 0; i < 10; ++i)
    html += "<a href=" + std::to_string(i) + "><a href=0><a href=http://o/>";
  EXPECT_EQ(links_of(html, {.links = 10}).urls.size(), 10U);
  EXPECT_FALSE(links_of(html, {.links = 10}).has_more);
  EXPECT_EQ(links_of(html, {.links = 9}).urls.size(), 9U);
  EXPECT_TRUE(links_of(html, {.links = 9}).has_more);
}

TEST(links_of, counts_addresses_that_are_too_long_and_would_be_followed) {
  const auto link = [](const std::string& to) { return "<a href='" + to + "'>"; };
  const std::string many(100, 'x');
  const crawl::link_limits limits{.url = 50};
  EXPECT_EQ(links_of(link(many), limits).too_long, 1U);
  EXPECT_EQ(links_of(link("http://h/" + many), limits).too_long, 1U);
  EXPECT_EQ(links_of(link(std::string(40, 'x')), limits).too_long, 1U);  // including the base
  EXPECT_EQ(links_of(link(std::string(100, ' ') + "http://h/" + many), limits).too_long, 1U);
  for (const std::string& other :
       {"http://o/" + many, "data:" + many, std::string(100, ' ') + "a", "a#" + many}) {
    EXPECT_EQ(links_of(link(other), limits).too_long, 0U) << other;
  }
  EXPECT_EQ(links_of(link("a#" + many), limits).urls, strings{"http://h/base/a"});
}

TEST(links_of, ends_when_stop_is_requested) {
  std::stop_source stop;
  stop.request_stop();
  const web::page page{.status = 200, .body = "<a href=1>", .is_html = true};
  EXPECT_THROW(static_cast<void>(
                   crawl::links_of(page, "http://h/", {.any_host = true}, {}, stop.get_token())),
               takt::cancelled);
}

}  // namespace
