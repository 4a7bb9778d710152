// A file_work_queue after a power cut: with work_sync::each, all acknowledged steps are on the
// disk, and any sectors of the step that was being written.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../../tests/support/list_file.hpp"
#include "failing_disk.hpp"

namespace {

using takt::file_work_queue;
using takt::work_item;
using takt_test::contents_of;
using takt_test::refusal;

// The contents of a queue.
struct state {
  std::vector<work_item> incomplete;
  std::vector<std::string> completed;
  std::string metadata;
  friend bool operator==(const state&, const state&) = default;
};

state of(const file_work_queue& list) {
  return {list.incomplete(), list.completed_keys(), list.metadata()};
}

class file_work_queue_power_cut : public takt_test::list_file_test {
 protected:
  using random = std::mt19937;

  // Items, some of them with much data, or with records of this file in their data.
  std::vector<work_item> some_items(random& r, std::size_t count) {
    std::vector<work_item> items(count);
    for (work_item& item : items) {
      item = {"https://example.org/" + std::to_string(next_++) + std::string(r() % 80, 'k'), "3"};
      if (r() % 16 == 0) item.data = std::string(r() % 3000, '\0');
      if (r() % 16 == 0) item.data = contents_of(file()).substr(0, 5000);
    }
    return items;
  }

  void do_something(file_work_queue& list, random& r) {
    const auto kind = r() % 8;
    if (kind == 0) {
      list.set_metadata(std::string(r() % 2000, 'm'));
    } else if (kind < 4) {
      list.enqueue(some_items(r, 1 + r() % 12));
    } else if (const auto item = list.claim()) {
      list.complete(item->key, some_items(r, r() % 12));
    }
  }

 private:
  int next_ = 0;
};

// Loses some of the sectors from byte `from` on: they are zero, or behind the end of the file.
std::string cut(std::string bytes, std::size_t from, std::size_t sector, std::mt19937& r) {
  for (std::size_t s = from / sector; s * sector < bytes.size(); ++s) {
    if (r() % 2 == 0) continue;
    const std::size_t begin = std::max(from, s * sector);
    const std::size_t end = std::min(bytes.size(), (s + 1) * sector);
    bytes.replace(begin, end - begin, end - begin, '\0');
  }
  if (r() % 4 == 0) bytes.resize(from + r() % (bytes.size() - from + 1));
  if (r() % 8 == 0) bytes.resize(bytes.size() + r() % 2000);
  return bytes;
}

TEST_F(file_work_queue_power_cut, loses_nothing_that_was_acknowledged) {
  const takt_test::failing_disk disk({.pretend = true});
  int dropped = 0;
  for (std::uint32_t seed = 1; seed <= 600; ++seed) {
    random r(seed);
    const std::size_t sector = seed % 3 == 0 ? 4096 : 512;
    std::filesystem::remove(file());
    state acknowledged;
    state complete;
    std::string before;
    std::string after;
    {
      file_work_queue list(file(), {.sync = takt::work_sync::at_close});
      for (auto steps = r() % 20; steps != 0; --steps) do_something(list, r);
      acknowledged = of(list);
      before = contents_of(file());
      do_something(list, r);
      complete = of(list);
      after = contents_of(file());
    }
    ASSERT_TRUE(after.starts_with(before));
    takt_test::write(file(), cut(after, before.size(), sector, r));
    const auto told = refusal(file(), {.sync = takt::work_sync::at_close});
    ASSERT_FALSE(told) << seed << ": " << told->what();
    takt_test::write(file(), cut(after, before.size(), sector, r));
    state found;
    {
      file_work_queue list(file(), {.sync = takt::work_sync::at_close});
      found = of(list);
      dropped += static_cast<int>(list.recovery().dropped_records);
      ASSERT_TRUE(found == acknowledged || found == complete) << seed;
      ASSERT_TRUE(list.recovery().dropped_records == 1 || found == complete ||
                  contents_of(file()).size() == before.size())
          << seed;
      ASSERT_EQ(list.enqueue({.key = "more"}), 1u);
    }
    const file_work_queue list(file(), {.sync = takt::work_sync::at_close});
    ASSERT_EQ(list.recovery().dropped_records, 0u) << seed;
    found.incomplete.push_back({"more"});
    ASSERT_TRUE(of(list) == found) << seed;
  }
  EXPECT_GT(dropped, 300);
}

// A power cut right after the file was created.
TEST_F(file_work_queue_power_cut, leaves_an_empty_list_of_one_that_was_being_made) {
  {
    const file_work_queue list(file());
  }
  const std::string header = contents_of(file());
  std::vector<std::string> left{std::string(16, '\0'), "takt" + std::string(12, '\0')};
  for (std::size_t length = 0; length <= header.size(); ++length) {
    left.push_back(header.substr(0, length));
    left.push_back(left.back() + std::string(header.size() - length, '\0'));
  }
  for (const std::string& bytes : left) {
    takt_test::write(file(), bytes);
    {
      file_work_queue list(file());
      EXPECT_EQ(of(list), state());
      list.enqueue({.key = "a"});
    }
    EXPECT_EQ(file_work_queue(file()).counts().waiting, 1u);
  }
}

// No record can be read without the header.
TEST_F(file_work_queue_power_cut, finds_the_header_on_the_disk_whatever_is_synced) {
  const takt_test::failing_disk disk({});
  const file_work_queue list(file(), {.sync = takt::work_sync::at_close});
  EXPECT_EQ(disk.syncs(), 1);
}

}  // namespace
