// Compaction of a file_work_queue: the old file, and other files beside it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../../tests/support/list_file.hpp"
#include "failing_disk.hpp"

namespace {

using takt::file_work_queue;
using takt::work_counts;
using takt::work_item;
using takt_test::contents_of;
using takt_test::failing_disk;
using takt_test::files_in;
using takt_test::full_disk;
using takt_test::refusal;
using reason = takt::work_queue_error::reason;

class file_work_queue_compaction : public takt_test::list_file_test {
 protected:
  // Makes a file of which most bytes are obsolete.
  void fill() const {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) {
      list.enqueue({.key = std::to_string(i), .data = std::string(100, 'x')});
      list.complete(list.claim()->key);
    }
  }
};

TEST_F(file_work_queue_compaction, is_written_anew_when_most_of_it_is_over) {
  {
    file_work_queue list(file());
    for (int i = 0; i < 100; ++i) {
      list.enqueue({.key = std::to_string(i), .data = std::string(100, 'x')});
    }
    for (int i = 0; i < 98; ++i) list.complete(list.claim()->key);
  }
  const auto before = std::filesystem::file_size(file());
  {
    const file_work_queue list(file());
    EXPECT_FALSE(list.recovery().compacted);  // the file is small
  }
  std::filesystem::permissions(
      file(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  {
    file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_TRUE(list.recovery().compacted);
    EXPECT_LT(std::filesystem::file_size(file()), before / 3);
    EXPECT_EQ(refusal(file())->why(), reason::in_use);  // the new file is locked
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 98}));
    EXPECT_EQ(list.enqueue({.key = "0"}), 0u);
    EXPECT_EQ(list.enqueue({.key = "100"}), 1u);
    EXPECT_EQ(list.claim()->key, "98");
    list.complete("98");
  }
  EXPECT_EQ(std::filesystem::status(file()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file_work_queue list(file(), {.compact_above = 1000});
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 99}));
  EXPECT_EQ(list.claim(), (work_item{"99", std::string(100, 'x')}));
  EXPECT_EQ(list.claim(), work_item{"100"});
}

TEST_F(file_work_queue_compaction, stays_as_it_is_if_there_is_no_room_to_write_it_anew) {
  {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) {
      list.enqueue({.key = std::to_string(i), .data = std::string(100, 'x')});
      list.complete(list.claim()->key);
    }
  }
  const std::string whole = contents_of(file());
  const full_disk full(500);
  const file_work_queue list(file(), {.compact_above = 1000});
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts().completed, 100u);
  EXPECT_EQ(contents_of(file()), whole);
  EXPECT_EQ(files_in(folder()), 1u);
}

// The new file has a random name. Files with other names are not touched.
TEST_F(file_work_queue_compaction, leaves_other_files_alone) {
  fill();
  const std::filesystem::path beside = file().string() + ".takt-new";
  std::optional<file_work_queue> other(beside);
  other->enqueue({.key = "precious"});
  {
    const file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_TRUE(list.recovery().compacted);
  }
  other->enqueue({.key = "more"});
  other.reset();
  EXPECT_EQ(file_work_queue(beside).counts().waiting, 2u);
}

TEST_F(file_work_queue_compaction, follows_no_link_of_somebody_else) {
  fill();
  const std::filesystem::path victim = folder() / "victim";
  takt_test::write(victim, "letters");
  std::filesystem::create_symlink(victim, file().string() + ".takt-new");
  {
    const file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_TRUE(list.recovery().compacted);
  }
  EXPECT_EQ(contents_of(victim), "letters");
  EXPECT_FALSE(std::filesystem::is_symlink(file()));
}

TEST_F(file_work_queue_compaction, replaces_the_file_that_a_link_names) {
  fill();
  const std::filesystem::path real = folder() / "real";
  std::filesystem::rename(file(), real);
  std::filesystem::create_symlink("real", file());
  {
    const file_work_queue list(file(), {.compact_above = 1000});
    EXPECT_TRUE(list.recovery().compacted);
    EXPECT_EQ(refusal(real)->why(), reason::in_use);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(file()));
  EXPECT_EQ(file_work_queue(real).counts().completed, 100u);
  EXPECT_EQ(files_in(folder()), 2u);
}

}  // namespace
