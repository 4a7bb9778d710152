// A file_work_queue on a failing disk keeps what its calls have returned from.
#include <filesystem>
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
using takt::work_queue_error;
using takt_test::contents_of;
using takt_test::failing_disk;
using takt_test::files_in;
using takt_test::full_disk;
using takt_test::refusal;
using testing::HasSubstr;
using reason = takt::work_queue_error::reason;

class file_work_queue_sync : public takt_test::list_file_test {
 protected:
  // a, b and c are accepted; a is completed and has found d; b is claimed.
  void fill() const {
    file_work_queue list(file());
    for (const char* key : {"a", "b", "c"}) list.enqueue({.key = key, .data = "of it"});
    static_cast<void>(list.claim());
    list.complete("a", std::vector<work_item>{{"d"}});
    list.set_metadata("options");
    static_cast<void>(list.claim());
  }
};

TEST_F(file_work_queue_sync, keeps_what_it_had_when_the_disk_is_full) {
  fill();
  const std::string whole = contents_of(file());
  {
    file_work_queue list(file());
    ASSERT_EQ(list.claim()->key, "b");
    {
      const full_disk full(whole.size() + 7);  // room for the first bytes of a record
      for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
        EXPECT_THROW(list.complete("b", std::vector<work_item>{{"f"}}), work_queue_error);
      }
      EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .completed = 1}));
      EXPECT_EQ(contents_of(file()), whole);
    }
    // There is room again.
    EXPECT_EQ(list.enqueue({.key = "e"}), 1u);
    EXPECT_EQ(list.complete("b", std::vector<work_item>{{"f"}, {"e"}}), 1u);
    for (const char* key : {"c", "d", "e"}) EXPECT_EQ(list.claim()->key, key);
    list.complete("e");  // by its number, which the failures have not changed
  }
  const file_work_queue list(file());
  EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"c", "of it"}, {"d"}, {"f"}}));
}

// The content of the disk is unknown then: the queue accepts nothing until it is opened again.
TEST_F(file_work_queue_sync, takes_no_more_after_a_sync_that_failed) {
  fill();
  const auto refused = [](auto call) -> std::string {
    try {
      call();
    } catch (const work_queue_error& e) {
      EXPECT_EQ(e.why(), reason::failed);
      return e.what();
    }
    return "nothing";
  };
  {
    file_work_queue list(file());
    ASSERT_EQ(list.claim()->key, "b");
    {
      const failing_disk disk({.sync = true});
      EXPECT_THAT(refused([&] { list.enqueue({.key = "e"}); }), HasSubstr("Input/output error"));
    }
    EXPECT_THAT(refused([&] { list.enqueue({.key = "e"}); }), HasSubstr("open the file again"));
    EXPECT_THAT(refused([&] { list.complete("b"); }), HasSubstr("open the file again"));
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .completed = 1}));
    list.release("b");  // changes only memory
  }
  file_work_queue list(file());
  EXPECT_EQ(list.counts().completed, 1u);
  list.enqueue({.key = "f"});
}

// A disk that stores other bytes than were written to the new file.
TEST_F(file_work_queue_sync, keeps_the_old_file_if_the_new_one_reads_back_differently) {
  fill();
  {
    file_work_queue list(file());
    failing_disk disk({.syncs = 0b1});
    disk.at_sync([this] {
      for (const auto& entry :
           std::filesystem::directory_iterator(std::filesystem::path(file()).parent_path())) {
        if (entry.path().extension() != ".tmp") continue;
        std::string bytes = contents_of(entry.path());
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        takt_test::write(entry.path(), bytes);
      }
    });
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
  }
  const file_work_queue list(file());
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
}

// The new file replaces the one that was opened, wherever the process works meanwhile.
TEST_F(file_work_queue_sync, goes_on_in_a_new_file_after_a_change_of_the_working_folder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(file()).parent_path());
  {
    file_work_queue list("relative");
    std::filesystem::current_path("/");
    const failing_disk disk({.syncs = 0b1});
    EXPECT_EQ(list.enqueue({.key = "a"}), 1u);
  }
  std::filesystem::current_path(before);
  const auto named = std::filesystem::path(file()).parent_path() / "relative";
  EXPECT_EQ(file_work_queue(named.string()).counts().waiting, 1u);
}

// The step goes to a new file, whose name cannot be synced: the caller gets the error, and the step
// does not count.
TEST_F(file_work_queue_sync, a_step_that_has_failed_in_the_new_file_is_not_in_it) {
  fill();
  {
    file_work_queue list(file());
    const std::string key = list.claim()->key;
    const failing_disk disk({.syncs = 0b101});  // of the file, and of the folder of the new file
    EXPECT_THROW(list.complete(key), work_queue_error);
    EXPECT_EQ(disk.syncs(), 3);
  }
  file_work_queue list(file());
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
}

// A partial record that cannot be removed: nothing may be written behind it.
TEST_F(file_work_queue_sync, takes_no_more_if_what_was_written_cannot_be_taken_back) {
  fill();
  const std::string whole = contents_of(file());
  {
    file_work_queue list(file());
    {
      const full_disk full(whole.size() + 7);
      const failing_disk disk({.truncate = true});
      EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
    }
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
    EXPECT_EQ(contents_of(file()).size(), whole.size() + 7);
  }
  const file_work_queue list(file());
  EXPECT_EQ(list.recovery().dropped_bytes, 7u);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
}

// A call that returns has synced its step, so errors of the disk are noticed, except with at_close.
TEST_F(file_work_queue_sync, syncs_when_it_is_told_to) {
  {
    const failing_disk disk({.sync = true});
    for (int i = 0; i < 2; ++i) {  // the second time with unsynced data of the first
      const auto told = refusal(file());
      ASSERT_TRUE(told);
      EXPECT_EQ(told->why(), reason::failed);
    }
  }
  fill();
  {
    const failing_disk disk({.sync = true});
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    EXPECT_EQ(list.enqueue({.key = "e"}), 1u);
    EXPECT_EQ(disk.syncs(), 0);
    list.complete(list.claim()->key);
    EXPECT_EQ(disk.syncs(), 0);
  }
  file_work_queue list(file());
  const failing_disk disk({});
  list.enqueue({.key = "f"});
  EXPECT_EQ(disk.syncs(), 1);
  list.complete(list.claim()->key);
  EXPECT_EQ(disk.syncs(), 2);
}

// The kernel may mark the pages as clean after a failed fsync, so that the next one succeeds.
TEST_F(file_work_queue_sync, that_fails_once_costs_nothing_for_all_is_in_a_new_file) {
  fill();
  {
    file_work_queue list(file());
    ASSERT_EQ(list.claim()->key, "b");
    ASSERT_EQ(list.claim()->key, "c");
    {
      const std::filesystem::path first = folder() / "first";
      std::filesystem::create_hard_link(file(), first);
      const failing_disk disk({.syncs = 1});
      EXPECT_EQ(list.complete("c", std::vector<work_item>{{"e"}, {"a"}}), 1u);
      EXPECT_EQ(disk.syncs(), 3);  // of the first file, of the new one, and of its folder
      EXPECT_FALSE(std::filesystem::equivalent(file(), first));
    }
    EXPECT_EQ(refusal(file())->why(), reason::in_use);
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .completed = 2}));
    {
      const failing_disk disk({.syncs = 1});
      EXPECT_EQ(list.enqueue({.key = "f"}), 1u);
    }
    {
      const failing_disk disk({.syncs = 1});
      list.set_metadata("others");
    }
    EXPECT_EQ(list.metadata(), "others");
    list.complete("b");
  }
  const file_work_queue list(file());
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"d"}, {"e"}, {"f"}}));
  EXPECT_THAT(list.completed_keys(), testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(list.metadata(), "others");
  EXPECT_EQ(files_in(folder()), 2u);
}

TEST_F(file_work_queue_sync, that_fails_twice_leaves_what_was_acknowledged) {
  fill();
  const std::string whole = contents_of(file());
  {
    file_work_queue list(file());
    const failing_disk disk({.syncs = 0b11});
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
    EXPECT_EQ(contents_of(file()), whole);  // the new step, which may not be on the disk, is gone
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
    EXPECT_EQ(disk.syncs(), 2);
  }
  EXPECT_EQ(contents_of(file()), whole);
  EXPECT_EQ(files_in(folder()), 1u);
}

// The old file has been replaced, but a power cut may restore it.
TEST_F(file_work_queue_sync, of_the_folder_that_fails_is_the_end_too) {
  fill();
  {
    file_work_queue list(file());
    const failing_disk disk({.syncs = 0b101});
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
    EXPECT_THROW(list.enqueue({.key = "f"}), work_queue_error);
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
    EXPECT_EQ(refusal(file())->why(), reason::in_use);
  }
  {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) list.set_metadata(std::string(100, 'm'));
  }
  {
    const failing_disk disk({.syncs = 0b10});  // syncs the new file, but not its folder
    const auto told = refusal(file(), {.sync = takt::work_sync::at_close, .compact_above = 0});
    ASSERT_TRUE(told);
    EXPECT_EQ(told->why(), reason::failed);
  }
  EXPECT_EQ(file_work_queue(file()).metadata(), std::string(100, 'm'));
  EXPECT_GE(file_work_queue(file()).counts().waiting, 3u);
}

TEST_F(file_work_queue_sync, that_fails_replaces_no_file_of_somebody_else) {
  fill();
  {
    file_work_queue list(file());
    std::filesystem::rename(file(), folder() / "moved");
    takt_test::write(file(), "letters");
    const failing_disk disk({.syncs = 1});
    EXPECT_THROW(list.enqueue({.key = "e"}), work_queue_error);
  }
  EXPECT_EQ(contents_of(file()), "letters");
  EXPECT_EQ(file_work_queue(folder() / "moved").counts().waiting, 3u);
  EXPECT_EQ(files_in(folder()), 2u);
}

TEST_F(file_work_queue_sync, that_fails_when_it_is_opened_or_closed_makes_a_new_file) {
  {
    const failing_disk disk({.syncs = 1});
    file_work_queue list(file());  // compacts the file
    EXPECT_TRUE(list.recovery().compacted);
    list.enqueue({.key = "a"});
  }
  {
    const failing_disk disk({.syncs = 1});
    const file_work_queue list(file());
    EXPECT_TRUE(list.recovery().compacted);
  }
  std::filesystem::create_hard_link(file(), folder() / "first");
  std::optional<file_work_queue> list(
      std::in_place, file(), takt::file_work_queue_options{.sync = takt::work_sync::at_close});
  list->enqueue({.key = "b"});
  {
    const failing_disk disk({.syncs = 1});
    list.reset();
  }
  EXPECT_FALSE(std::filesystem::equivalent(file(), folder() / "first"));
  EXPECT_EQ(file_work_queue(file()).counts().waiting, 2u);
}

TEST_F(file_work_queue_sync, says_what_opening_has_done_and_not_what_came_later) {
  file_work_queue list(file());
  {
    const failing_disk disk({.syncs = 1});
    list.enqueue({.key = "a"});
    EXPECT_GT(disk.syncs(), 1) << "it was written anew";
  }
  EXPECT_FALSE(list.recovery().compacted);
}

// Otherwise new items would be lost when the file is closed.
TEST_F(file_work_queue_sync, takes_no_more_when_its_file_has_been_deleted) {
  file_work_queue list(file());
  list.enqueue({.key = "a"});
  std::filesystem::remove(file());
  EXPECT_THROW(list.enqueue({.key = "b"}), work_queue_error);
  EXPECT_EQ(list.counts().waiting, 1u);
}

}  // namespace
