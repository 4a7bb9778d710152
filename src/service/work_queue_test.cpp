// Tests of the work_queue interface, for all implementations.
#include <takt/service/work_queue.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>
#include <takt/service/memory_work_queue.hpp>

#include "../../tests/support/temporary_folder.hpp"

namespace {

using takt::work_counts;
using takt::work_item;

class in_memory {
 public:
  [[nodiscard]] takt::work_queue& list() { return list_; }

 private:
  takt::memory_work_queue list_;
};

class in_a_file {
 public:
  [[nodiscard]] takt::work_queue& list() { return list_; }

 private:
  takt_test::temporary_folder folder_;
  takt::file_work_queue list_{folder_ / "list"};
};

template <class Kind>
class every_work_queue : public testing::Test {
 protected:
  [[nodiscard]] takt::work_queue& list() { return kind_.list(); }
  [[nodiscard]] std::string claim() {
    const std::optional<work_item> item = list().claim();
    return item ? item->key : "none";
  }

 private:
  Kind kind_;
};

using kinds = testing::Types<in_memory, in_a_file>;
TYPED_TEST_SUITE(every_work_queue, kinds, );

TYPED_TEST(every_work_queue, is_empty_at_first) {
  EXPECT_EQ(this->list().claim(), std::nullopt);
  EXPECT_EQ(this->list().counts(), work_counts{});
  EXPECT_EQ(this->list().enqueue(std::vector<work_item>{}), 0u);
}

TYPED_TEST(every_work_queue, accepts_each_key_once) {
  takt::work_queue& list = this->list();
  EXPECT_EQ(list.enqueue({.key = "a", .data = "1"}), 1u);
  EXPECT_EQ(list.enqueue({.key = "a", .data = "2"}), 0u);
  EXPECT_EQ(list.enqueue(std::vector<work_item>{{"b"}, {"a"}, {"b"}, {"c"}}), 2u);
  EXPECT_EQ(list.claim(), (work_item{"a", "1"}));  // with its first data
  list.complete("a");
  EXPECT_EQ(list.enqueue({.key = "a"}), 0u);  // also if it is completed
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 1}));
}

TYPED_TEST(every_work_queue, is_claimed_in_order_and_what_comes_back_has_its_old_place) {
  takt::work_queue& list = this->list();
  list.enqueue(std::vector<work_item>{{"a"}, {"b"}, {"c"}, {"d"}});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  EXPECT_EQ(this->claim(), "c");
  list.release("b");
  list.release("a");
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 1, .completed = 0}));
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  EXPECT_EQ(this->claim(), "d");
  EXPECT_EQ(this->claim(), "none");
}

TYPED_TEST(every_work_queue, takes_what_a_done_item_has_led_to) {
  takt::work_queue& list = this->list();
  list.enqueue({.key = "a"});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(list.complete("a", std::vector<work_item>{{"b"}, {"a"}, {"c", "3"}}), 2u);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .completed = 1}));
  EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"b"}, {"c", "3"}}));
}

TYPED_TEST(every_work_queue, tells_what_is_not_confirmed_also_if_it_is_claimed) {
  takt::work_queue& list = this->list();
  list.enqueue(std::vector<work_item>{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  EXPECT_EQ(this->claim(), "a");
  EXPECT_EQ(this->claim(), "b");
  list.complete("a");
  EXPECT_EQ(list.incomplete(), (std::vector<work_item>{{"b", "2"}, {"c", "3"}}));
}

TYPED_TEST(every_work_queue, says_what_is_not_claimed) {
  takt::work_queue& list = this->list();
  list.enqueue({.key = "a"});
  EXPECT_THROW(list.complete("a"), std::logic_error);
  EXPECT_THROW(list.release("a"), std::logic_error);
  EXPECT_THROW(list.complete("b"), std::logic_error);
  EXPECT_EQ(this->claim(), "a");
  list.complete("a");
  EXPECT_THROW(list.complete("a", std::vector<work_item>{{"b"}}), std::logic_error);
  EXPECT_THROW(list.release("a"), std::logic_error);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .completed = 1}));
}

TYPED_TEST(every_work_queue, takes_any_bytes) {
  takt::work_queue& list = this->list();
  const work_item odd{std::string("\0\n\xff", 3), std::string(100'000, '\0')};
  EXPECT_EQ(list.enqueue(odd), 1u);
  EXPECT_EQ(list.enqueue({.key = ""}), 1u);
  EXPECT_EQ(list.claim(), odd);
  EXPECT_EQ(list.claim(), work_item{});
}

// Two claims of one item would make complete() throw, which would end the program.
TYPED_TEST(every_work_queue, gives_each_item_to_one_of_many_threads) {
  takt::work_queue& list = this->list();
  for (int i = 0; i < 50; ++i) list.enqueue({.key = std::to_string(i)});
  const auto work = [&] {
    while (const std::optional<work_item> item = list.claim()) {
      const bool is_first = item->key.back() != '+';
      list.complete(item->key, is_first ? std::vector<work_item>{{item->key + "+"}, {"all+"}}
                                        : std::vector<work_item>{});
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  work();  // items that were added after the last thread had found none
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 0, .claimed = 0, .completed = 101}));
}

}  // namespace
