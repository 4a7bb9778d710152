#include <takt/base/detail/mutex.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>

namespace {

using takt::detail::condition;
using takt::detail::mutex;
using takt::detail::mutex_lock;
using takt::sync::thread;

class mailbox {
 public:
  void put(int value) TAKT_EXCLUDES(mu_) {
    mutex_lock lock(mu_);
    while (full_) changed_.wait(lock);
    value_ = value;
    full_ = true;
    changed_.notify_all();
  }

  int take() TAKT_EXCLUDES(mu_) {
    mutex_lock lock(mu_);
    while (!full_) changed_.wait(lock);
    empty_it();
    changed_.notify_all();
    return value_;
  }

 private:
  void empty_it() TAKT_REQUIRES(mu_) { full_ = false; }

  mutex mu_;
  condition changed_;
  int value_ TAKT_GUARDED_BY(mu_) = 0;
  bool full_ TAKT_GUARDED_BY(mu_) = false;
};

TEST(mutex, excludes_before_and_after_a_gap) {
  constexpr int threads = 4;
  constexpr int each = 10'000;
  struct {
    mutex mu;
    int count TAKT_GUARDED_BY(mu) = 0;
  } shared;
  std::vector<thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&shared] {
      for (int i = 0; i < each; ++i) {
        mutex_lock lock(shared.mu);
        ++shared.count;
        lock.unlock();
        lock.lock();
        ++shared.count;
      }
    });
  }
  for (auto& t : all) t.join();
  mutex_lock lock(shared.mu);
  EXPECT_EQ(shared.count, 2 * threads * each);
}

TEST(mutex_lock, opens_a_gap) {
  mutex mu;
  mutex_lock lock(mu);
  lock.unlock();
  thread other([&mu] { mutex_lock inner(mu); });
  other.join();  // hangs if unlock() does not unlock
  lock.lock();
}

TEST(mutex_lock, destructor_leaves_an_unlocked_mutex_alone) {
  mutex mu;
  {
    mutex_lock lock(mu);
    lock.unlock();
  }
  mu.lock();
  mu.unlock();
}

TEST(condition, hands_over_one_by_one) {
  constexpr int rounds = 5'000;
  mailbox box;
  thread producer([&box] {
    for (int i = 0; i < rounds; ++i) box.put(i);
  });
  for (int i = 0; i < rounds; ++i) ASSERT_EQ(box.take(), i);
  producer.join();
}

}  // namespace
