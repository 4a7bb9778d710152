// service_group under all interleavings: its services are stopped once, in reverse order, and all
// callers of stop() get the report.
#include <chrono>
#include <string>

#include <takt/base/detail/sync.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/service_group.hpp>

#include "pools.hpp"
#include "support.hpp"

namespace {

using namespace takt;
using namespace std::chrono_literals;
using model::require;

// A service that checks that it is called by one thread at a time, and in order.
class witness {
 public:
  explicit witness(sync::var<int>& stops, int turn) : stops_(stops), turn_(turn) {}
  service_actions actions() {
    return {.start = [this] { started_.write() = 1; },
            .shutdown =
                [this] {
                  require(started_.read() == 1, "it was started");
                  require(++stops_.write() == turn_, "once, and in its turn");
                },
            .await_end = [](clock::time_point, const sync::stop_token&) { return true; }};
  }

 private:
  sync::var<int> started_{0};
  sync::var<int>& stops_;
  int turn_;
};

TEST(service_group_model, two_stop_it_at_once) {
  check({.runs = 10'000}, [] {
    sync::var<int> stops{0};
    witness first(stops, 2);
    witness second(stops, 1);
    service_group group;
    group.add("first", first.actions());
    group.add("second", second.actions());
    group.start();
    sync::thread other([&] { require(group.stop(never).services.size() == 2, "the report"); });
    require(group.stop(never).services.size() == 2, "the same report");
    require(stops.read() == 2, "all are stopped when stop() returns");
    other.join();
  });
}

TEST(service_group_model, stop_against_start) {
  check({.runs = 10'000}, [] {
    sync::var<int> stops{0};
    witness only(stops, 1);
    service_group group;
    group.add("only", only.actions());
    bool started = true;
    sync::thread other([&] {
      try {
        group.start();
      } catch (const std::logic_error&) {
        started = false;
      }
    });
    const bool stopped = group.stop(never).services.size() == 1;
    other.join();
    require(started == stopped, "what was started is stopped");
    require(stops.read() == (started ? 1 : 0), "once");
  });
}

TEST(service_group_model, a_request_is_not_lost) {
  check({.runs = 10'000}, [] {
    thread_pool pool({.core_threads = 1});
    service_group group;
    group.add("pool", pool);
    group.start();
    pool.execute([&] { group.request_stop(); });
    group.wait_for_request();
    require(group.stop(never).is_clean(), "the pool drains");
    balanced(pool);
  });
}

TEST(service_group_model, a_forced_stop_against_a_pool_that_ends) {
  check({.runs = 10'000}, [] {
    runs ran{0};
    thread_pool pool({.core_threads = 1});
    service_group group({.linger = never});
    group.add("pool", pool);
    group.start();
    pool.execute([&](const sync::stop_token&) { ran.fetch_add(1); });
    sync::stop_source force;
    sync::thread user([&] { force.request_stop(); });
    const stop_report report = group.stop(never, force.get_token());
    require(report.services[0].outcome == stop_outcome::ended ||
                report.services[0].outcome == stop_outcome::forced,
            "it has come to its end");
    require(pool.is_terminated(), "as told");
    user.join();
    balanced(pool);
  });
}

}  // namespace
