#include <takt/service/file_work_queue.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../tests/support/list_file.hpp"
#include "../../tests/support/temporary_folder.hpp"
#include "failing_disk.hpp"
#include "work_record.hpp"

namespace {

using takt_test::failing_disk;
using takt_test::full_disk;

using takt::file_work_queue;
using takt::work_counts;
using takt::work_item;
using takt::work_queue_error;
using takt_test::contents_of;
using takt_test::refusal;
using takt_test::steps_in;
using takt_test::write;
using reason = takt::work_queue_error::reason;
using testing::HasSubstr;

class file_work_queue_test : public takt_test::list_file_test {
 protected:
  // One step each: a, b and c are accepted; a is completed and has found d; b is claimed.
  void fill() const {
    file_work_queue list(file());
    for (const char* key : {"a", "b", "c"}) list.enqueue({.key = key, .data = "of it"});
    static_cast<void>(list.claim());
    list.complete("a", std::vector<work_item>{{"d"}});
    static_cast<void>(list.claim());
  }
};

TEST(work_record, has_the_checksum_that_others_have) {
  EXPECT_EQ(takt::crc32("123456789"), 0xCBF4'3926u);
  EXPECT_EQ(takt::crc32(""), 0u);
  EXPECT_EQ(takt::crc32("6789", takt::crc32("12345")), 0xCBF4'3926u);
}

// Memory for records grows geometrically, not by one record at a time.
TEST(work_step, takes_memory_in_proportion_to_its_records) {
  takt::work_step step;
  for (std::uint64_t n = 0; n < 10'000; ++n) step.add_accepted(n, "a key", "data");
  EXPECT_EQ(step.records(), 10'000u);
}

TEST_F(file_work_queue_test, goes_on_where_it_was) {
  fill();
  file_work_queue list(file());
  EXPECT_EQ(list.recovery().dropped_records, 0u);
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 1}));
  EXPECT_EQ(list.claim(), (work_item{"b", "of it"}));  // was claimed, but not completed
  EXPECT_EQ(list.claim(), (work_item{"c", "of it"}));
  EXPECT_EQ(list.claim(), work_item{"d"});
  EXPECT_EQ(list.enqueue({.key = "a"}), 0u);
}

TEST_F(file_work_queue_test, takes_a_file_of_which_only_the_name_is_there) {
  write(file(), "");
  EXPECT_EQ(refusal(file()), std::nullopt);
  write(file(), "takt wo");  // its creator was killed
  EXPECT_EQ(refusal(file()), std::nullopt);
  EXPECT_EQ(contents_of(file()).size(), takt::work_header::size);
}

// Whatever the length of the rest: all complete steps are kept, and the rest is dropped.
TEST_F(file_work_queue_test, drops_a_last_step_that_is_cut_short) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = steps_in(whole);
  ASSERT_EQ(at.size(), 5u);
  for (std::size_t length = at.front(); length < whole.size(); ++length) {
    write(file(), whole.substr(0, length));
    std::size_t steps_left = 0;
    while (at[steps_left + 1] <= length) ++steps_left;
    const std::size_t torn = length - at[steps_left];
    {
      file_work_queue list(file());
      EXPECT_EQ(list.recovery().dropped_records, torn == 0 ? 0u : 1u) << length;
      EXPECT_EQ(list.recovery().dropped_bytes, torn) << length;
      EXPECT_EQ(list.counts().waiting, steps_left) << length;
      EXPECT_EQ(list.enqueue({.key = "more"}), 1u);
    }
    file_work_queue again(file());
    EXPECT_EQ(again.recovery().dropped_records, 0u) << length;
    EXPECT_EQ(again.counts().waiting, steps_left + 1) << length;
  }
}

TEST_F(file_work_queue_test, drops_what_a_power_cut_has_left) {
  fill();
  const std::string whole = contents_of(file());
  const std::size_t last = steps_in(whole)[3];
  std::vector<std::string> tails{std::string(5000, '\0')};  // allocated, but not written
  tails.push_back(whole.substr(last));
  tails.back().back() = '\x55';  // the last block is missing
  for (const std::string& tail : tails) {
    write(file(), whole.substr(0, last) + tail);
    const file_work_queue list(file());
    EXPECT_EQ(list.recovery().dropped_records, 1u);
    EXPECT_EQ(list.recovery().dropped_bytes, tail.size());
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 0}));
  }
}

TEST_F(file_work_queue_test, refuses_what_is_no_work_queue_and_leaves_it_alone) {
  for (const std::string bytes : {"hello", "a long letter to somebody else", "takt work list 3"}) {
    write(file(), bytes);
    const auto told = refusal(file());
    ASSERT_TRUE(told) << bytes;
    EXPECT_EQ(told->why(), reason::foreign);
    EXPECT_EQ(contents_of(file()), bytes);
  }
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  ASSERT_TRUE(refusal(file()));
  EXPECT_EQ(refusal(file())->why(), reason::foreign);
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(refusal(file())->why(), reason::foreign);
}

TEST_F(file_work_queue_test, says_why_a_file_cannot_be_opened) {
  const auto told = refusal(file() / "list");  // in a folder that does not exist
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why(), reason::failed);
  EXPECT_THAT(told->what(), HasSubstr("No such file or directory"));
}

// Output of a process whose standard output is closed must not get into the file.
TEST_F(file_work_queue_test, is_not_taken_for_the_output) {
  std::fflush(stdout);
  const int output = dup(STDOUT_FILENO);
  close(STDOUT_FILENO);
  {
    const file_work_queue list(file());
    EXPECT_EQ(::write(STDOUT_FILENO, "200 a", 5), -1);
  }
  dup2(output, STDOUT_FILENO);
  close(output);
}

TEST_F(file_work_queue_test, belongs_to_one_at_a_time) {
  std::optional<file_work_queue> list(file());
  const auto told = refusal(file());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why(), reason::in_use);
  list.reset();
  EXPECT_EQ(refusal(file()), std::nullopt);
}

// Nothing acknowledged is lost: the file has every item that a child has reported through a pipe.
TEST_F(file_work_queue_test, survives_a_process_that_is_killed) {
  int told[2] = {-1, -1};
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    list.enqueue({.key = "0"});
    for (std::uint32_t i = 0;; ++i) {
      list.complete(list.claim()->key, std::vector<work_item>{{std::to_string(i + 1)}});
      if (::write(told[1], &i, sizeof i) != sizeof i) _exit(1);
    }
  }
  ::close(told[1]);
  std::uint32_t last = 0;
  while (last < 200 && ::read(told[0], &last, sizeof last) == sizeof last) {
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (::read(told[0], &last, sizeof last) == sizeof last) {
  }
  ::close(told[0]);
  EXPECT_GE(last, 200u);
  file_work_queue list(file());
  EXPECT_GE(list.counts().completed, last + 1);
  EXPECT_EQ(list.counts().waiting, 1u);
  EXPECT_EQ(list.claim()->key, std::to_string(list.counts().completed));
}

}  // namespace
