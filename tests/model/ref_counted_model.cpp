// References given up by several threads: one destruction, after all uses.
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>

#include "support.hpp"

namespace {

using namespace takt;

class object : public detail::ref_counted<object> {
 public:
  explicit object(int& destroyed) : destroyed_(destroyed) {}
  sync::var<int> a;  // plain data, checked for races
  sync::var<int> b;

 private:
  friend class ref_counted<object>;
  ~object() {
    model::require(a.read() + b.read() == 2, "all uses are seen");
    ++destroyed_;
  }

  int& destroyed_;
};

TEST(ref_counted, is_destroyed_once_after_all_uses) {
  const auto body = [] {
    int destroyed = 0;
    auto* const o = new object(destroyed);
    o->retain();
    sync::thread other([o] {
      ++o->a.write();
      o->release();
    });
    ++o->b.write();
    o->release();
    other.join();
    model::require(destroyed == 1, "destroyed once");
  };
  check({.runs = 10'000}, body);
  check({.runs = 1'000'000, .how = model::strategy::exhaustive}, body);
}

}  // namespace
