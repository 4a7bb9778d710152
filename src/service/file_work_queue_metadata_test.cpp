// The metadata and the keys of a file_work_queue.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../../tests/support/list_file.hpp"
#include "failing_disk.hpp"

namespace {

namespace fs = std::filesystem;

using takt::file_work_queue;
using takt::work_item;
using takt_test::failing_disk;

class file_work_queue_metadata : public takt_test::list_file_test {};

TEST_F(file_work_queue_metadata, are_empty_at_first_and_then_what_was_set_last) {
  const std::string odd("\0\n\xff", 3);
  {
    file_work_queue list(file());
    EXPECT_EQ(list.metadata(), "");
    list.set_metadata("first");
    EXPECT_EQ(list.metadata(), "first");
    list.enqueue({.key = "a"});
    list.set_metadata(odd);
  }
  {
    file_work_queue list(file());
    EXPECT_EQ(list.metadata(), odd);
    EXPECT_EQ(list.incomplete(), std::vector<work_item>{{"a"}});
    list.set_metadata("");
  }
  EXPECT_EQ(file_work_queue(file()).metadata(), "");
}

TEST_F(file_work_queue_metadata, are_on_the_disk_when_the_call_returns) {
  file_work_queue list(file());
  const failing_disk disk({});
  list.set_metadata("kept");
  EXPECT_EQ(disk.syncs(), 1);
}

TEST_F(file_work_queue_metadata, stay_as_they_were_if_they_cannot_be_kept) {
  {
    file_work_queue list(file());
    list.set_metadata("before");
    const failing_disk disk({.sync = true});
    EXPECT_THROW(list.set_metadata("after"), takt::work_queue_error);
    EXPECT_EQ(list.metadata(), "before");
  }
}

TEST_F(file_work_queue_metadata, survive_a_compaction) {
  {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) list.set_metadata(std::to_string(i) + std::string(100, 'x'));
    list.set_metadata("the last");
  }
  for (const bool compacted : {true, false}) {
    const file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_EQ(list.recovery().compacted, compacted);
    EXPECT_EQ(list.metadata(), "the last");
  }
}

TEST_F(file_work_queue_metadata, all_keys_that_were_accepted_can_be_read) {
  {
    file_work_queue list(file());
    EXPECT_EQ(list.completed_keys(), std::vector<std::string>());
    for (int i = 0; i < 20; ++i) {
      list.enqueue({.key = std::to_string(i), .data = std::string(1000, 'x')});
    }
    for (int i = 0; i < 18; ++i) static_cast<void>(list.claim());
    for (int i = 17; i >= 1; --i) list.complete(std::to_string(i));
  }
  std::vector<std::string> completed;
  for (int i = 1; i <= 17; ++i) completed.push_back(std::to_string(i));
  for (int i = 0; i < 2; ++i) {
    const file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_EQ(list.recovery().compacted, i == 0);
    EXPECT_EQ(list.incomplete().size(), 3u);
  }
  const file_work_queue list(file());
  std::vector<std::string> keys = list.completed_keys();
  std::sort(keys.begin(), keys.end());
  std::sort(completed.begin(), completed.end());
  EXPECT_EQ(keys, completed);
}

TEST_F(file_work_queue_metadata, are_checked_before_the_file_is_changed) {
  std::vector<std::string> seen;
  const auto check = [&seen](const std::string& metadata, const takt::work_counts& items) {
    seen.push_back(metadata);
    EXPECT_EQ(items, (takt::work_counts{.waiting = 1}));
    if (metadata != "mine") throw std::runtime_error("not mine");
  };
  // Large enough for a compaction; below, its last step is cut short.
  {
    file_work_queue list(file(), {.check_existing = check});
    list.set_metadata(std::string(3000, 'x'));
    list.set_metadata("of another");
    list.enqueue({.key = "a"});
  }
  EXPECT_TRUE(seen.empty()) << "it was new";
  file_work_queue(file()).enqueue({.key = "b"});
  fs::resize_file(file(), fs::file_size(file()) - 1);
  const std::string bytes = takt_test::contents_of(file());
  const takt::file_work_queue_options checked{.compact_above = 1000, .check_existing = check};
  EXPECT_THROW(file_work_queue(file(), checked), std::runtime_error);
  EXPECT_EQ(takt_test::contents_of(file()), bytes);
  file_work_queue(file()).set_metadata("mine");
  EXPECT_TRUE(file_work_queue(file(), checked).recovery().compacted);
  EXPECT_EQ(seen, (std::vector<std::string>{"of another", "mine"}));
}

}  // namespace
