// For the tests of the crawler: what it visits, and how it ends.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/service/crawler.hpp>
#include <takt/service/memory_work_list.hpp>
#include <takt/service/work_list.hpp>

namespace takt_test {

using items = std::vector<takt::work_item>;

// A visit.
inline items find_nothing(const takt::work_item& /*item*/, const takt::sync::stop_token& /*stop*/) {
  return {};
}

inline void expect_balance(const takt::crawler& c) {
  EXPECT_TRUE(c.is_terminated());
  EXPECT_EQ(c.totals().pending(), 0u);
  EXPECT_EQ(c.totals().running(), 0u);
}

// A list in memory, for those who change one of its members.
class altered_list : public takt::work_list {
 public:
  using work_list::accept;
  using work_list::confirm;
  std::size_t accept(std::span<const takt::work_item> new_items) override {
    return list_.accept(new_items);
  }
  std::optional<takt::work_item> claim() override { return list_.claim(); }
  std::size_t confirm(std::string_view key, std::span<const takt::work_item> found) override {
    return list_.confirm(key, found);
  }
  void give_back(std::string_view key) override { list_.give_back(key); }
  takt::work_counts counts() const override { return list_.counts(); }
  items unconfirmed() const override { return list_.unconfirmed(); }

 private:
  takt::memory_work_list list_;
};

}  // namespace takt_test
