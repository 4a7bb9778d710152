#include <takt/service/log_sink.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../tests/support/temporary_folder.hpp"
#include "failing_disk.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class log_sink_file : public testing::Test {
 protected:
  void write_one(const char* line, const takt::file_sink_options& how) {
    const auto sink = takt::to_file(file_, how);
    sink->write(line);
    sink->flush();
    sink->close();
  }

  const takt_test::temporary_folder folder_;
  const fs::path file_ = folder_ / "log";
};

TEST_F(log_sink_file, is_made_appended_to_or_begun_anew) {
  write_one("first", {});
  write_one("second", {.sync = takt::file_sync::at_flush});
  EXPECT_EQ(contents(file_), "first\nsecond\n");
  write_one("third", {.append = false, .sync = takt::file_sync::none});
  EXPECT_EQ(contents(file_), "third\n");
}

TEST_F(log_sink_file, keeps_lines_until_it_is_flushed) {
  const auto sink = takt::to_file(file_);
  sink->write("line");
  EXPECT_EQ(contents(file_), "");
  sink->flush();
  EXPECT_EQ(contents(file_), "line\n");
  sink->flush();
  sink->close();
  EXPECT_EQ(contents(file_), "line\n");
}

TEST_F(log_sink_file, that_cannot_be_opened_says_which_and_why) {
  try {
    static_cast<void>(takt::to_file("/no-such-directory/app.log"));
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOENT);
    EXPECT_THAT(e.what(), HasSubstr("/no-such-directory/app.log"));
    EXPECT_THAT(e.what(), HasSubstr("opened"));
  }
  EXPECT_THROW(static_cast<void>(takt::to_file(fs::temp_directory_path())), std::system_error);
}

#if !defined(TAKT_PORTABLE_PARKING)  // where nothing is asked of the system

TEST_F(log_sink_file, is_put_on_the_disk_when_it_is_told_to_be) {
  const auto syncs = [this](takt::file_sync when, bool fails, std::vector<bool>& threw) {
    const auto sink = takt::to_file(file_, {.sync = when});
    const takt_test::failing_disk disk({.sync = fails});
    const auto throws = [](auto call) {
      try {
        call();
      } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::io_error);
        return true;
      }
      return false;
    };
    sink->write("line");
    threw.push_back(throws([&] { sink->flush(); }));
    threw.push_back(throws([&] { sink->close(); }));
    return disk.syncs();
  };
  std::vector<bool> threw;
  EXPECT_EQ(syncs(takt::file_sync::none, false, threw), 0);
  EXPECT_EQ(syncs(takt::file_sync::at_close, false, threw), 1);
  EXPECT_EQ(syncs(takt::file_sync::at_flush, false, threw), 1);
  EXPECT_EQ(threw, std::vector<bool>(6));
  threw.clear();
  syncs(takt::file_sync::at_close, true, threw);
  syncs(takt::file_sync::at_flush, true, threw);
  EXPECT_EQ(threw, (std::vector<bool>{false, true, true, false}));
}

#endif

TEST_F(log_sink_file, that_is_full_says_so_once) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no disk that is always full here";
  const auto sink = takt::to_file("/dev/full");
  sink->write("line");
  try {
    sink->flush();
    ADD_FAILURE();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code().value(), ENOSPC);
    EXPECT_THAT(e.what(), HasSubstr("/dev/full"));
  }
  EXPECT_NO_THROW(sink->flush());  // the line is its owner's again, and not tried once more
  EXPECT_NO_THROW(sink->close());
}

TEST(log_sink, writes_to_a_stream_and_tells_if_that_has_failed) {
  std::ostringstream out;
  const auto sink = takt::to_stream(out);
  sink->write("one");
  sink->write("two");
  sink->flush();
  EXPECT_EQ(out.str(), "one\ntwo\n");
  out.setstate(std::ios_base::badbit);
  EXPECT_THROW(sink->write("three"), std::ios_base::failure);
  EXPECT_THROW(sink->flush(), std::ios_base::failure);
  sink->close();
}

TEST(log_sink, calls_a_function) {
  std::vector<std::string> lines;
  const auto sink = takt::to_function([&](std::string_view line) { lines.emplace_back(line); });
  sink->write("one");
  sink->flush();
  sink->close();
  EXPECT_THAT(lines, ElementsAre("one"));
  EXPECT_THROW(static_cast<void>(takt::to_function(std::function<void(std::string_view)>())),
               std::invalid_argument);
}

}  // namespace
