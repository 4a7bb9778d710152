#include <takt/base/sync.hpp>
#include "support.hpp"
using namespace takt;
TEST(smoke, counter) {
  auto r = check({.runs = 10000}, [] {
    sync::atomic<int> n{0};
    sync::thread t{[&] { n.fetch_add(1); }};
    n.fetch_add(1);
    t.join();
    takt::model::require(n.load() == 2, "both");
  });
  std::cout << r << "\n";
}
TEST(smoke, lost_update) {
  auto r = find({.runs = 10000}, [] {
    sync::atomic<int> n{0};
    sync::thread t{[&] { n.store(n.load() + 1); }};
    n.store(n.load() + 1);
    t.join();
    takt::model::require(n.load() == 2, "both");
  });
  std::cout << r << "\n";
  EXPECT_FALSE(r.clean());
}
TEST(smoke, exhaustive) {
  auto r = check({.runs = 100000, .how = takt::model::strategy::exhaustive}, [] {
    sync::atomic<int> n{0};
    sync::mutex m;
    sync::thread t{[&] { n.fetch_add(1); m.lock(); n.store(n.load(std::memory_order_relaxed)+1); m.unlock();}};
    n.fetch_add(1);
    m.lock(); n.store(n.load(std::memory_order_relaxed)+1); m.unlock();
    t.join();
    takt::model::require(n.load() >= 2, "both");
  });
  std::cout << r << "\n";
  EXPECT_TRUE(r.complete);
}
