// Reading and converting files of takt 0.1.0.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../../tests/support/list_file.hpp"
#include "failing_disk.hpp"
#include "work_record.hpp"

namespace {

using takt::file_work_queue;
using takt::put_number;
using takt::work_item;
using takt_test::contents_of;
using takt_test::refusal;
using takt_test::write;
using testing::HasSubstr;
using reason = takt::work_queue_error::reason;

std::string accepted(std::string_view key, std::string_view data) {
  std::string entry = "a";
  put_number(entry, static_cast<std::uint32_t>(key.size()));
  put_number(entry, static_cast<std::uint32_t>(data.size()));
  return entry.append(key).append(data);
}
std::string done(std::string_view key) {
  std::string entry = "d";
  put_number(entry, static_cast<std::uint32_t>(key.size()));
  return entry.append(key);
}
std::string completed(std::uint64_t number) {
  std::string entry = "c";
  put_number(entry, number);
  return entry;
}
std::string record(const std::string& payload) {
  std::string head;
  put_number(head, static_cast<std::uint32_t>(payload.size()));
  put_number(head, takt::crc32(head));
  put_number(head, takt::crc32(payload));
  return head + payload;
}

class file_work_queue_version_1 : public takt_test::list_file_test {
 protected:
  const std::string magic_ = "takt work list 1";
  const std::string first_ = record(done("z") + accepted("a", "of it"));
  const std::string second_ = record(accepted("b", "") + accepted("c", "3"));
  const std::string last_ = record(accepted("d", "") + completed(1));
};

TEST_F(file_work_queue_version_1, is_converted) {
  write(file(), magic_ + first_ + second_ + last_);
  for (const bool first : {true, false}) {
    file_work_queue list(file());
    EXPECT_EQ(list.recovery().compacted, first);
    EXPECT_EQ(list.recovery().dropped_bytes, 0u);
    EXPECT_THAT(list.completed_keys(), testing::ElementsAre("z", "a"));
    EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"b"}, {"c", "3"}, {"d"}}));
    EXPECT_TRUE(contents_of(file()).starts_with("takt work list 2"));
  }
  write(file(), magic_);
  EXPECT_EQ(file_work_queue(file()).counts(), takt::work_counts());
}

TEST_F(file_work_queue_version_1, loses_a_torn_tail) {
  const std::string before = magic_ + first_ + second_;
  std::vector<std::string> tails{std::string(500, '\0'), last_};
  tails.back().back() = 'x';
  for (std::size_t length = 1; length < last_.size(); ++length) {
    tails.push_back(last_.substr(0, length));
  }
  for (const std::string& tail : tails) {
    write(file(), before + tail);
    const file_work_queue list(file());
    EXPECT_EQ(list.recovery().dropped_bytes, tail.size());
    EXPECT_EQ(list.incomplete().size(), 3u);
  }
}

TEST_F(file_work_queue_version_1, is_refused_if_it_is_damaged) {
  const std::string bytes = magic_ + first_ + second_ + last_;
  for (std::size_t byte = magic_.size(); byte < magic_.size() + first_.size(); ++byte) {
    std::string damaged = bytes;
    damaged[byte] = static_cast<char>(~damaged[byte]);
    write(file(), damaged);
    const auto told = refusal(file(), {.damaged = takt::damage_policy::skip});
    ASSERT_TRUE(told) << byte;
    EXPECT_EQ(told->why(), reason::damaged);
    EXPECT_THAT(told->what(), HasSubstr("damaged at byte 16 of"));
    EXPECT_EQ(contents_of(file()), damaged);
  }
  for (const std::string& payload : {completed(0), done("a") + completed(0), std::string("x"),
                                     accepted("a", "") + accepted("a", "")}) {
    write(file(), magic_ + record(payload));
    EXPECT_EQ(refusal(file())->why(), reason::damaged);
  }
}

TEST_F(file_work_queue_version_1, stays_as_it_is_if_it_cannot_be_converted) {
  const std::string bytes = magic_ + first_ + second_ + last_;
  write(file(), bytes);
  {
    const takt_test::full_disk full(20);
    const auto told = refusal(file());
    ASSERT_TRUE(told);
    EXPECT_EQ(told->why(), reason::failed);
    EXPECT_THAT(told->what(), HasSubstr(file().string()));
  }
  EXPECT_EQ(contents_of(file()), bytes);
  EXPECT_EQ(takt_test::files_in(folder()), 1u);
}

}  // namespace
