// Randomised lifecycles of log services and pipelines: producers, a small queue, and a stop at any
// moment. Each accepted line is in the file once or was returned, and no other line is.
//
// Each round has a seed, which determines its options and the actions of its threads, but not how
// the threads interleave. TAKT_STRESS_SEED repeats a seed that was printed.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/log_service.hpp>
#include <takt/service/pipeline.hpp>

#include "../support/pools.hpp"
#include "../support/temporary_folder.hpp"
#include "parts.hpp"
#include "rounds.hpp"

namespace {

using namespace std::chrono_literals;
using namespace takt_test;
using takt::log_service;
using takt::outlet;
using takt::pipeline;
using takt::when_full;

namespace fs = std::filesystem;

class log_round {
 public:
  explicit log_round(std::uint64_t seed) : random_(seed) {}

  void run() {
    takt::thread_pool pool({.core_threads = 1 + random_.pick(2)});
    log_service::options_type how{.capacity = 1 + random_.pick(4),
                                  .flush_every = 1 + random_.pick(4)};
    if (random_.chance(2)) how.executor = pool;
    if (random_.chance(3)) how.rejection = when_full::drop();
    if (random_.chance(4))
      how.rejection = when_full::wait(std::chrono::microseconds(random_.pick(200)));
    log_service log(takt::to_file(file_), how);
    std::vector<takt::sync::thread> producers;
    const std::size_t count = 1 + random_.pick(3);
    accepted_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      producers.emplace_back(
          [this, &log, i, lines = 1 + random_.pick(60)] { produce(log, i, lines); });
    }
    const std::size_t spins = random_.pick(3000);
    for (std::size_t i = 0; i < spins; ++i) takt::sync::yield();
    switch (random_.pick(4)) {
      case 0:
        EXPECT_TRUE(log.close(takt::drain));
        break;
      case 1:
        log.shutdown();
        if (!log.await_termination(std::chrono::microseconds(random_.pick(300)))) {
          keep(log.shutdown_now());
        }
        break;
      case 2:
        keep(log.shutdown_now());
        break;
      default:  // two threads at once
        takt::sync::thread other([&] { log.shutdown(); });
        keep(log.shutdown_now());
        other.join();
    }
    log.await_termination();
    statistics_ = log.statistics();
    for (auto& t : producers) t.join();
    EXPECT_EQ(log.error(), nullptr);
  }

  void check() {
    std::map<std::string, int> left;
    std::uint64_t accepted = 0;
    for (const auto& lines : accepted_) {
      accepted += lines.size();
      for (const std::string& line : lines) ++left[line];
    }
    std::vector<int> last(accepted_.size(), -1);
    std::uint64_t written = 0;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line); ++written) {
      EXPECT_EQ(left[line]--, 1) << line;
      const std::size_t of = std::stoul(line);
      const int number = std::stoi(line.substr(line.find(' ')));
      EXPECT_GT(number, last[of]) << "lines of one thread keep their order";
      last[of] = number;
    }
    for (const std::string& line : returned_) EXPECT_EQ(left[line]--, 1) << line;
    for (const auto& [line, n] : left) EXPECT_EQ(n, 0) << line;
    EXPECT_EQ(statistics_.pending(), 0u);
    EXPECT_EQ(statistics_.accepted, accepted);
    EXPECT_EQ(statistics_.written, written);
    EXPECT_EQ(statistics_.returned, returned_.size());
  }

 private:
  void produce(log_service& log, std::size_t number, std::size_t lines) {
    for (std::size_t i = 0; i < lines; ++i) {
      std::string line = std::to_string(number) + ' ' + std::to_string(i);
      try {
        if (log.log(line)) accepted_[number].push_back(std::move(line));
      } catch (const takt::rejected& e) {
        if (e.reason() == takt::rejection::shut_down) return;
      }
    }
  }
  void keep(std::list<std::string> lines) { returned_.splice(returned_.end(), lines); }

  dice random_;
  const temporary_folder folder_;
  const fs::path file_ = folder_ / "log";
  std::vector<std::vector<std::string>> accepted_;  // one list per producer
  std::list<std::string> returned_;
  takt::log_statistics statistics_;
};

class pipeline_round {
 public:
  explicit pipeline_round(std::uint64_t seed) : random_(seed) {}

  void run() {
    const int count = static_cast<int>(random_.pick(200));
    const bool for_ever = random_.chance(2);
    const int fails_at = random_.chance(3) ? static_cast<int>(random_.pick(200)) : -1;
    pipeline p = pipeline::from<int>(
                     [=](outlet<int>& out) {
                       for (int i = 0; for_ever || i < count; ++i) out.push(i);
                     },
                     {.threads = 1 + random_.pick(3)})
                     .then<int>(
                         [](const int& i, outlet<int>& out) {
                           for (int k = 0; k < i % 3; ++k) out.push(i);
                         },
                         {.threads = 1 + random_.pick(3), .capacity = 1 + random_.pick(4)})
                     .then(
                         [=](const int& i) {
                           if (i == fails_at) throw std::runtime_error("as it should");
                           return i;
                         },
                         {.threads = 1 + random_.pick(2), .capacity = 1 + random_.pick(4)})
                     .into([this](int) { done_.fetch_add(1); },
                           {.threads = 1 + random_.pick(3), .capacity = 1 + random_.pick(4)});
    const std::size_t spins = random_.pick(2000);
    for (std::size_t i = 0; i < spins; ++i) takt::sync::yield();
    const std::size_t end = random_.pick(3);
    if (end == 0 || (end == 1 && for_ever)) p.shutdown();
    if (end == 2) p.shutdown_and_cancel();
    p.await_termination();
    const bool failed = p.error().has_value();
    EXPECT_TRUE(!failed || fails_at >= 0);
    all_ = p.statistics();
    drained_ = !failed && end != 2;
  }

  void check() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      EXPECT_EQ(all_[i].pending(), 0u);
      if (i != 0) {
        EXPECT_EQ(all_[i].accepted, all_[i - 1].produced);
      }
      if (i != 0 && drained_) {
        EXPECT_EQ(all_[i].finished, all_[i].accepted);
      }
    }
    EXPECT_EQ(all_.back().finished, done_.load());
  }

 private:
  dice random_;
  takt::sync::atomic<std::uint64_t> done_{0};
  std::vector<takt::stage_statistics> all_;
  bool drained_ = false;
};

TEST(service_stress, log_services_lose_and_double_nothing) { live<log_round>(); }
TEST(service_stress, pipelines_account_for_every_item) { live<pipeline_round>(); }

}  // namespace
