// The log service under all interleavings: each accepted line has one outcome, one thread at a time
// uses the sink, the sink is closed once, and no thread waits for ever.
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/log_service.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

// Plain data: two threads in the sink at the same time would be a data race.
struct record {
  sync::var<int> lines{0};
  sync::var<int> closes{0};
  int fails_at = -1;
};

class plain_sink final : public log_sink {
 public:
  explicit plain_sink(record& to) : to_(to) {}
  void write(std::string_view) override {
    require(to_.closes.read() == 0, "not after it was closed");
    if (to_.lines.read() == to_.fails_at) throw std::runtime_error("no disk");
    to_.lines.write() += 1;
  }
  void close() override { to_.closes.write() += 1; }

 private:
  record& to_;
};

class silent_hook final : public unhandled_hook {
  void on_unhandled(unhandled, const std::exception_ptr&) const noexcept override {}
};
const silent_hook silent;

// On a private thread or on a pool.
struct service {
  service(bool own_thread, std::size_t capacity, int fails_at = -1, std::size_t threads = 1) {
    written.fails_at = fails_at;
    if (!own_thread) pool.emplace(thread_pool::fixed(threads));
    log_service_options how{.capacity = capacity, .unhandled = &silent};
    if (pool) how.executor = *pool;
    log.emplace(std::make_unique<plain_sink>(written), how);
  }

  // \return how many of `count` lines were accepted.
  int produce(int count) {
    int accepted = 0;
    try {
      for (; accepted < count; ++accepted) require(log->log("line"), "it neither drops nor stops");
    } catch (const rejected&) {
    } catch (const std::runtime_error&) {
    }
    return accepted;
  }

  void require_end(int accepted) {
    require(written.closes.read() == 1, "closed once");
    const log_statistics s = log->statistics();
    require(s.pending() == 0, "the account balances");
    require(s.accepted == static_cast<std::uint64_t>(accepted), "as the producers were told");
  }

  record written;
  std::optional<thread_pool> pool;
  std::optional<log_service> log;
};

constexpr bool both[] = {true, false};

TEST(log_service_model, log_against_shutdown) {
  for (const bool own_thread : both) {
    check({.runs = 10'000}, [own_thread] {
      service s(own_thread, 1);
      int accepted = 0;
      sync::thread producer([&] { accepted = s.produce(3); });
      s.log->shutdown();
      s.log->await_termination();
      producer.join();
      require(s.written.lines.read() == accepted, "all that was accepted is written");
      s.require_end(accepted);
    });
  }
}

// Lines of producers that wait for room at the shutdown are written.
TEST(log_service_model, two_producers_and_little_room_against_shutdown) {
  for (const bool own_thread : both) {
    check({.runs = 10'000}, [own_thread] {
      service s(own_thread, 1);
      int first = 0;
      int second = 0;
      sync::thread one([&] { first = s.produce(2); });
      sync::thread two([&] { second = s.produce(2); });
      s.log->shutdown();
      one.join();
      two.join();
      s.log->await_termination();
      require(s.written.lines.read() == first + second, "all that was accepted is written");
      s.require_end(first + second);
    });
  }
}

// A line is added while the drain is ending.
TEST(log_service_model, a_line_after_the_last_one_is_written_without_a_shutdown) {
  check({.runs = 10'000}, [] {
    service s(false, 2);
    sync::thread producer([&] { s.produce(1); });
    s.produce(1);
    producer.join();
    while (s.log->statistics().written != 2) sync::yield();
    s.log->close(drain);
    s.require_end(2);
  });
}

// Two threads could write: only one of them does.
TEST(log_service_model, one_thread_of_a_pool_writes_at_a_time) {
  check({.runs = 10'000}, [] {
    service s(false, 2, -1, 2);
    sync::thread producer([&] { s.produce(1); });
    s.produce(2);
    producer.join();
    s.log->close(drain);
    require(s.written.lines.read() == 3, "each once");
    s.require_end(3);
  });
}

TEST(log_service_model, no_account_has_more_than_was_accepted) {
  check({.runs = 10'000}, [] {
    service s(false, 2);
    sync::thread producer([&] { s.produce(2); });
    const log_statistics now = s.log->statistics();
    require(now.written <= now.accepted, "what has ended was accepted before");
    producer.join();
    s.log->close(drain);
  });
}

TEST(log_service_model, log_against_shutdown_now) {
  for (const bool own_thread : both) {
    check({.runs = 10'000}, [own_thread] {
      service s(own_thread, 1);
      int accepted = 0;
      sync::thread producer([&] { accepted = s.produce(3); });
      const std::size_t returned = s.log->shutdown_now().size();
      s.log->await_termination();
      producer.join();
      require(s.written.lines.read() + static_cast<int>(returned) == accepted,
              "written or given back");
      s.require_end(accepted);
    });
  }
}

// A drain that ends while lines are returned does not terminate the service before they are
// counted.
TEST(log_service_model, terminated_means_that_every_line_has_its_end) {
  check({.runs = 10'000}, [] {
    service s(false, 2);
    const int accepted = s.produce(2);
    sync::thread other([&] { static_cast<void>(s.log->shutdown_now()); });
    s.log->await_termination();
    s.require_end(accepted);
    other.join();
  });
}

TEST(log_service_model, two_who_stop_it_and_one_who_waits_for_the_end) {
  check({.runs = 10'000}, [] {
    service s(false, 2);
    const int accepted = s.produce(2);
    sync::thread other([&] { static_cast<void>(s.log->shutdown_now()); });
    sync::thread waiter([&] {
      s.log->await_termination();
      require(s.log->statistics().pending() == 0, "when it has ended, each line has its end");
    });
    static_cast<void>(s.log->shutdown_now());
    other.join();
    waiter.join();
    s.require_end(accepted);
  });
}

TEST(log_service_model, shutdown_against_shutdown_now) {
  check({.runs = 10'000}, [] {
    service s(false, 2);
    const int accepted = s.produce(2);
    sync::thread other([&] { s.log->shutdown(); });
    const std::size_t returned = s.log->shutdown_now().size();
    s.log->await_termination();
    other.join();
    require(s.written.lines.read() + static_cast<int>(returned) == accepted,
            "written or given back");
    s.require_end(accepted);
  });
}

// The sink fails while producers wait for room.
TEST(log_service_model, a_sink_that_fails_lets_producers_go) {
  for (const bool own_thread : both) {
    check({.runs = 10'000}, [own_thread] {
      service s(own_thread, 1, 1);
      int first = 0;
      int second = 0;
      sync::thread one([&] { first = s.produce(3); });
      sync::thread two([&] { second = s.produce(3); });
      one.join();
      two.join();
      s.log->await_termination();
      require(s.log->error() != nullptr, "it is known");
      const log_statistics now = s.log->statistics();
      require(now.failed == s.log->shutdown_now().size(), "given back");
      s.require_end(first + second);
    });
  }
}

// A producer that is refused because the sink has failed gets the error.
TEST(log_service_model, the_error_is_there_before_producers_are_turned_away) {
  check({.runs = 10'000}, [] {
    service s(true, 1, 0);
    try {
      for (;;) s.log->log("line");
    } catch (const rejected&) {
      require(false, "nobody has shut it down");
    } catch (const std::runtime_error&) {
    }
  });
}

// Its executor is stopped while the drain is queued, runs, or is about to be submitted.
TEST(log_service_model, the_pool_is_stopped_under_it) {
  check({.runs = 10'000}, [] {
    service s(false, 1);
    sync::thread other([&] { s.pool->shutdown_and_cancel(); });
    const int accepted = s.produce(2);
    other.join();
    s.log->close(drain);
    const log_statistics now = s.log->statistics();
    require(now.written + now.failed == static_cast<std::uint64_t>(accepted), "one or the other");
    s.require_end(accepted);
  });
}

TEST(log_service_model, destroyed_while_it_writes) {
  for (const bool own_thread : both) {
    check({.runs = 10'000}, [own_thread] {
      service s(own_thread, 2);
      s.produce(2);
      s.log.reset();
      require(s.written.closes.read() == 1, "closed once");
    });
  }
}

}  // namespace
