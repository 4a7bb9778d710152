#include <takt/base/detail/intrusive_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <list>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using takt::detail::intrusive_list;
using takt::detail::list_node;

struct item : list_node<> {
  explicit item(int v = 0) : value(v) {}
  int value;
};
using item_list = intrusive_list<item>;

static_assert(std::bidirectional_iterator<item_list::iterator>);
static_assert(std::bidirectional_iterator<item_list::const_iterator>);
static_assert(std::is_convertible_v<item_list::iterator, item_list::const_iterator>);
static_assert(!std::is_convertible_v<item_list::const_iterator, item_list::iterator>);
static_assert(std::is_nothrow_move_constructible_v<item_list>);
static_assert(!std::is_copy_constructible_v<item_list>);
static_assert(!std::is_move_assignable_v<item_list>);
static_assert(!std::is_copy_constructible_v<item>);

std::vector<int> values(const item_list& list) {
  EXPECT_TRUE(list.check_invariants());
  std::vector<int> result;
  for (const item& i : list) result.push_back(i.value);
  return result;
}

void clear(item_list& list) {
  while (list.pop_front() != nullptr) {
  }
}

using ints = std::vector<int>;

TEST(intrusive_list, is_empty_by_default) {
  item_list list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.pop_front(), nullptr);
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_TRUE(list.check_invariants());
}

TEST(intrusive_list, pushes_at_both_ends_and_pops_at_the_front) {
  item a(1);
  item b(2);
  item c(3);
  item_list list;
  EXPECT_FALSE(a.is_linked());
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_TRUE(a.is_linked());
  EXPECT_EQ(values(list), (ints{1, 2, 3}));
  EXPECT_EQ(&list.front(), &a);
  EXPECT_EQ(&list.back(), &c);
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_FALSE(a.is_linked());
  EXPECT_EQ(list.pop_front(), &b);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(intrusive_list, inserts_before_an_iterator) {
  item a(1);
  item b(2);
  item c(3);
  item_list list;
  list.insert(list.end(), c);
  const item_list::iterator at = list.insert(item_list::iterator_to(c), a);
  EXPECT_EQ(&*at, &a);
  list.insert(item_list::iterator_to(c), b);
  EXPECT_EQ(values(list), (ints{1, 2, 3}));
  clear(list);
}

TEST(intrusive_list, erases_by_reference_while_iterating) {
  std::array<item, 6> items;
  item_list list;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].value = static_cast<int>(i);
    list.push_back(items[i]);
  }
  for (auto i = list.begin(); i != list.end();) {
    i = i->value % 2 == 0 ? list.erase(*i) : std::next(i);
  }
  EXPECT_EQ(values(list), (ints{1, 3, 5}));
  EXPECT_FALSE(items[0].is_linked());
  clear(list);
}

TEST(intrusive_list, an_erased_element_can_be_linked_again) {
  item a(1);
  item b(2);
  item_list list;
  list.push_back(a);
  list.push_back(b);
  list.erase(a);
  EXPECT_EQ(values(list), ints{2});
  list.erase(b);
  EXPECT_TRUE(list.empty());
  list.push_back(a);
  EXPECT_EQ(values(list), ints{1});
  list.erase(a);
}

TEST(intrusive_list, goes_backwards) {
  item a(1);
  item b(2);
  item_list list;
  list.push_back(a);
  list.push_back(b);
  auto i = list.end();
  EXPECT_EQ((--i)->value, 2);
  EXPECT_EQ((i--)->value, 2);
  EXPECT_EQ(i, list.begin());
  EXPECT_EQ((i++)->value, 1);
  clear(list);
}

TEST(intrusive_list, splices_anywhere) {
  item a(1);
  item b(2);
  item c(3);
  item d(4);
  item_list list;
  item_list other;
  list.splice(list.end(), other);
  EXPECT_TRUE(list.empty());
  list.push_back(a);
  list.push_back(d);
  other.push_back(b);
  other.push_back(c);
  list.splice(item_list::iterator_to(d), other);
  EXPECT_EQ(values(list), (ints{1, 2, 3, 4}));
  EXPECT_TRUE(other.empty());
  EXPECT_TRUE(other.check_invariants());
  other.splice(other.begin(), list);
  EXPECT_EQ(values(other), (ints{1, 2, 3, 4}));
  EXPECT_TRUE(list.empty());
  clear(other);
}

TEST(intrusive_list, moving_takes_all) {
  item a(1);
  item b(2);
  item_list list;
  list.push_back(a);
  list.push_back(b);
  item_list moved = std::move(list);
  EXPECT_EQ(values(moved), (ints{1, 2}));
  EXPECT_TRUE(list.empty());  // NOLINT(bugprone-use-after-move): documented
  const item_list empty = std::move(list);
  EXPECT_TRUE(empty.check_invariants());
  clear(moved);
}

struct by_time;
struct by_owner;
struct timer : list_node<by_time>, list_node<by_owner> {};

TEST(intrusive_list, an_element_is_in_several_lists_by_tag) {
  timer t;
  intrusive_list<timer, by_time> times;
  intrusive_list<timer, by_owner> owned;
  times.push_back(t);
  owned.push_back(t);
  EXPECT_EQ(times.pop_front(), &t);
  EXPECT_TRUE(t.list_node<by_owner>::is_linked());
  EXPECT_FALSE(t.list_node<by_time>::is_linked());
  EXPECT_EQ(owned.pop_front(), &t);
}

class later;
struct holder {  // the element type is incomplete here
  intrusive_list<later> all;
};
class later : public list_node<> {};

TEST(intrusive_list, element_type_may_be_incomplete_at_the_list) {
  holder h;
  later l;
  h.all.push_back(l);
  EXPECT_EQ(h.all.pop_front(), &l);
}

// Random operations on two lists and a pool of elements, with std::list as the oracle.
TEST(intrusive_list, two_million_random_operations_agree_with_std_list) {
  constexpr int steps = 2'000'000;
  std::array<item, 24> items;
  std::array<item_list, 2> lists;
  std::array<std::list<int>, 2> expected;
  for (std::size_t i = 0; i < items.size(); ++i) items[i].value = static_cast<int>(i);

  std::mt19937 random(20'260'101);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const auto same = [&](std::size_t w) {
    if (!lists[w].check_invariants()) return false;
    return std::equal(lists[w].begin(), lists[w].end(), expected[w].begin(), expected[w].end(),
                      [](const item& i, int value) { return i.value == value; });
  };

  for (int step = 0; step < steps; ++step) {
    const std::size_t w = below(2);
    item_list& list = lists[w];
    std::list<int>& want = expected[w];
    item& element = items[below(items.size())];
    const auto in_want = std::find(want.begin(), want.end(), element.value);
    const bool here = in_want != want.end();
    switch (below(7)) {
      case 0:
        if (element.is_linked()) break;
        list.push_back(element);
        want.push_back(element.value);
        break;
      case 1:
        if (element.is_linked()) break;
        list.push_front(element);
        want.push_front(element.value);
        break;
      case 2: {
        item& added = items[below(items.size())];
        if (!here || added.is_linked()) break;
        list.insert(item_list::iterator_to(element), added);
        want.insert(in_want, added.value);
        break;
      }
      case 3: {
        const item* first = list.pop_front();
        ASSERT_EQ(first == nullptr, want.empty());
        if (first == nullptr) break;
        ASSERT_EQ(first->value, want.front());
        want.pop_front();
        break;
      }
      case 4: {
        if (!here) break;
        const auto next = list.erase(element);
        const auto next_wanted = want.erase(in_want);
        ASSERT_EQ(next == list.end(), next_wanted == want.end());
        break;
      }
      case 5:
        if (below(16) != 0) break;  // rare, otherwise one list would always be empty
        list.splice(here ? item_list::iterator_to(element) : list.end(), lists[1 - w]);
        want.splice(in_want, expected[1 - w]);
        break;
      default: {
        item_list moved = std::move(list);
        list.splice(list.begin(), moved);  // NOLINT(bugprone-use-after-move): it is empty
        break;
      }
    }
    ASSERT_TRUE(same(w)) << "after step " << step;
  }
  clear(lists[0]);
  clear(lists[1]);
}

#if TAKT_CHECKED
TEST(intrusive_list, misuse_is_asserted) {
  EXPECT_DEATH(
      {
        item a;
        item_list list;
        list.push_back(a);
        list.push_back(a);
      },
      "is_linked");
  EXPECT_DEATH(
      {
        item_list list;
        item a;
        list.push_back(a);
      },
      "is_linked");
  EXPECT_DEATH(
      {
        item a;
        item_list list;
        list.push_back(a);
      },
      "empty");
  EXPECT_DEATH(
      {
        item a;
        item_list list;
        list.erase(a);
      },
      "is_linked");
}
#endif

}  // namespace
