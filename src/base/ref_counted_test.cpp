#include <takt/base/detail/ref_counted.hpp>

#include <array>
#include <type_traits>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

namespace {

class object : public takt::detail::ref_counted<object> {
 public:
  explicit object(int& destroyed) : destroyed_(destroyed) {}
  void work() { done_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class takt::detail::ref_counted<object>;
  ~object() { destroyed_ += done_.load(std::memory_order_relaxed); }

  int& destroyed_;
  takt::sync::atomic<int> done_{1};
};

static_assert(!std::is_copy_constructible_v<object> && !std::is_copy_assignable_v<object>);

TEST(ref_counted, lives_until_the_first_reference_is_given_up) {
  int destroyed = 0;
  auto* const o = new object(destroyed);
  EXPECT_EQ(destroyed, 0);
  o->release();
  EXPECT_EQ(destroyed, 1);
}

TEST(ref_counted, lives_until_the_last_of_several_references_is_given_up) {
  int destroyed = 0;
  auto* const o = new object(destroyed);
  o->retain();
  o->retain();
  o->release();
  // NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete): the analyzer does not follow the count
  o->release();
  EXPECT_EQ(destroyed, 0);
  o->release();
  // NOLINTEND(clang-analyzer-cplusplus.NewDelete)
  EXPECT_EQ(destroyed, 1);
}

TEST(ref_counted, is_destroyed_once_by_whichever_thread_is_last) {
  for (int round = 0; round < 500; ++round) {
    int destroyed = 0;
    {
      auto* const o = new object(destroyed);
      std::array<takt::sync::thread, 3> threads;
      for (auto& t : threads) {
        o->retain();
        t = takt::sync::thread([o] {
          o->work();
          o->release();
        });
      }
      o->release();
      for (auto& t : threads) t.join();
    }
    ASSERT_EQ(destroyed, 4);
  }
}

}  // namespace
