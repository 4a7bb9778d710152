#include <takt/observe/task_observer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using takt::task_event;
using takt::task_observer;

static_assert(std::is_aggregate_v<task_event> && std::is_trivially_copyable_v<task_event>);
static_assert(std::is_abstract_v<task_observer> && std::has_virtual_destructor_v<task_observer>);
static_assert(!std::is_copy_constructible_v<task_observer>);
static_assert(noexcept(std::declval<task_observer&>().on_event(std::declval<task_event>())));

// The events of a pool that runs each task at once, with a counter as its clock.
class emitter {
 public:
  explicit emitter(task_observer* observer) : observer_(observer) {}

  template <class Body>
  void run(std::string_view name, Body body) {
    const std::uint64_t id = ++ids_;
    task_event::time_point due;
    if (observer_ != nullptr) {
      due = now();
      tell({.what = task_event::kind::submitted, .id = id, .name = name, .when = due, .due = due});
    }
    task_event::time_point began;
    if (observer_ != nullptr) {
      began = now();
      tell({.what = task_event::kind::started, .id = id, .name = name, .when = began, .due = due});
    }
    bool failed = false;
    try {
      body();
    } catch (...) {
      failed = true;
    }
    if (observer_ != nullptr) {
      tell({.what = task_event::kind::finished,
            .failed = failed,
            .id = id,
            .name = name,
            .when = now(),
            .due = due,
            .began = began});
    }
  }

  [[nodiscard]] int clock_was_read() const { return time_; }

 private:
  task_event::time_point now() { return task_event::time_point(1ms * ++time_); }
  void tell(const task_event& event) { observer_->on_event(event); }

  task_observer* const observer_;
  std::uint64_t ids_ = 0;
  int time_ = 0;
};

class recorder : public task_observer {
 public:
  void on_event(const task_event& event) noexcept override {
    lines.push_back(std::to_string(event.id) + " " + std::string(event.name) + " " +
                    std::to_string(static_cast<int>(event.what)) + (event.failed ? " failed" : ""));
    last = event;
  }

  std::vector<std::string> lines;
  task_event last;
};

TEST(task_observer, hears_what_happens_in_order) {
  recorder heard;
  emitter pool(&heard);
  pool.run("good", [] {});
  pool.run("bad", [] { throw 1; });
  EXPECT_THAT(heard.lines, ::testing::ElementsAre("1 good 0", "1 good 2", "1 good 4", "2 bad 0",
                                                  "2 bad 2", "2 bad 4 failed"));
}

TEST(task_observer, event_knows_its_durations) {
  recorder heard;
  emitter pool(&heard);
  pool.run("x", [&] { EXPECT_EQ(heard.last.delay(), 1ms); });
  EXPECT_EQ(heard.last.run_time(), 1ms);
  EXPECT_EQ(heard.last.due, task_event::time_point(1ms));
}

TEST(task_observer, without_one_not_even_the_clock_is_read) {
  emitter pool(nullptr);
  int runs = 0;
  pool.run("x", [&] { ++runs; });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(pool.clock_was_read(), 0);
}

}  // namespace
