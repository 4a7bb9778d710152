// For tests: a sink that records its calls.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/log_service.hpp>
#include <takt/service/log_sink.hpp>

namespace takt_test {

// The calls of a sink, made by one thread at a time. Read it after the end of the service.
struct record {
  std::vector<std::string> lines;
  int flushes = 0;
  int closes = 0;
  std::function<void(std::string_view)> on_write = [](std::string_view) {};
  std::function<void()> on_flush = [] {};
  std::function<void()> on_close = [] {};
};

class recording_sink final : public takt::log_sink {
 public:
  explicit recording_sink(record& to) : to_(to) {}
  void write(std::string_view line) override {
    EXPECT_EQ(to_.closes, 0);
    to_.on_write(line);
    to_.lines.emplace_back(line);
  }
  void flush() override {
    EXPECT_EQ(to_.closes, 0);
    ++to_.flushes;
    to_.on_flush();
  }
  void close() override {
    ++to_.closes;
    to_.on_close();
  }

 private:
  record& to_;
};

inline std::unique_ptr<takt::log_sink> into(record& r) {
  return std::make_unique<recording_sink>(r);
}

// The service is terminated: all lines have an outcome, and the sink was closed once.
inline void expect_ended(const takt::log_service& log, const record& r) {
  EXPECT_TRUE(log.is_terminated());
  EXPECT_EQ(log.statistics().pending(), 0u);
  EXPECT_EQ(r.closes, 1);
}

}  // namespace takt_test
