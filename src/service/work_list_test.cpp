// What every work_list does.
#include <takt/service/work_list.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_list.hpp>
#include <takt/service/memory_work_list.hpp>

#include "../../tests/support/temporary_folder.hpp"

namespace {

using takt::work_counts;
using takt::work_item;

class in_memory {
 public:
  [[nodiscard]] takt::work_list& list() { return list_; }

 private:
  takt::memory_work_list list_;
};

class in_a_file {
 public:
  [[nodiscard]] takt::work_list& list() { return list_; }

 private:
  takt_test::temporary_folder folder_;
  takt::file_work_list list_{folder_ / "list"};
};

template <class Kind>
class every_work_list : public testing::Test {
 protected:
  [[nodiscard]] takt::work_list& list() { return kind_.list(); }
  [[nodiscard]] std::string claim() {
    const std::optional<work_item> item = list().claim();
    return item ? item->key : "none";
  }

 private:
  Kind kind_;
};

using kinds = testing::Types<in_memory, in_a_file>;
TYPED_TEST_SUITE(every_work_list, kinds, );

TYPED_TEST(every_work_list, is_empty_at_first) {
  EXPECT_EQ(this->list().claim(), std::nullopt);
  EXPECT_EQ(this->list().counts(), work_counts{});
  EXPECT_EQ(this->list().accept(std::vector<work_item>{}), 0u);
}

TYPED_TEST(every_work_list, accepts_each_key_once) {
  takt::work_list& list = this->list();
  EXPECT_EQ(list.accept({.key = "a", .data = "1"}), 1u);
  EXPECT_EQ(list.accept({.key = "a", .data = "2"}), 0u);
  EXPECT_EQ(list.accept(std::vector<work_item>{{"b"}, {"a"}, {"b"}, {"c"}}), 2u);
  EXPECT_EQ(list.claim(), (work_item{"a", "1"}));  // as it was at first
  list.confirm("a");
  EXPECT_EQ(list.accept({.key = "a"}), 0u);  // also when it is done
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .confirmed = 1}));
}

TYPED_TEST(every_work_list, is_claimed_in_order_and_what_comes_back_has_its_old_place) {
  takt::work_list& list = this->list();
  list.accept(std::vector<work_item>{{"a"}, {"b"}, {"c"}, {"d"}});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  EXPECT_EQ(this->claim(), "c");
  list.give_back("b");
  list.give_back("a");
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 1, .confirmed = 0}));
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  EXPECT_EQ(this->claim(), "d");
  EXPECT_EQ(this->claim(), "none");
}

TYPED_TEST(every_work_list, takes_what_a_done_item_has_led_to) {
  takt::work_list& list = this->list();
  list.accept({.key = "a"});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(list.confirm("a", std::vector<work_item>{{"b"}, {"a"}, {"c", "3"}}), 2u);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .confirmed = 1}));
  EXPECT_EQ(list.unconfirmed(), (std::vector<work_item>{{"b"}, {"c", "3"}}));
}

TYPED_TEST(every_work_list, tells_what_is_not_confirmed_also_if_it_is_claimed) {
  takt::work_list& list = this->list();
  list.accept(std::vector<work_item>{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  list.confirm("a");
  EXPECT_EQ(list.unconfirmed(), (std::vector<work_item>{{"b", "2"}, {"c", "3"}}));
}

TYPED_TEST(every_work_list, says_what_is_not_claimed) {
  takt::work_list& list = this->list();
  list.accept({.key = "a"});
  EXPECT_THROW(list.confirm("a"), std::logic_error);
  EXPECT_THROW(list.give_back("a"), std::logic_error);
  EXPECT_THROW(list.confirm("b"), std::logic_error);
  EXPECT_EQ(this->claim(), "a");
  list.confirm("a");
  EXPECT_THROW(list.confirm("a", std::vector<work_item>{{"b"}}), std::logic_error);
  EXPECT_THROW(list.give_back("a"), std::logic_error);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .confirmed = 1}));
}

TYPED_TEST(every_work_list, takes_any_bytes) {
  takt::work_list& list = this->list();
  const work_item odd{std::string("\0\n\xff", 3), std::string(100'000, '\0')};
  EXPECT_EQ(list.accept(odd), 1u);
  EXPECT_EQ(list.accept({.key = ""}), 1u);
  EXPECT_EQ(list.claim(), odd);
  EXPECT_EQ(list.claim(), work_item{});
}

// Two claims of one item would make confirm() throw, and end the program.
TYPED_TEST(every_work_list, gives_each_item_to_one_of_many_threads) {
  takt::work_list& list = this->list();
  for (int i = 0; i < 50; ++i) list.accept({.key = std::to_string(i)});
  const auto work = [&] {
    while (const std::optional<work_item> item = list.claim()) {
      const bool is_first = item->key.back() != '+';
      list.confirm(item->key, is_first ? std::vector<work_item>{{item->key + "+"}, {"all+"}}
                                       : std::vector<work_item>{});
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  work();  // what came after the last of them had found nothing
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .confirmed = 101}));
}

}  // namespace
