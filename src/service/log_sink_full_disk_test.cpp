// A log file on a full or failing disk has each line completely or not at all.
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/service/log_service.hpp>
#include <takt/service/log_sink.hpp>

#include "../../tests/support/list_file.hpp"
#include "failing_disk.hpp"

namespace {

using takt_test::contents_of;
using takt_test::failing_disk;
using takt_test::full_disk;
using takt_test::write;

using log_sink_full_disk = takt_test::list_file_test;

struct quiet final : takt::unhandled_hook {
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
} const no_report;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(log_sink_full_disk, leaves_no_part_of_a_line) {
  for (const bool append : {true, false}) {
    std::filesystem::remove(file());
    const auto sink = takt::to_file(file(), {.append = append});
    sink->write("first");
    sink->flush();
    {
      const full_disk disk(11);
      sink->write("2nd");  // would fit, but not with the other line
      sink->write("third");
      EXPECT_THROW(sink->flush(), std::system_error);
    }
    EXPECT_EQ(contents_of(file()), "first\n");
    sink->write("fourth");
    sink->flush();
    EXPECT_EQ(contents_of(file()), "first\nfourth\n");
    sink->close();
  }
}

TEST_F(log_sink_full_disk, begins_a_new_line_if_a_part_has_to_stay) {
  for (const bool append : {true, false}) {
    std::filesystem::remove(file());
    const auto sink = takt::to_file(file(), {.append = append});
    {
      const full_disk disk(3);
      const failing_disk no_truncate({.truncate = true});
      sink->write("first");
      EXPECT_THROW(sink->flush(), std::system_error);
    }
    EXPECT_EQ(contents_of(file()), "fir");
    {
      const full_disk disk(3);
      sink->write("second");
      EXPECT_THROW(sink->flush(), std::system_error);
    }
    sink->write("third");
    sink->write("fourth");
    sink->flush();
    sink->write("fifth");
    sink->flush();
    EXPECT_EQ(contents_of(file()), "fir\nthird\nfourth\nfifth\n");
    sink->close();
  }
}

TEST_F(log_sink_full_disk, begins_a_new_line_in_a_file_that_ends_within_one) {
  write(file(), "fir");
  {
    const auto sink = takt::to_file(file());
    sink->flush();
    sink->close();
  }
  EXPECT_EQ(contents_of(file()), "fir");
  for (int i = 0; i < 2; ++i) {
    const auto sink = takt::to_file(file());
    sink->write("line");
    sink->flush();
    sink->close();
  }
  EXPECT_EQ(contents_of(file()), "fir\nline\nline\n");
  write(file(), "fir");
  const auto sink = takt::to_file(file(), {.append = false});
  sink->write("line");
  sink->flush();
  EXPECT_EQ(contents_of(file()), "line\n");
}

TEST_F(log_sink_full_disk, takes_back_what_it_cannot_sync) {
  const auto sink = takt::to_file(file(), {.sync = takt::file_sync::at_flush});
  sink->write("first");
  sink->flush();
  {
    const failing_disk disk({.sync = true});
    sink->write("second");
    EXPECT_THROW(sink->flush(), std::system_error);
  }
  EXPECT_EQ(contents_of(file()), "first\n");
}

TEST_F(log_sink_full_disk, takes_nothing_back_that_others_may_have_written) {
  const auto sink = takt::to_file(file(), {.sync = takt::file_sync::at_flush});
  {
    failing_disk disk({.sync = true});
    disk.at_sync([&] { std::ofstream(file(), std::ios::app) << "other\n"; });
    sink->write("first");
    EXPECT_THROW(sink->flush(), std::system_error);
  }
  EXPECT_EQ(contents_of(file()), "first\nother\n");
}

// Lines that the service returns are not in the file, and the others are: the caller can write them
// later.
TEST_F(log_sink_full_disk, has_each_line_of_a_service_once) {
  std::vector<std::string> accepted;
  std::list<std::string> rest;
  {
    const full_disk disk(5000);
    takt::log_service log(takt::to_file(file()), {.flush_every = 7, .unhandled = &no_report});
    try {
      for (int i = 0; i < 2000; ++i) {
        const std::string line = "line " + std::to_string(i) + std::string(30, 'x') + " end";
        if (log.log(line)) accepted.push_back(line);
      }
      ADD_FAILURE() << "there was room for all";
    } catch (const std::system_error&) {
    }
    rest = log.shutdown_now();
    log.await_termination();
    EXPECT_EQ(log.statistics().written + rest.size(), accepted.size());
  }
  std::vector<std::string> all = lines_of(file());
  EXPECT_GT(all.size(), 50u);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(all, accepted);
  {
    takt::log_service log(takt::to_file(file()));
    for (const std::string& line : rest) log.log(line);
    log.shutdown();
    log.await_termination();
  }
  EXPECT_EQ(lines_of(file()), accepted);
}

}  // namespace
