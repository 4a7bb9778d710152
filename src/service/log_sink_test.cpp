#include <takt/service/log_sink.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
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

#include <takt/base/detail/sync.hpp>

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

// 'R' if the thread runs, 'S' if it sleeps, '-' if it has ended.
char state_of_thread(pid_t id) {
  const std::string text = contents("/proc/self/task/" + std::to_string(id) + "/stat");
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? '-' : text[name_end + 2];
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

// Neither sink overwrites lines of the other or leaves a hole where the file was emptied.
TEST_F(log_sink_file, that_is_begun_anew_is_appended_to) {
  const auto anew = takt::to_file(file_, {.append = false});
  const auto other = takt::to_file(file_);
  const auto write_line = [](const auto& sink, const char* line) {
    sink->write(line);
    sink->flush();
  };
  write_line(anew, "a1");
  write_line(other, "b1, of the other");
  write_line(anew, "a2");
  EXPECT_EQ(contents(file_), "a1\nb1, of the other\na2\n");
  fs::resize_file(file_, 0);
  write_line(anew, "a3");
  EXPECT_EQ(contents(file_), "a3\n");
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

#if !defined(TAKT_PORTABLE_PARKING)  // otherwise there is no fsync

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

TEST_F(log_sink_file, has_its_name_put_on_the_disk) {
  const takt_test::failing_disk disk({.sync = true});
  EXPECT_THROW(static_cast<void>(takt::to_file(file_)), std::system_error);
  EXPECT_THROW(static_cast<void>(takt::to_file(file_, {.sync = takt::file_sync::at_flush})),
               std::system_error);
  EXPECT_NO_THROW(static_cast<void>(takt::to_file(file_, {.sync = takt::file_sync::none})));
}

// Output of the program does not get into the file, even if its standard output is closed.
TEST_F(log_sink_file, is_never_standard_output) {
  const int kept = dup(STDOUT_FILENO);
  ASSERT_NE(kept, -1);
  close(STDOUT_FILENO);
  const auto sink = takt::to_file(file_);
  struct stat file{};
  bool taken = stat(file_.c_str(), &file) != 0;
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct stat found{};
    taken |= fstat(each, &found) == 0 && found.st_dev == file.st_dev && found.st_ino == file.st_ino;
  }
  ASSERT_EQ(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
  close(kept);
  EXPECT_FALSE(taken);
  sink->write("line");
  sink->flush();
  EXPECT_EQ(contents(file_), "line\n");
}

// System calls that a signal has interrupted are repeated.
TEST_F(log_sink_file, goes_on_after_a_signal) {
  struct sigaction handle{};
  struct sigaction before{};
  handle.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &handle, &before), 0);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  const std::string line(1'000'000, 'x');  // more than fits into the pipe
  takt::sync::atomic<pid_t> id{0};
  takt::sync::thread writer([&] {
    id = gettid();
    try {
      const auto sink = takt::to_file(file_);
      sink->write(line);
      sink->flush();
    } catch (const std::system_error& e) {
      ADD_FAILURE() << e.what();
    }
  });
  while (id == 0) takt::sync::yield();
  const auto interrupt = [&] {
    while (state_of_thread(id) != 'S' && state_of_thread(id) != '-') takt::sync::yield();
    pthread_kill(writer.native_handle(), SIGUSR1);
  };
  interrupt();  // while it waits for a reader
  const int reader = open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_NE(reader, -1);
  ASSERT_EQ(fcntl(reader, F_SETFL, 0), 0);
  interrupt();  // after a partial write
  interrupt();  // before the next one
  pollfd readable{.fd = reader, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&readable, 1, -1), 1);  // otherwise the pipe may not be open for writing yet
  std::size_t got = 0;
  std::array<char, 65'536> block{};
  for (ssize_t n = 1; n > 0; got += static_cast<std::size_t>(n)) {
    n = read(reader, block.data(), block.size());
    ASSERT_NE(n, -1);
  }
  EXPECT_EQ(got, line.size() + 1);
  close(reader);
  writer.join();
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);

  const auto sink = takt::to_file(folder_ / "synced", {.sync = takt::file_sync::at_flush});
  const takt_test::failing_disk disk({.interrupted = 1});
  sink->write("line");
  EXPECT_NO_THROW(sink->flush());
  EXPECT_EQ(disk.syncs(), 2);
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
  EXPECT_NO_THROW(sink->flush());  // the line was returned to the caller, and is not written again
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
