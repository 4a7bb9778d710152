// Damage of the file of a file_work_queue other than a torn tail: later records are intact.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
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

using takt::damage_policy;
using takt::file_work_queue;
using takt::work_counts;
using takt::work_item;
using takt_test::contents_of;
using takt_test::refusal;
using takt_test::write;
using testing::HasSubstr;
using reason = takt::work_queue_error::reason;

const takt::file_work_queue_options skip{.sync = takt::work_sync::at_close,
                                         .damaged = damage_policy::skip};

const takt::file_work_queue_options at_close{.sync = takt::work_sync::at_close};

std::set<std::string> keys_of(const file_work_queue& list) {
  std::set<std::string> keys;
  for (const work_item& item : list.incomplete()) keys.insert(item.key);
  for (const std::string& key : list.completed_keys()) keys.insert(key);
  return keys;
}

class file_work_queue_damage : public takt_test::list_file_test {
 protected:
  [[nodiscard]] std::vector<std::size_t> records() const {
    return takt_test::records_in(contents_of(file()));
  }
  void flip(std::size_t byte) const {
    std::string bytes = contents_of(file());
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << byte % 8));
    write(file(), bytes);
  }
  // Records 0 to 4 are items 0 to 4; 5 completes item 0; 6 is item 5, which item 2 has found; 7
  // completes item 2; 8 is the metadata.
  void fill() const {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    list.enqueue({.key = "0", .data = "of it"});
    list.enqueue(std::vector<work_item>{{"1", "one"}, {"2", "two"}, {"3", "three"}});
    list.enqueue({.key = "4", .data = "of it"});
    static_cast<void>(list.claim());
    list.complete("0");
    static_cast<void>(list.claim());
    static_cast<void>(list.claim());
    list.complete("2", std::vector<work_item>{{"5"}});
    list.set_metadata("options");
  }

 private:
  const takt_test::failing_disk disk_{{.pretend = true}};
};

TEST_F(file_work_queue_damage, is_refused_and_the_file_left_alone) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  ASSERT_EQ(at.size(), 10u);
  for (std::size_t byte = 0; byte < at[8]; ++byte) {
    write(file(), whole);
    flip(byte);
    const std::string bytes = contents_of(file());
    const auto told = refusal(file());
    ASSERT_TRUE(told) << byte;
    EXPECT_EQ(told->why(), reason::damaged) << byte;
    EXPECT_THAT(told->what(), HasSubstr(file().string()));
    EXPECT_THAT(told->what(), HasSubstr("damaged at byte"));
    if (byte >= at[0]) {
      EXPECT_THAT(told->what(), HasSubstr("(records lost: 1)"));
    }
    EXPECT_EQ(contents_of(file()), bytes);
  }
}

TEST_F(file_work_queue_damage, costs_one_item_if_it_is_skipped) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  const std::set<std::string> all{"0", "1", "2", "3", "4", "5"};
  const std::map<std::string, std::string> data_of{{"0", "of it"}, {"1", "one"},   {"2", "two"},
                                                   {"3", "three"}, {"4", "of it"}, {"5", ""}};
  std::size_t record = 0;
  for (std::size_t byte = 0; byte < at[8]; ++byte) {
    write(file(), whole);
    flip(byte);
    while (byte >= at[record + 1]) ++record;
    std::set<std::string> keys = all;
    std::set<std::string> completed{"0", "2"};
    if (byte >= at[0]) {
      if (record < 5) keys.erase(std::to_string(record));
      if (record == 6) keys.erase("5");
      if (record == 0 || record == 5) completed.erase("0");
      if (record == 2 || record >= 6) completed.erase("2");
    }
    for (const bool first : {true, false}) {
      const file_work_queue list(file(), first ? skip : at_close);
      ASSERT_EQ(list.recovery().lost_records, first && byte >= at[0] ? 1u : 0u) << byte;
      ASSERT_EQ(list.recovery().lost_bytes,
                first && byte >= at[0] ? at[record + 1] - at[record] : 0u)
          << byte;
      ASSERT_EQ(list.recovery().compacted, first);
      ASSERT_EQ(list.recovery().dropped_records, 0u);
      ASSERT_EQ(keys_of(list), keys) << byte;
      const std::vector<std::string> done = list.completed_keys();
      ASSERT_EQ(std::set<std::string>(done.begin(), done.end()), completed) << byte;
      ASSERT_EQ(list.metadata(), "options");
      for (const work_item& item : list.incomplete()) {
        ASSERT_EQ(item.data, data_of.at(item.key));
      }
    }
  }
}

// A record of a step that stands there twice, as a disk that repeats a sector leaves it.
TEST_F(file_work_queue_damage, by_a_repeated_record_of_a_step_costs_nothing) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  write(file(), whole.substr(0, at[3]) + whole.substr(at[2], at[3] - at[2]) + whole.substr(at[3]));
  const auto refused = refusal(file());
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why(), reason::damaged);
  const file_work_queue list(file(), skip);
  EXPECT_EQ(list.recovery().lost_records, 0u);
  EXPECT_EQ(list.recovery().lost_bytes, at[3] - at[2]);
  EXPECT_EQ(keys_of(list), (std::set<std::string>{"0", "1", "2", "3", "4", "5"}));
  EXPECT_EQ(list.counts().completed, 2u);
}

// A whole sector, as at_close or a disk may leave it.
TEST_F(file_work_queue_damage, of_a_sector_costs_what_was_in_it) {
  {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) {
      list.enqueue({.key = std::to_string(i), .data = std::string(300, 'x')});
    }
  }
  std::string bytes = contents_of(file());
  std::size_t first = 0;
  std::size_t hit = 0;
  const std::vector<std::size_t> at = records();
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    if (at[i + 1] <= 4096 || at[i] >= 8192) continue;
    if (hit++ == 0) first = at[i];
  }
  bytes.replace(4096, 4096, 4096, '\0');
  write(file(), bytes);
  const auto told = refusal(file());
  ASSERT_TRUE(told);
  EXPECT_THAT(told->what(), HasSubstr("damaged at byte " + std::to_string(first) + " of " +
                                      std::to_string(bytes.size()) +
                                      " (records lost: " + std::to_string(hit) + ")"));
  const file_work_queue list(file(), skip);
  EXPECT_EQ(list.recovery().lost_records, hit);
  EXPECT_EQ(list.counts().waiting, 100 - hit);
}

TEST_F(file_work_queue_damage, is_seen_also_if_bytes_are_missing_or_there_are_too_many) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  for (std::size_t byte = at[0]; byte < at[8]; ++byte) {
    for (const bool missing : {true, false}) {
      std::string bytes = whole;
      missing ? bytes.erase(byte, 1) : bytes.insert(byte, 1, 'x');
      write(file(), bytes);
      const auto told = refusal(file());
      ASSERT_TRUE(told) << byte;
      EXPECT_EQ(told->why(), reason::damaged);
      const file_work_queue list(file(), skip);
      EXPECT_LE(list.recovery().lost_records, 2u) << byte;
      EXPECT_EQ(list.metadata(), "options");
    }
  }
  std::string cut_out = whole;  // an intact record
  cut_out.erase(at[4], at[5] - at[4]);
  write(file(), cut_out);
  EXPECT_EQ(refusal(file())->why(), reason::damaged);
  EXPECT_EQ(file_work_queue(file(), skip).recovery().lost_records, 1u);
  std::string twice = whole;
  twice.insert(at[5], whole.substr(at[4], at[5] - at[4]));
  write(file(), twice);
  EXPECT_EQ(refusal(file())->why(), reason::damaged);
  EXPECT_EQ(file_work_queue(file(), skip).recovery().lost_records, 0u);
}

// Wherever the next record starts in the blocks that the reader reads.
TEST_F(file_work_queue_damage, of_a_long_record_costs_no_other) {
  for (std::size_t length = 65'530; length < 65'542; ++length) {
    std::filesystem::remove(file());
    {
      file_work_queue list(file(), at_close);
      list.enqueue({.key = "", .data = std::string(length - takt::record_header::size - 13, 'x')});
      list.enqueue({.key = "a"});
      list.enqueue({.key = "b"});
    }
    ASSERT_EQ(records()[1] - records()[0], length);
    flip(records()[0]);
    const file_work_queue list(file(), skip);
    EXPECT_EQ(list.recovery().lost_records, 1u) << length;
    EXPECT_EQ(list.counts().waiting, 2u) << length;
  }
}

TEST_F(file_work_queue_damage, leaves_the_right_numbers_to_other_items) {
  fill();
  flip(records()[0]);
  {
    file_work_queue list(file(), skip);
    EXPECT_EQ(list.claim()->key, "1");
    EXPECT_EQ(list.claim()->key, "3");
    list.complete("3", std::vector<work_item>{{"0"}, {"6"}});  // the lost item is new again
    list.complete("1");
  }
  const file_work_queue list(file());
  EXPECT_THAT(list.completed_keys(), testing::ElementsAre("1", "2", "3"));
  EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"4", "of it"}, {"5"}, {"0"}, {"6"}}));
}

TEST_F(file_work_queue_damage, of_the_whole_header_cannot_be_skipped) {
  fill();
  std::string bytes = contents_of(file());
  bytes[20] = static_cast<char>(~bytes[20]);
  bytes[35] = static_cast<char>(~bytes[35]);
  write(file(), bytes);
  for (const auto& how : {takt::file_work_queue_options(), skip}) {
    const auto told = refusal(file(), how);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->why(), reason::damaged);
    EXPECT_EQ(contents_of(file()), bytes);
  }
}

TEST_F(file_work_queue_damage, and_a_torn_tail_may_come_together) {
  fill();
  const std::vector<std::size_t> at = records();
  flip(at[1] + 40);
  std::filesystem::resize_file(file(), at[9] - 3);
  EXPECT_EQ(refusal(file())->why(), reason::damaged);
  const file_work_queue list(file(), skip);
  EXPECT_EQ(list.recovery().lost_records, 1u);
  EXPECT_EQ(list.recovery().dropped_records, 1u);
  EXPECT_EQ(list.recovery().dropped_bytes, at[9] - 3 - at[8]);
  EXPECT_EQ(list.metadata(), "");
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .completed = 2}));
}

// Records in the data of an item that is cut off: of this file, or with later sequence numbers.
TEST_F(file_work_queue_damage, is_not_what_hostile_data_say) {
  takt::work_step later;
  later.add_accepted(1000, "forged", "");
  const std::string foreign(later.seal(takt::work_header::make_salt(), 1000));
  fill();
  const std::string before = contents_of(file());
  const std::string data = before + foreign + before + std::string(100, 'x');
  {
    file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    list.enqueue(std::vector<work_item>{{"6"}, {"hostile", data}});
  }
  const std::string after = contents_of(file());
  for (std::size_t byte = before.size(); byte < after.size(); byte += 5) {
    std::string bytes = after;
    bytes[byte] = static_cast<char>(~bytes[byte]);
    bytes.resize(bytes.size() - 1);
    write(file(), bytes);
    const file_work_queue list(file());
    ASSERT_EQ(list.recovery().dropped_records, 1u);
    ASSERT_EQ(list.recovery().dropped_bytes, bytes.size() - before.size());
    ASSERT_EQ(keys_of(list).size(), 6u);
  }
}

// The salt is known to every reader of the file.
TEST_F(file_work_queue_damage, is_not_what_forged_records_in_a_payload_say) {
  fill();
  takt::work_step later;
  later.add_accepted(1000, "forged", "");
  const std::uint64_t salt = takt::work_header::read(contents_of(file()))->salt;
  const std::string forged(later.seal(salt, 1000));
  {
    file_work_queue list(file(), at_close);
    list.enqueue({.key = "hostile", .data = forged});
    list.enqueue({.key = "another", .data = forged});
  }
  const std::vector<std::size_t> at = records();
  ASSERT_EQ(at.size(), 12u);
  flip(at[10] + takt::record_header::size + 15);
  {
    const file_work_queue list(file(), at_close);
    EXPECT_EQ(list.recovery().dropped_bytes, at[11] - at[10]);
    EXPECT_EQ(keys_of(list).count("forged"), 0u);
  }
  {
    file_work_queue list(file(), at_close);
    list.enqueue({.key = "later"});
  }
  flip(at[9] + takt::record_header::size + 15);
  const file_work_queue list(file(), skip);
  EXPECT_EQ(list.recovery().lost_records, 1u);
  EXPECT_EQ(keys_of(list), (std::set<std::string>{"0", "1", "2", "3", "4", "5", "later"}));
}

// With valid checksums, but not written by takt.
TEST_F(file_work_queue_damage, is_also_what_contradicts_itself) {
  const auto with = [this](const std::vector<std::function<void(takt::work_step&)>>& steps) {
    const std::uint64_t salt = takt::work_header::make_salt();
    std::string bytes = takt::work_header::write(salt);
    std::uint64_t sequence = 0;
    for (const auto& say : steps) {
      takt::work_step step;
      say(step);
      bytes += step.seal(salt, sequence);
      sequence += step.records();
    }
    write(file(), bytes);
    const auto told = refusal(file());
    return told ? std::optional(told->why()) : std::nullopt;
  };
  const auto accepts = [](std::uint64_t number, const char* key) {
    return [=](takt::work_step& s) { s.add_accepted(number, key, ""); };
  };
  const auto done = [](takt::work_step& s) { s.add_done(0, "a"); };
  const auto confirms = [](takt::work_step& s) { s.add_completed(0); };
  EXPECT_EQ(with({accepts(0, "a"), accepts(5, "b")}), std::nullopt);
  EXPECT_EQ(with({accepts(0, "a"), confirms}), std::nullopt);
  EXPECT_EQ(with({confirms}), reason::damaged);
  EXPECT_EQ(with({accepts(0, "a"), accepts(1, "a")}), reason::damaged);
  EXPECT_EQ(with({accepts(0, "a"), accepts(0, "b")}), reason::damaged);
  EXPECT_EQ(with({accepts(1, "a"), accepts(0, "b")}), reason::damaged);
  EXPECT_EQ(with({accepts(~std::uint64_t{0}, "a")}), reason::damaged);
  EXPECT_EQ(with({done, confirms}), reason::damaged);
}

// Later items need numbers, too.
TEST_F(file_work_queue_damage, a_number_that_leaves_none_for_later_items_is_refused) {
  constexpr std::uint64_t salt = 0x0123'4567'89ab'cdef;
  takt::work_step step;
  step.add_accepted(std::numeric_limits<std::uint64_t>::max() - 3, "a", "");
  const std::string header = takt::work_header::write(salt);
  write(file(), header + std::string(step.seal(salt, 0)));
  const auto error = refusal(file());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->why(), reason::damaged);
}

}  // namespace
