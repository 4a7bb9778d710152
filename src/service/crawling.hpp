// Support for tests of the crawler: visits, queues and checks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/memory_work_queue.hpp>
#include <takt/service/work_queue.hpp>

namespace takt_test {

using items = std::vector<takt::work_item>;

// A visit that finds no items.
inline items find_nothing(const takt::work_item& /*item*/, const takt::sync::stop_token& /*stop*/) {
  return {};
}

inline void expect_balance(const takt::crawler& c) {
  EXPECT_TRUE(c.is_terminated());
  EXPECT_EQ(c.totals().pending(), 0u);
  EXPECT_EQ(c.totals().running(), 0u);
}

// A queue in memory whose members can be overridden.
class altered_list : public takt::work_queue {
 public:
  using work_queue::complete;
  using work_queue::enqueue;
  std::size_t enqueue(std::span<const takt::work_item> new_items) override {
    return list_.enqueue(new_items);
  }
  std::optional<takt::work_item> claim() override { return list_.claim(); }
  std::size_t complete(std::string_view key, std::span<const takt::work_item> found) override {
    return list_.complete(key, found);
  }
  void release(std::string_view key) override { list_.release(key); }
  takt::work_counts counts() const override { return list_.counts(); }
  items incomplete() const override { return list_.incomplete(); }

 private:
  takt::memory_work_queue list_;
};

}  // namespace takt_test
