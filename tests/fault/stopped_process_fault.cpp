// A process is stopped with SIGSTOP for ten seconds, as a debugger, a full disk or a busy host may
// do, and continues. Its periodic tasks do not run in a burst, unless their policy says so.
#include <poll.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <new>

#include <gtest/gtest.h>

#include <takt/sched/scheduled_pool.hpp>

namespace {

using namespace std::chrono_literals;

// The child's report, in shared memory.
struct report {
  std::atomic<std::size_t> runs{0};
  std::atomic<std::size_t> late_runs{0};  // late by more than a second
  std::atomic<std::size_t> gaps{0};       // number of missed events
  std::atomic<std::size_t> missed{0};     // number of missed runs
};

class reporter final : public takt::task_observer {
 public:
  explicit reporter(report& to) : to_(to) {}
  void on_event(const takt::task_event& event) noexcept override {
    if (event.what == takt::task_event::kind::started) {
      ++to_.runs;
      if (event.delay() > 1s) ++to_.late_runs;
    }
    if (event.what == takt::task_event::kind::missed) {
      ++to_.gaps;
      to_.missed += event.runs_missed;
    }
  }

 private:
  report& to_;
};

// A process with a task that is due a hundred times a second, until it is killed.
class child {
 public:
  explicit child(takt::missed_runs policy) {
    void* const shared =
        mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    told_ = shared == MAP_FAILED ? nullptr : new (shared) report;
    if (told_ == nullptr) return;
    process_ = fork();
    if (process_ != 0) return;
    reporter observer(*told_);
    takt::scheduled_pool pool({.threads = 1, .missed = policy, .observer = &observer});
    auto series = pool.schedule_at_fixed_rate(0s, 10ms, [] {});
    series.wait();
    _exit(1);
  }
  ~child() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    if (told_ != nullptr) munmap(told_, sizeof(report));
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;

  [[nodiscard]] bool exists() const { return process_ > 0; }
  [[nodiscard]] const report& told() const { return *told_; }

  // Returns after the process has stopped.
  void stop() const {
    kill(process_, SIGSTOP);
    int status = 0;
    while (waitpid(process_, &status, WUNTRACED) == -1 && errno == EINTR) {
    }
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  void go_on() const { kill(process_, SIGCONT); }

 private:
  pid_t process_ = -1;
  report* told_ = nullptr;
};

// Polls every 10 ms, for at most a minute.
template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

TEST(stopped_process, does_not_storm_unless_it_is_told_to) {
  const child calm{takt::missed_runs()};
  const child eager{takt::catch_up};
  ASSERT_TRUE(calm.exists() && eager.exists());
  ASSERT_TRUE(comes_true([&] { return calm.told().runs > 5 && eager.told().runs > 5; }));
  calm.stop();
  eager.stop();
  poll(nullptr, 0, 10'000);
  calm.go_on();
  eager.go_on();

  // All runs except those of the first and the last second have been missed.
  EXPECT_TRUE(comes_true([&] { return calm.told().missed >= 800; }));
  EXPECT_TRUE(comes_true([&] { return eager.told().late_runs >= 800; }));
  EXPECT_EQ(eager.told().missed, 0u);
  // After each run that is this late, the runs that are overdue are skipped.
  EXPECT_TRUE(comes_true([&] { return calm.told().late_runs <= calm.told().gaps; }));
  EXPECT_LT(calm.told().late_runs, 100u);
  // The periodic task continues.
  const std::size_t runs = calm.told().runs;
  EXPECT_TRUE(comes_true([&] { return calm.told().runs > runs + 5; }));
}

}  // namespace
