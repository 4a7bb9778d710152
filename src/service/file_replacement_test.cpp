#include <takt/service/file_replacement.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../tests/support/list_file.hpp"
#include "../base/counting_new.hpp"
#include "failing_disk.hpp"

namespace {

namespace fs = std::filesystem;
using takt::file_replacement;
using takt_test::contents_of;
using takt_test::files_in;
using takt_test::write;
using testing::HasSubstr;
using testing::StartsWith;

// Calls a function that throws std::system_error. \return its code. The message names the file.
std::error_code error_of(const fs::path& file, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::system_error& e) {
    EXPECT_THAT(e.what(), StartsWith("takt::file_replacement: cannot "));
    EXPECT_THAT(e.what(), HasSubstr("'" + file.string() + "'"));
    return e.code();
  }
  return {};
}

mode_t mode_of(int descriptor) {
  struct stat found{};
  EXPECT_EQ(fstat(descriptor, &found), 0);
  return found.st_mode & 07777U;
}

mode_t mode_before_fchmod = 0;

}  // namespace

// The linker prefers this to the function of the C library.
// NOLINTNEXTLINE(bugprone-reserved-identifier): named as in the C library's header
extern "C" int fchmod(int __fd, mode_t __mode) {
  mode_before_fchmod = mode_of(__fd);
  return static_cast<int>(syscall(SYS_fchmod, __fd, __mode));
}

namespace {

class file_replacement_test : public testing::Test {
 protected:
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  [[nodiscard]] const fs::path& file() const { return file_; }
  // The only file beside those of the test.
  [[nodiscard]] fs::path temporary() const {
    for (const auto& entry : fs::directory_iterator(folder())) {
      if (entry.path().extension() == ".tmp") return entry.path();
    }
    return {};
  }

 private:
  takt_test::temporary_folder folder_;
  const fs::path file_ = folder_ / "words";
};

TEST_F(file_replacement_test, replaces_the_file_when_it_is_committed_and_not_before) {
  write(file(), "old");
  {
    file_replacement made(file());
    made.write("ne");
    made.write("w");
    made.sync();
    EXPECT_EQ(contents_of(file()), "old");
    EXPECT_FALSE(made.is_committed());
    EXPECT_EQ(made.target(), file());
    made.commit();
    EXPECT_TRUE(made.is_committed());
    EXPECT_EQ(contents_of(file()), "new");
  }
  EXPECT_EQ(contents_of(file()), "new");
  EXPECT_EQ(files_in(folder()), 1u);
}

TEST_F(file_replacement_test, leaves_all_as_it_was_without_a_commit) {
  write(file(), "old");
  file_replacement(file()).write("new");
  EXPECT_EQ(contents_of(file()), "old");
  EXPECT_EQ(files_in(folder()), 1u);
  file_replacement(folder() / "other").write("new");
  EXPECT_EQ(files_in(folder()), 1u);
}

TEST_F(file_replacement_test, writes_more_than_its_buffer_holds) {
  std::string all;
  file_replacement made(file());
  for (int i = 0; i < 300; ++i) {
    const std::string some(1000, static_cast<char>('a' + i % 26));
    made.write(some);
    all += some;
  }
  made.write(all);
  made.commit();
  EXPECT_EQ(contents_of(file()), all + all);
}

TEST_F(file_replacement_test, has_the_mode_of_the_old_file_from_the_start) {
  const mode_t before = umask(022);
  for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0666}, mode_t{0400}}) {
    write(file(), "old");
    ASSERT_EQ(chmod(file().c_str(), mode), 0);
    file_replacement made(file());
    EXPECT_EQ(mode_of(made.descriptor()), mode);
    made.commit();
    EXPECT_EQ(mode_of(made.descriptor()), mode);
    fs::remove(file());
  }
  umask(027);
  EXPECT_EQ(mode_of(file_replacement(file()).descriptor()), mode_t{0640});
  umask(before);
}

TEST_F(file_replacement_test, has_the_owner_of_the_old_file) {
  write(file(), "old");
  if (chown(file().c_str(), 12'345, 54'321) != 0) GTEST_SKIP() << "only root can test this";
  file_replacement made(file());
  made.commit();
  struct stat found{};
  ASSERT_EQ(stat(file().c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, uid_t{12'345});
  EXPECT_EQ(found.st_gid, gid_t{54'321});
}

TEST_F(file_replacement_test, replaces_the_file_that_a_link_names) {
  fs::create_directory(folder() / "deep");
  write(folder() / "deep" / "real", "old");
  fs::create_symlink("deep/second", file());
  fs::create_symlink(folder() / "deep" / "real", folder() / "deep" / "second");
  const auto replace_by = [&](const std::string& text) {
    file_replacement made(file());
    EXPECT_EQ(made.target(), folder() / "deep" / "real");
    made.write(text);
    made.commit();
    EXPECT_TRUE(fs::is_symlink(file()));
    EXPECT_TRUE(fs::is_symlink(folder() / "deep" / "second"));
    EXPECT_FALSE(fs::is_symlink(folder() / "deep" / "real"));
    EXPECT_EQ(contents_of(folder() / "deep" / "real"), text);
  };
  replace_by("new");
  fs::remove(folder() / "deep" / "real");  // a dangling link
  replace_by("newer");
}

TEST_F(file_replacement_test, refuses_what_is_no_file) {
  fs::create_directory(file());
  EXPECT_EQ(error_of(file(), [&] { file_replacement{file()}; }), std::errc::is_a_directory);
  EXPECT_EQ(error_of(file() / "", [&] { file_replacement{file() / ""}; }),
            std::errc::is_a_directory);
  fs::remove(file());
  fs::create_symlink(file(), file());
  EXPECT_EQ(error_of(file(), [&] { file_replacement{file()}; }),
            std::errc::too_many_symbolic_link_levels);
  fs::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(error_of(file(), [&] { file_replacement{file()}; }), std::errc::invalid_argument);
  EXPECT_EQ(error_of("/dev/null", [] { file_replacement{"/dev/null"}; }),
            std::errc::invalid_argument);
  const fs::path nowhere = folder() / "nowhere" / "words";
  EXPECT_EQ(error_of(nowhere, [&] { file_replacement{nowhere}; }),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(files_in(folder()), 1u);
}

TEST_F(file_replacement_test, of_one_file_at_the_same_time_do_not_meet) {
  const auto one = std::make_unique<file_replacement>(file());
  auto two = std::make_unique<file_replacement>(file());
  auto three = std::make_unique<file_replacement>(file());
  one->write(std::string(100'000, '1'));
  two->write(std::string(200'000, '2'));
  three->write("3");
  two->commit();
  one->commit();
  EXPECT_EQ(contents_of(file()), std::string(100'000, '1'));
  two.reset();
  three.reset();
  EXPECT_EQ(contents_of(file()), std::string(100'000, '1'));
  EXPECT_EQ(files_in(folder()), 1u);
}

TEST_F(file_replacement_test, removes_only_what_it_has_made) {
  std::optional<file_replacement> made(file());
  const fs::path name = temporary();
  EXPECT_THAT(name.filename().string(), testing::MatchesRegex("\\.words\\.[0-9a-f]{16}\\.tmp"));
  fs::remove(name);
  write(name, "somebody else's");
  made.reset();
  EXPECT_EQ(contents_of(name), "somebody else's");
}

TEST_F(file_replacement_test, belongs_to_its_process) {
  file_replacement made(file());
  made.write("new");
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    made.~file_replacement();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  made.commit();
  EXPECT_EQ(contents_of(file()), "new");
}

TEST_F(file_replacement_test, takes_the_longest_name_that_there_is) {
  const fs::path longest = folder() / std::string(255, 'x');
  file_replacement made(longest);
  made.write("new");
  made.commit();
  EXPECT_EQ(contents_of(longest), "new");
}

TEST_F(file_replacement_test, stays_in_its_folder) {
  const fs::path before = fs::current_path();
  fs::create_directory(folder() / "a");
  fs::current_path(folder() / "a");
  file_replacement made("words");
  fs::current_path(before);
  fs::rename(folder() / "a", folder() / "b");
  made.write("new");
  made.commit();
  EXPECT_EQ(contents_of(folder() / "b" / "words"), "new");
}

TEST_F(file_replacement_test, is_never_standard_output) {
  std::fflush(stdout);
  const int output = dup(STDOUT_FILENO);
  close(STDOUT_FILENO);
  {
    const file_replacement made(file());
    EXPECT_EQ(::write(STDOUT_FILENO, "200 a", 5), -1);
  }
  dup2(output, STDOUT_FILENO);
  close(output);
}

TEST_F(file_replacement_test, brings_the_file_and_its_name_to_the_disk) {
  file_replacement made(file());
  const takt_test::failing_disk disk({});
  made.commit();
  EXPECT_EQ(disk.syncs(), 2);
}

TEST_F(file_replacement_test, syncs_again_what_is_written_after_a_sync) {
  file_replacement made(file());
  const takt_test::failing_disk disk({});
  made.write("one");
  made.sync();
  made.sync();
  EXPECT_EQ(disk.syncs(), 1);
  made.write("two");
  made.commit();
  EXPECT_EQ(disk.syncs(), 3);  // the second one, and the folder
}

// The system creates the file, but has no descriptor above those of the standard streams for it.
TEST_F(file_replacement_test, leaves_no_file_behind_without_a_descriptor) {
  if (!takt::allocations_are_counted) GTEST_SKIP() << "sanitizers need descriptors themselves";
  std::fflush(stdout);
  const int output = dup(STDOUT_FILENO);
  const int lowest = fcntl(output, F_DUPFD, 3);
  close(lowest);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit one_more = before;
  one_more.rlim_cur = static_cast<rlim_t>(lowest) + 1;  // for the folder
  close(STDOUT_FILENO);
  setrlimit(RLIMIT_NOFILE, &one_more);
  const std::error_code error = error_of(file(), [&] { file_replacement{file()}; });
  setrlimit(RLIMIT_NOFILE, &before);
  dup2(output, STDOUT_FILENO);
  close(output);
  EXPECT_EQ(error, std::errc::too_many_files_open);
  EXPECT_EQ(files_in(folder()), 0u);
}

// After a failed fsync the next one may succeed although nothing is on the disk.
TEST_F(file_replacement_test, does_not_replace_anything_by_what_may_be_missing) {
  write(file(), "old");
  {
    file_replacement made(file());
    made.write("new");
    {
      const takt_test::failing_disk disk({.sync = true});
      EXPECT_EQ(error_of(file(), [&] { made.commit(); }), std::errc::io_error);
    }
    EXPECT_EQ(error_of(file(), [&] { made.commit(); }), std::errc::io_error);
    EXPECT_EQ(error_of(file(), [&] { made.write("x"); }), std::errc::io_error);
    EXPECT_FALSE(made.is_committed());
  }
  {
    file_replacement made(file());
    const takt_test::full_disk disk(1000);
    EXPECT_EQ(error_of(file(),
                       [&] {
                         made.write(std::string(1200, 'x'));
                         made.commit();
                       }),
              std::errc::file_too_large);
    EXPECT_EQ(error_of(file(), [&] { made.commit(); }), std::errc::io_error);
  }
  EXPECT_EQ(contents_of(file()), "old");
  EXPECT_EQ(files_in(folder()), 1u);
}

// After a failed commit() the caller has to start again with a new object.
TEST_F(file_replacement_test, commits_no_more_after_a_commit_that_failed) {
  write(file(), "old");
  file_replacement made(file());
  made.write("new");
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_EQ(error_of(file(), [&] { made.commit(); }), std::errc::is_a_directory);
  fs::remove(file());
  EXPECT_EQ(error_of(file(), [&] { made.commit(); }), std::errc::io_error);
  EXPECT_FALSE(fs::exists(file()));
}

// Between the creation of the file and the change of its mode.
TEST_F(file_replacement_test, is_private_before_it_has_the_mode_of_the_old_file) {
  const mode_t before = umask(0);
  write(file(), "old");
  ASSERT_EQ(chmod(file().c_str(), 0640), 0);
  mode_before_fchmod = 0;
  const file_replacement made(file());
  EXPECT_EQ(mode_before_fchmod, mode_t{0600});
  EXPECT_EQ(mode_of(made.descriptor()), mode_t{0640});
  umask(before);
}

}  // namespace
