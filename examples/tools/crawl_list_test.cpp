#include "crawl_list.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../../tests/support/temporary_folder.hpp"

namespace {

using crawl::page_list;
using items = std::vector<takt::work_item>;

TEST(crawl_filters, are_kept_as_text) {
  const crawl::filters some{.depth = 7, .hosts = {"a", "b:80"}, .has_error_status = true};
  EXPECT_EQ(crawl::to_text(some),
            "takt crawl 1\ndepth 7\nany-host no\nerror-status yes\nhost a\nhost b:80\n");
  for (const crawl::filters& all : {some, crawl::filters{.depth = 0, .any_host = true}}) {
    EXPECT_EQ(crawl::parse_filters(crawl::to_text(all)), all);
  }
  for (const std::string bad :
       {"", "takt crawl 1", "takt crawl 2\ndepth 5\nany-host no\nerror-status no\n",
        "takt crawl 1\ndepth x\nany-host no\nerror-status no\n",
        "takt crawl 1\ndepth 5\nany-host maybe\nerror-status no\n",
        "takt crawl 1\ndepth 5\nany-host no\nerror-status no\nmore\n"}) {
    EXPECT_EQ(crawl::parse_filters(bad), std::nullopt) << bad;
  }
}

TEST(crawl_keys, have_the_depth) {
  EXPECT_EQ(crawl::key_of({"http://a/", 3}), "http://a/#3");
  EXPECT_EQ(crawl::parse_key("http://a/#12"), (crawl::page{"http://a/", 12}));
  for (const char* const bad :
       {"", "http://a/", "http://a/#", "http://a/#x", "http://a/#1#2", "a#01"}) {
    EXPECT_EQ(crawl::parse_key(bad), std::nullopt) << bad;
  }
}

class crawl_list : public testing::Test {
 protected:
  crawl_list() { open(); }

  // Opens the list again, as another process would after this one was killed.
  void open(std::size_t max_pages = 1000) {
    list.reset();
    file.reset();
    file.emplace(folder / "list", takt::file_work_queue_options{.sync = takt::work_sync::at_close});
    list.emplace(*file, max_pages);
  }
  // Returns the key of a claimed item; empty if there is none.
  std::string claim() {
    const std::optional<takt::work_item> item = list->claim();
    return item ? item->key : "";
  }

  const takt_test::temporary_folder folder;
  std::optional<takt::file_work_queue> file;
  std::optional<page_list> list;
};

TEST_F(crawl_list, hands_out_level_by_level) {
  list->enqueue(items{{"a#0"}, {"b#0"}});
  EXPECT_EQ(claim(), "a#0");
  EXPECT_EQ(claim(), "b#0");
  list->complete("a#0", items{{"c#1"}, {"d#1"}});
  EXPECT_EQ(claim(), "") << "b is claimed";
  EXPECT_EQ(list->counts(), (takt::work_counts{.waiting = 2, .claimed = 1, .completed = 1}));
  list->complete("b#0", {});
  EXPECT_EQ(claim(), "c#1");
  EXPECT_EQ(claim(), "d#1");
  EXPECT_EQ(claim(), "");
}

TEST_F(crawl_list, a_page_that_is_put_aside_or_given_back_holds_up_nobody) {
  list->enqueue(items{{"a#0"}, {"b#0"}, {"c#1"}});
  EXPECT_EQ(claim(), "a#0");
  EXPECT_EQ(claim(), "b#0");
  list->put_aside("a#0");
  EXPECT_EQ(claim(), "");
  list->put_aside("b#0");
  EXPECT_EQ(claim(), "c#1");
  EXPECT_EQ(list->counts(), (takt::work_counts{.waiting = 2, .claimed = 1}));
  list->complete("c#1", {});
  list->release("a#0");  // as a crawler does at the end
  EXPECT_EQ(list->counts(), (takt::work_counts{.waiting = 2, .completed = 1}));
  EXPECT_EQ(claim(), "a#0");
  list->release("a#0");
  EXPECT_EQ(claim(), "a#0");
}

TEST_F(crawl_list, what_a_page_that_is_put_aside_has_found_is_accepted) {
  list->enqueue(items{{"a#0"}});
  EXPECT_EQ(claim(), "a#0");
  list->put_aside("a#0");
  EXPECT_EQ(list->complete("a#0", items{{"b#1"}}), 1U);
  EXPECT_EQ(claim(), "b#1");
  list->complete("b#1");
  EXPECT_EQ(claim(), "");
  open();
  EXPECT_EQ(claim(), "a#0");
}

TEST_F(crawl_list, the_shorter_path_wins) {
  list->enqueue(items{{"a#0"}});
  EXPECT_EQ(claim(), "a#0");
  list->complete("a#0", items{{"x#3"}, {"y#3"}, {"y#4"}});
  EXPECT_EQ(list->enqueue(items{{"x#3"}, {"x#4"}}), 0U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(claim(), "x#3");
    open();  // the claim is lost; the known depths are not
  }
  EXPECT_EQ(claim(), "x#3");
  EXPECT_EQ(list->complete("x#3", items{{"x#2"}, {"y#2"}, {"a#1"}}), 2U);
  open();
  EXPECT_EQ(list->enqueue(items{{"x#3"}, {"x#2"}, {"y#3"}}), 0U);
  EXPECT_EQ(claim(), "x#2") << "y#3 and y#4 are confirmed without being handed out";
  EXPECT_EQ(claim(), "y#2");
  EXPECT_EQ(claim(), "");
}

TEST_F(crawl_list, keeps_no_more_than_the_limit) {
  open(3);
  list->enqueue(items{{"a#0"}});
  EXPECT_EQ(claim(), "a#0");
  EXPECT_EQ(list->complete("a#0", items{{"b#1"}, {"b#1"}, {"c#1"}, {"d#1"}}), 2U);
  EXPECT_TRUE(list->is_full());
  EXPECT_EQ(claim(), "b#1");
  list->complete("b#1", items{{"a#2"}, {"c#2"}});  // no new links: the page is done
  EXPECT_EQ(claim(), "c#1");
  list->complete("c#1");
  EXPECT_EQ(list->counts(), (takt::work_counts{.waiting = 1, .completed = 2}));
  open(4);
  EXPECT_FALSE(list->is_full());
  EXPECT_EQ(claim(), "a#0");
  EXPECT_EQ(list->complete("a#0", items{{"b#1"}, {"c#1"}, {"d#1"}}), 1U);
  EXPECT_EQ(claim(), "d#1");
  EXPECT_FALSE(list->is_full());
}

// No page in the file leads to the URLs of the command line.
TEST_F(crawl_list, the_limit_leaves_out_no_url) {
  open(2);
  EXPECT_EQ(list->enqueue(items{{"a#0"}, {"b#0"}, {"c#0"}}), 3U);
  EXPECT_FALSE(list->is_full());
  for (const std::string key : {"a#0", "b#0"}) {
    EXPECT_EQ(claim(), key);
    list->complete(key, {});
  }
  EXPECT_EQ(claim(), "c#0");
  EXPECT_EQ(list->complete("c#0", items{{"d#1"}}), 0U);
  EXPECT_TRUE(list->is_full());
  open(2);
  EXPECT_EQ(list->enqueue(items{{"e#0"}}), 1U);
  EXPECT_EQ(claim(), "c#0");
  EXPECT_EQ(claim(), "e#0");
}

}  // namespace
