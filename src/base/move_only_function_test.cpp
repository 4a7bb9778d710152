#include <takt/base/move_only_function.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "counting_new.hpp"

namespace {

using takt::allocations;
using takt::move_only_function;

constinit move_only_function<int()> constant;

static_assert(sizeof(move_only_function<void()>) == 64);
static_assert(sizeof(move_only_function<std::string(int, std::string) &&>) == 64);
static_assert(alignof(move_only_function<void()>) == alignof(std::max_align_t));
static_assert(std::is_nothrow_move_constructible_v<move_only_function<void()>>);
static_assert(std::is_nothrow_move_assignable_v<move_only_function<void()>>);
static_assert(!std::is_copy_constructible_v<move_only_function<void()>>);
static_assert(!std::is_copy_assignable_v<move_only_function<void()>>);
static_assert(!std::is_constructible_v<move_only_function<void()>, move_only_function<int()>&>);

// A one-shot can be called as an rvalue only; the other kind as an lvalue or an rvalue.
static_assert(!std::is_invocable_v<move_only_function<void() &&>&>);
static_assert(std::is_invocable_v<move_only_function<void() &&>>);
static_assert(std::is_invocable_v<move_only_function<void()>&>);
static_assert(std::is_invocable_v<move_only_function<void()>>);
static_assert(!std::is_invocable_v<const move_only_function<void()>&>);

struct only_as_lvalue {
  void operator()() & {}
};
struct only_as_rvalue {
  void operator()() && {}
};
static_assert(std::is_constructible_v<move_only_function<void()>, only_as_lvalue>);
static_assert(!std::is_constructible_v<move_only_function<void()>, only_as_rvalue>);
static_assert(!std::is_constructible_v<move_only_function<void() &&>, only_as_lvalue>);
static_assert(std::is_constructible_v<move_only_function<void() &&>, only_as_rvalue>);
static_assert(!std::is_constructible_v<move_only_function<int()>, only_as_lvalue>);
static_assert(!std::is_assignable_v<move_only_function<int()>&, only_as_lvalue>);
static_assert(!std::is_constructible_v<move_only_function<void()>, int>);

// Counts its live instances, its moves and its copies.
struct census {
  int alive = 0;
  int moves = 0;
  int copies = 0;
};

template <std::size_t Size, bool NothrowMove = true, std::size_t Align = alignof(void*)>
struct alignas(Align) counted {
  explicit counted(census& c) noexcept : counts(&c) { ++counts->alive; }
  counted(counted&& other) noexcept(NothrowMove) : counts(other.counts) {
    ++counts->alive;
    ++counts->moves;
  }
  counted(const counted& other) : counts(other.counts) {
    ++counts->alive;
    ++counts->copies;
  }
  counted& operator=(const counted&) = delete;
  ~counted() { --counts->alive; }

  std::uintptr_t operator()() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }

  census* counts;
  std::array<std::byte, Size - sizeof(census*)> rest{};
};

using address_function = move_only_function<std::uintptr_t()>;

// Holds a T, moves it and destroys it; counts the allocations if they can be counted.
template <class T>
void live_with_allocations(std::size_t expected, census& counts) {
  const std::size_t before = allocations();
  {
    address_function a(std::in_place_type<T>, counts);
    address_function b = std::move(a);
    a = std::move(b);
    std::swap(a, b);
    EXPECT_NE(b(), 0U);
    EXPECT_EQ(counts.alive, 1);
  }
  EXPECT_EQ(counts.alive, 0);
  if (takt::allocations_are_counted) {
    EXPECT_EQ(allocations() - before, expected);
  }
}

TEST(move_only_function, is_empty_by_default) {
  EXPECT_FALSE(constant);
  EXPECT_TRUE(constant == nullptr);
  EXPECT_THROW(constant(), std::bad_function_call);
  move_only_function<void() &&> once;
  EXPECT_THROW(std::move(once)(), std::bad_function_call);
  const move_only_function<void()> null = nullptr;
  EXPECT_FALSE(null);
}

TEST(move_only_function, made_of_something_empty_is_empty) {
  int (*function)() = nullptr;
  int std::pair<int, int>::* member = nullptr;
  int (std::string::*member_function)() = nullptr;
  EXPECT_FALSE(move_only_function<int()>(function));
  EXPECT_FALSE(move_only_function<int(std::pair<int, int>&)>(member));
  EXPECT_FALSE(move_only_function<int(std::string&)>(member_function));
  EXPECT_FALSE(move_only_function<int()>(std::function<int()>()));
  EXPECT_FALSE(move_only_function<void()>(move_only_function<int()>()));
  EXPECT_FALSE(move_only_function<int() &&>(move_only_function<int()>()));

  move_only_function<int()> f = [] { return 1; };
  f = function;
  EXPECT_FALSE(f);
  f = [] { return 1; };
  f = std::function<int()>();
  EXPECT_FALSE(f);
  f = [] { return 1; };
  f = nullptr;
  EXPECT_FALSE(f);
}

int forty_two() { return 42; }

TEST(move_only_function, calls_all_kinds_of_callables) {
  EXPECT_EQ(move_only_function<int()>(forty_two)(), 42);
  EXPECT_EQ(move_only_function<int()>(&forty_two)(), 42);
  EXPECT_EQ(move_only_function<int()>(std::function<int()>(forty_two))(), 42);
  EXPECT_EQ(move_only_function<long()>(move_only_function<int()>(forty_two))(), 42);

  std::pair<int, int> pair{1, 2};
  EXPECT_EQ((move_only_function<int(std::pair<int, int>&)>(&std::pair<int, int>::second)(pair)), 2);
  const std::string text = "takt";
  EXPECT_EQ(move_only_function<std::size_t(const std::string&)>(&std::string::size)(text), 4U);
  EXPECT_EQ(move_only_function<std::size_t(const std::string*)>(&std::string::size)(&text), 4U);
}

TEST(move_only_function, forwards_arguments) {
  move_only_function<std::unique_ptr<int>(std::unique_ptr<int>, int&, const int&, int&&)> f =
      [](std::unique_ptr<int> p, int& l, const int& c, int&& r) {
        l = c;
        r = c;
        ++*p;
        return p;
      };
  int l = 0;
  int r = 0;
  const int c = 7;
  const std::unique_ptr<int> p = f(std::make_unique<int>(1), l, c, std::move(r));
  EXPECT_EQ(*p, 2);
  EXPECT_EQ(l, 7);
  EXPECT_EQ(r, 7);
}

TEST(move_only_function, copies_no_argument_needlessly) {
  census counts;
  using argument = counted<16>;
  move_only_function<void(argument)> f = [](const argument&) {};
  f(argument(counts));
  EXPECT_EQ(counts.copies, 0);
  EXPECT_EQ(counts.moves, 0);
  move_only_function<void(argument)> g = [](argument) {};
  g(argument(counts));
  EXPECT_EQ(counts.copies, 0);
  EXPECT_EQ(counts.moves, 1);
}

TEST(move_only_function, converts_or_discards_the_result) {
  move_only_function<std::string()> text = [] { return "takt"; };
  EXPECT_EQ(text(), "takt");
  move_only_function<void()> nothing = [] { return 1; };
  nothing();
  int i = 0;
  move_only_function<int&()> reference = [&i]() -> int& { return i; };
  EXPECT_EQ(&reference(), &i);
}

TEST(move_only_function, calls_as_an_lvalue_or_as_an_rvalue) {
  struct both {
    int operator()() & { return 1; }
    int operator()() && { return 2; }
  };
  move_only_function<int()> lvalue = both();
  move_only_function<int() &&> rvalue = both();
  EXPECT_EQ(lvalue(), 1);
  EXPECT_EQ(std::move(lvalue)(), 1);
  EXPECT_EQ(std::move(rvalue)(), 2);
  EXPECT_TRUE(rvalue) << "a call does not empty it";
}

TEST(move_only_function, keeps_state_between_calls) {
  move_only_function<int()> next = [n = 0]() mutable { return ++n; };
  next();
  next();
  move_only_function<int()> moved = std::move(next);
  EXPECT_EQ(moved(), 3);
}

TEST(move_only_function, holds_move_only_captures) {
  move_only_function<int()> f = [p = std::make_unique<int>(5)] { return *p; };
  move_only_function<int()> g = std::move(f);
  EXPECT_EQ(g(), 5);
  move_only_function<std::unique_ptr<int>() &&> give = [p = std::make_unique<int>(6)]() mutable {
    return std::move(p);
  };
  EXPECT_EQ(*std::move(give)(), 6);
}

TEST(move_only_function, moved_from_is_empty) {
  move_only_function<int()> f = forty_two;
  move_only_function<int()> g = std::move(f);
  EXPECT_FALSE(f);  // NOLINT(bugprone-use-after-move): the subject of the test
  EXPECT_THROW(f(), std::bad_function_call);
  f = std::move(g);
  EXPECT_EQ(f(), 42);
  EXPECT_FALSE(g);  // NOLINT(bugprone-use-after-move)
}

TEST(move_only_function, self_move_changes_nothing) {
  census counts;
  address_function f(std::in_place_type<counted<56>>, counts);
  address_function& same = f;
  f = std::move(same);
  EXPECT_TRUE(f);
  EXPECT_NE(f(), 0U);
  EXPECT_EQ(counts.alive, 1);
}

TEST(move_only_function, small_capture_does_not_allocate) {
  census counts;
  live_with_allocations<counted<16>>(0, counts);
  live_with_allocations<counted<56>>(0, counts);
  const std::size_t before = allocations();
  std::array<char, 56> bytes{};
  move_only_function<int()> f = [bytes] { return static_cast<int>(bytes.size()); };
  const move_only_function<int()> g = std::move(f);
  EXPECT_EQ(allocations(), before);
}

TEST(move_only_function, large_capture_allocates_once) {
  census counts;
  live_with_allocations<counted<64>>(1, counts);
  EXPECT_EQ(counts.moves, 0);
  live_with_allocations<counted<4096>>(1, counts);
}

TEST(move_only_function, over_aligned_capture_allocates_once) {
  census counts;
  live_with_allocations<counted<32, true, 32>>(1, counts);
  address_function f(std::in_place_type<counted<128, true, 128>>, counts);
  EXPECT_EQ(f() % 128, 0U);
  const address_function g = std::move(f);
}

TEST(move_only_function, maximally_aligned_capture_stays_inside) {
  census counts;
  constexpr std::size_t align = alignof(std::max_align_t);
  live_with_allocations<counted<48, true, align>>(0, counts);
  address_function f(std::in_place_type<counted<48, true, align>>, counts);
  EXPECT_EQ(f() % align, 0U);
}

TEST(move_only_function, capture_with_throwing_move_allocates_once_and_never_moves) {
  census counts;
  live_with_allocations<counted<16, false>>(1, counts);
  EXPECT_EQ(counts.moves, 0);
}

TEST(move_only_function, trivial_capture_moves_with_its_bytes) {
  std::array<int, 13> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * i);
  move_only_function<int(std::size_t)> f = [numbers](std::size_t i) { return numbers[i]; };
  const auto g = std::make_unique<move_only_function<int(std::size_t)>>(std::move(f));
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ((*g)(i), numbers[i]);
}

TEST(move_only_function, relocates_one_to_one) {
  census counts;
  std::vector<address_function> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(std::in_place_type<counted<40>>, counts);
  EXPECT_EQ(counts.alive, 100);
  EXPECT_EQ(counts.copies, 0);
  many.erase(many.begin(), many.begin() + 50);
  EXPECT_EQ(counts.alive, 50);
  many.clear();
  EXPECT_EQ(counts.alive, 0);
}

struct throws_on_copy {
  throws_on_copy() = default;
  throws_on_copy(const throws_on_copy&) { throw std::runtime_error("copy"); }
  throws_on_copy(throws_on_copy&&) noexcept {}
  int operator()() const { return 0; }
};

TEST(move_only_function, failed_assignment_keeps_the_old_target) {
  census counts;
  move_only_function<int()> f = [c = counted<16>(counts)] { return c.counts->alive; };
  const throws_on_copy bad;
  EXPECT_THROW(f = bad, std::runtime_error);
  EXPECT_EQ(f(), 1);

  struct large : throws_on_copy {
    std::array<char, 100> more{};
  };
  const large worse;
  EXPECT_THROW(f = worse, std::runtime_error);
  EXPECT_EQ(f(), 1);
}

TEST(move_only_function, failed_construction_throws_through) {
  const throws_on_copy bad;
  EXPECT_THROW(move_only_function<int()>{bad}, std::runtime_error);
  EXPECT_THROW((move_only_function<int()>(std::in_place_type<throws_on_copy>, bad)),
               std::runtime_error);
}

TEST(move_only_function, exceptions_of_the_target_pass_through) {
  move_only_function<void()> f = [] { throw std::runtime_error("target"); };
  EXPECT_THROW(f(), std::runtime_error);
  EXPECT_TRUE(f);
}

// Calls a function when destroyed; a move transfers the duty.
class at_end {
 public:
  explicit at_end(std::function<void()> action) : action_(std::move(action)) {}
  at_end(at_end&& other) noexcept : action_(std::exchange(other.action_, nullptr)) {}
  at_end& operator=(at_end&&) = delete;
  ~at_end() {
    if (action_) action_();
  }
  int operator()() const { return 1; }

 private:
  std::function<void()> action_;
};

TEST(move_only_function, old_target_is_destroyed_when_the_new_one_is_in_place) {
  move_only_function<int()> f;
  int seen = 0;
  f = at_end([&] { seen = f(); });
  f = [] { return 2; };
  EXPECT_EQ(seen, 2);

  bool was_empty = false;
  f = at_end([&] { was_empty = !f; });
  f = nullptr;
  EXPECT_TRUE(was_empty);

  f = at_end([&] { f = [] { return 3; }; });  // replaces its replacement
  f = nullptr;
  EXPECT_EQ(f(), 3);
}

TEST(move_only_function, target_may_replace_its_own_function) {
  const auto token = std::make_shared<int>(1);
  move_only_function<int()> f;
  f = [&f, token] {
    auto& function = f;  // the captures are gone after the assignment
    function = [] { return 2; };
    return 1;
  };
  EXPECT_EQ(token.use_count(), 2);
  EXPECT_EQ(f(), 1);
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_EQ(f(), 2);
}

TEST(move_only_function, target_may_destroy_its_own_function) {
  census counts;
  auto f = std::make_unique<move_only_function<int() &&>>();
  *f = [&f, large = counted<200>(counts)]() mutable {
    f.reset();
    return 1;
  };
  EXPECT_EQ(std::move(*f)(), 1);
  EXPECT_EQ(counts.alive, 0);
}

TEST(move_only_function, target_may_call_its_own_function) {
  move_only_function<int(int)> factorial;
  factorial = [&factorial](int n) { return n <= 1 ? 1 : n * factorial(n - 1); };
  EXPECT_EQ(factorial(5), 120);
}

TEST(move_only_function, gives_its_target_by_exact_type) {
  struct twice {
    int factor = 2;
    int operator()(int x) const { return factor * x; }
  };
  struct large : twice {
    std::array<char, 100> more{};
  };
  move_only_function<int(int)> f = twice();
  ASSERT_NE(f.target<twice>(), nullptr);
  f.target<twice>()->factor = 3;
  EXPECT_EQ(f(2), 6);
  EXPECT_EQ(f.target<large>(), nullptr);
  EXPECT_EQ(f.target<int>(), nullptr);
  f = large();
  ASSERT_NE(f.target<large>(), nullptr);
  f.target<large>()->factor = 4;
  EXPECT_EQ(f(2), 8);
  f = nullptr;
  EXPECT_EQ(f.target<large>(), nullptr);
}

}  // namespace
