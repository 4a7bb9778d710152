// event_loop embedded in other loops. These tests wait for descriptors in real time; no expectation
// depends on that.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

#include <asio.hpp>
#include <gtest/gtest.h>

#include <takt/sched/event_loop.hpp>

namespace {

using namespace std::chrono_literals;
using takt::clock;
using takt::event_loop;

#if defined(TAKT_PORTABLE_PARKING)

TEST(event_loop_embedding, there_is_no_descriptor) {
  event_loop loop;
  EXPECT_THROW(static_cast<void>(loop.descriptor()), std::system_error);
}

#else

// A loop that waits with epoll for the descriptor or the deadline.
void run_with_epoll(event_loop& loop, const bool& done) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  ASSERT_GE(epoll, 0);
  epoll_event event{};
  event.events = EPOLLIN;
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, loop.descriptor(), &event), 0);
  while (!done) {
    loop.poll();
    const clock::time_point next = loop.next_deadline();
    int timeout = -1;
    if (next != clock::time_point::max()) {
      const auto left = std::max(takt::time_between(loop.now(), next), 0ns);
      timeout = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    if (!done) epoll_wait(epoll, &event, 1, timeout);
  }
  close(epoll);
}

// The same within asio's loop.
class asio_guest {
 public:
  asio_guest(asio::io_context& host, event_loop& loop)
      : loop_(loop), wake_(host, dup(loop.descriptor())), timer_(host) {
    step();
  }

  void step() {
    loop_.poll();
    timer_.cancel();
    wake_.cancel();
    const clock::time_point next = loop_.next_deadline();
    const auto again = [this](const asio::error_code& error) {
      if (!error) step();
    };
    if (next != clock::time_point::max()) {
      timer_.expires_at(std::max(next, clock::time_point()));
      timer_.async_wait(again);
    }
    wake_.async_wait(asio::posix::descriptor_base::wait_read, again);
  }

 private:
  event_loop& loop_;
  asio::posix::stream_descriptor wake_;
  asio::steady_timer timer_;
};

// The tasks of both tests: posts from a thread, a series that is moved from far ahead to near,
// frames.
class traffic {
 public:
  explicit traffic(event_loop& loop) : loop_(loop) {
    guard_ = loop.execute(1h, [] {});
    series_ = loop.schedule_at_fixed_rate(1h, 100us, [this] {
      if (++runs_ == 20) {
        series_.cancel();
        finish_one();
      }
    });
    loop.frames().execute([this] { finish_one(); });
    others_ = std::thread([this] {
      for (int i = 0; i < 100; ++i) {
        loop_.execute([this] {
          if (++posts_ == 100) finish_one();
        });
        if (i % 10 == 0) std::this_thread::yield();
      }
      loop_.microtasks().execute([this] { finish_one(); });
      series_.reschedule(0ms);
    });
  }
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;
  ~traffic() {
    others_.join();
    EXPECT_EQ(posts_, 100);
    EXPECT_EQ(runs_, 20);
  }

  [[nodiscard]] const bool& done() const { return done_; }
  void on_done(std::function<void()> f) { on_done_ = std::move(f); }

 private:
  void finish_one() {
    if (++finished_ != 4) return;
    done_ = true;
    if (on_done_) on_done_();
  }

  event_loop& loop_;
  takt::timer_handle guard_;
  takt::periodic_future series_;
  std::function<void()> on_done_;
  int posts_ = 0;
  int runs_ = 0;
  int finished_ = 0;
  bool done_ = false;
  std::thread others_;
};

TEST(event_loop_embedding, in_a_loop_with_epoll) {
  event_loop loop({.frame = 1ms});
  const traffic all(loop);
  run_with_epoll(loop, all.done());
}

TEST(event_loop_embedding, in_asio) {
  event_loop loop({.frame = 1ms});
  asio::io_context host;
  traffic all(loop);
  asio_guest guest(host, loop);
  all.on_done([&] { host.stop(); });
  if (!all.done()) host.run();
}

// True if the descriptor is readable. Only tasks added after next_deadline() make it so.
bool is_readable(int descriptor) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
  const bool found = epoll_wait(epoll, &event, 1, 0) == 1;
  close(epoll);
  return found;
}

// The task is posted after next_deadline(), and before the descriptor is opened.
TEST(event_loop_embedding, a_descriptor_that_is_opened_late_is_readable) {
  event_loop loop;
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max());
  loop.execute([] {});
  EXPECT_TRUE(is_readable(loop.descriptor()));
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_FALSE(is_readable(loop.descriptor()));
}

TEST(event_loop_embedding, the_descriptor_is_readable_when_a_loop_goes_on) {
  event_loop loop;
  const int descriptor = loop.descriptor();
  loop.stop();
  loop.execute([] {});
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max());
  EXPECT_FALSE(is_readable(descriptor));
  loop.restart();
  EXPECT_TRUE(is_readable(descriptor));
  EXPECT_EQ(loop.poll(), 1u);
}

TEST(event_loop_embedding, the_descriptor_is_readable_when_it_has_to_be) {
  event_loop loop;
  const int descriptor = loop.descriptor();
  const auto readable = [&] { return is_readable(descriptor); };
  EXPECT_EQ(loop.next_deadline(), clock::time_point::max());
  EXPECT_FALSE(readable());
  auto far = loop.execute(2h, [] {});
  EXPECT_TRUE(readable());  // there was no task before
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_FALSE(readable());
  EXPECT_EQ(loop.next_deadline(), far.next_time());
  auto farther = loop.execute(3h, [] {});
  EXPECT_FALSE(readable());
  auto nearer = loop.execute(1h, [] {});
  EXPECT_TRUE(readable());
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.next_deadline(), nearer.next_time());
  loop.execute([] {});
  EXPECT_TRUE(readable());
  EXPECT_EQ(loop.next_deadline(), clock::time_point::min());
  EXPECT_EQ(loop.poll(), 1u);
  EXPECT_FALSE(readable());
  EXPECT_EQ(loop.next_deadline(), nearer.next_time());
  EXPECT_TRUE(nearer.reschedule(1min));
  EXPECT_TRUE(readable());
  EXPECT_EQ(loop.poll(), 0u);
  EXPECT_EQ(loop.next_deadline(), nearer.next_time());
  loop.stop();
  EXPECT_TRUE(readable());
}

#endif

}  // namespace
