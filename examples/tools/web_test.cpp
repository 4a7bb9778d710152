#include "web.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

std::vector<std::string> links_in(const std::string& html) {
  std::vector<std::string> links;
  web::each_link(html, [&](const std::string& link) {
    links.push_back(link);
    return true;
  });
  return links;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

using strings = std::vector<std::string>;

TEST(each_link, finds_links_and_decodes_references) {
  EXPECT_EQ(links_in("<a href='/a'><AREA x=y HREF=b><p href=c><!-- <a href=d> --><a href=\"e f\">"),
            (strings{"/a", "b", "e f"}));
  EXPECT_EQ(links_in("<a href='?a&amp;b&amp;&amp;amp;c&am'>"), strings{"?a&b&&amp;c&am"});
  EXPECT_EQ(links_in("<a href='&amp;'>"), strings{"&"});
}

TEST(each_link, ends_when_it_is_told_to) {
  strings links;
  web::each_link("<a href=1><a href=2><a href=3>", [&](const std::string& link) {
    links.push_back(link);
    return links.size() < 2;
  });
  EXPECT_EQ(links, (strings{"1", "2"}));
}

// Each of these would take hours in quadratic time.
TEST(each_link, takes_a_time_that_is_proportional_to_the_page) {
  constexpr std::size_t many = 4'000'000;
  EXPECT_EQ(links_in("<a href='" + repeated("&amp;", many) + "'>").at(0).size(), many);
  EXPECT_EQ(links_in(repeated("<a ", many)).size(), 0U);
  EXPECT_EQ(links_in(repeated("<a href='", many)).size(), many / 2);
  EXPECT_EQ(links_in(repeated("<!--", many)).size(), 0U);
  EXPECT_EQ(links_in(repeated("<!-->", many)).size(), 0U);
  EXPECT_EQ(links_in("<a " + repeated("=", many)).size(), 0U);
}

TEST(normal_url, has_one_form) {
  EXPECT_EQ(web::normal_url(" HTTP://Host.Example:80/a/../b?c#d\n"), "http://host.example/b?c");
  EXPECT_EQ(web::normal_url("c", "http://a/b/"), "http://a/b/c");
  for (const char* const bad : {"", "mailto:a@b", "/a", "http://[nonsense", "http://"}) {
    EXPECT_EQ(web::normal_url(bad), std::nullopt) << bad;
  }
}

// Addresses in a list are normalised again, which must not change them.
TEST(normal_url, does_not_change_a_normal_address) {
  EXPECT_EQ(web::normal_url("http://%30/"), "http://0.0.0.0/");
  EXPECT_EQ(web::normal_url("http://0x7f.1:80/a"), "http://127.0.0.1/a");
  for (const std::string text :
       {"http://%30/", "http://%2530/", "http://%31%32%37.1/", "HTTP://A%42.example/",
        "http://0%78%37f.1/", "http://[::0:1]/", "http://a/%2e%2e/b c?d e",
        "http://a/b/../../c?%2f", "http://a?b"}) {
    const std::optional<std::string> once = web::normal_url(text);
    if (once) {
      EXPECT_EQ(web::normal_url(*once), once) << text;
    }
  }
}

TEST(normal_url, has_no_user_and_no_password) {
  EXPECT_EQ(web::normal_url("http://user:secret@host/a"), "http://host/a");
  EXPECT_EQ(web::normal_url("http://user@host/a"), "http://host/a");
  EXPECT_EQ(web::normal_url("http://:secret@host/a"), "http://host/a");
  EXPECT_EQ(web::normal_url("//:secret@host/b", "http://user:secret@other/a"), "http://host/b");
  EXPECT_EQ(web::normal_url("b", "http://user:secret@host/a"), "http://host/b");
}

}  // namespace
