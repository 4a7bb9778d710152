#include "tool.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "../../tests/support/temporary_folder.hpp"

namespace {

using tool::printable;

TEST(printable, leaves_text_as_it_is) {
  for (const std::string text :
       {"", "a b~", "h\u00e9llo", "\u65e5\u672c", "\U0001F600", "\u00a0"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(printable, escapes_what_controls_a_terminal_or_ends_a_line) {
  EXPECT_EQ(printable("a\nb\tc\rd\\n"), "a\\nb\\tc\\rd\\\\n");
  EXPECT_EQ(printable(std::string("\0\x01\x1b[2J\x7f", 7)), "\\x00\\x01\\x1B[2J\\x7F");
  EXPECT_EQ(printable("\u0080\u009b2J\u009f"), "\\xC2\\x80\\xC2\\x9B2J\\xC2\\x9F");
  EXPECT_EQ(printable("\u202egpj.exe\u2066"), "\\xE2\\x80\\xAEgpj.exe\\xE2\\x81\\xA6");
  EXPECT_EQ(printable("\u2028\ufeff"), "\\xE2\\x80\\xA8\\xEF\\xBB\\xBF");
}

TEST(printable, escapes_bytes_that_are_no_utf8) {
  EXPECT_EQ(printable("\x9b\xff"), "\\x9B\\xFF");
  EXPECT_EQ(printable("\xc3"), "\\xC3");                             // truncated
  EXPECT_EQ(printable("\xe6\x97z"), "\\xE6\\x97z");                  // truncated in the middle
  EXPECT_EQ(printable("\xc0\x9b"), "\\xC0\\x9B");                    // overlong
  EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xE0\\x82\\x9B");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xED\\xA0\\x80");           // half of a surrogate pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // beyond the last code point
}

TEST(stop_descriptor, tells_a_stop_from_a_time_out) {
  std::stop_source stop;
  const tool::stop_descriptor stopped(stop.get_token());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_FALSE(stopped.wait_for(ends[0], POLLIN, 0));
  EXPECT_FALSE(stopped.is_requested());
  stop.request_stop();
  EXPECT_FALSE(stopped.wait_for(ends[0], POLLIN));
  EXPECT_TRUE(stopped.is_requested());
  close(ends[0]);
  close(ends[1]);
}

TEST(read_regular_file, reads_no_more_than_it_is_told_to) {
  const takt_test::temporary_folder folder;
  std::ofstream(folder / "file") << "12345";
  EXPECT_EQ(tool::read_regular_file(folder / "file", 5), "12345");
  EXPECT_EQ(tool::read_regular_file(folder / "file", 4), std::nullopt);
  EXPECT_EQ(tool::read_regular_file("/proc/self/status", 10), std::nullopt);  // its size is 0
  EXPECT_NE(tool::read_regular_file("/proc/self/status", 1'000'000), "");
  EXPECT_THROW(static_cast<void>(tool::read_regular_file(folder / "none", 5)), std::system_error);
}

// A file may have been replaced by something else between the listing and open().
TEST(read_regular_file, takes_nothing_else) {
  const takt_test::temporary_folder folder;
  std::ofstream(folder / "file") << "12345";
  std::filesystem::create_symlink("file", folder / "link");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string name : {"link", "pipe", "."}) {
    EXPECT_EQ(tool::read_regular_file(folder / name, 100), std::nullopt) << name;
  }
  EXPECT_EQ(tool::read_regular_file("/dev/null", 100), std::nullopt);
}

}  // namespace
