#include <takt/service/file_work_list.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../tests/support/temporary_folder.hpp"
#include "failing_disk.hpp"
#include "work_record.hpp"

namespace {

using takt_test::failing_disk;

using takt::file_work_list;
using takt::work_counts;
using takt::work_item;
using takt::work_list_error;
using reason = takt::work_list_error::reason;
using testing::HasSubstr;

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// What opening it says, if it throws.
std::optional<work_list_error> refusal(const std::filesystem::path& file) {
  try {
    const file_work_list list(file);
  } catch (const work_list_error& e) {
    return e;
  }
  return std::nullopt;
}

class file_work_list_test : public testing::Test {
 protected:
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  // One record each: a, b, c are accepted; a is confirmed, with d; b is claimed.
  void fill() const {
    file_work_list list(file_);
    for (const char* key : {"a", "b", "c"}) list.accept({.key = key, .data = "of it"});
    static_cast<void>(list.claim());
    list.confirm("a", std::vector<work_item>{{"d"}});
    static_cast<void>(list.claim());
  }

  // Where each record begins, and the end.
  [[nodiscard]] std::vector<std::size_t> records() const { return records_of(contents_of(file_)); }
  [[nodiscard]] static std::vector<std::size_t> records_of(const std::string& bytes) {
    std::vector<std::size_t> at{takt::work_file_magic.size()};
    while (at.back() < bytes.size()) {
      const auto head = takt::work_record::read_header(std::string_view(bytes).substr(at.back()));
      at.push_back(at.back() + takt::work_record::header_size + head.length);
    }
    return at;
  }

 private:
  takt_test::temporary_folder folder_;
  std::filesystem::path file_ = folder_ / "list";
};

TEST(work_record, has_the_checksum_that_others_have) {
  EXPECT_EQ(takt::crc32("123456789"), 0xCBF4'3926u);
  EXPECT_EQ(takt::crc32(""), 0u);
}

TEST_F(file_work_list_test, goes_on_where_it_was) {
  fill();
  file_work_list list(file());
  EXPECT_EQ(list.recovery().dropped_records, 0u);
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .confirmed = 1}));
  EXPECT_EQ(list.claim(), (work_item{"b", "of it"}));  // was claimed, and not confirmed
  EXPECT_EQ(list.claim(), (work_item{"c", "of it"}));
  EXPECT_EQ(list.claim(), work_item{"d"});
  EXPECT_EQ(list.accept({.key = "a"}), 0u);
}

TEST_F(file_work_list_test, takes_a_file_of_which_only_the_name_is_there) {
  write(file(), "");
  EXPECT_EQ(refusal(file()), std::nullopt);
  write(file(), "takt wo");  // its maker was killed
  EXPECT_EQ(refusal(file()), std::nullopt);
  EXPECT_EQ(contents_of(file()), takt::work_file_magic);
}

// Whatever the length that is left of it: all whole records are there, and the rest is dropped.
TEST_F(file_work_list_test, drops_a_last_record_that_is_cut_short) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  ASSERT_EQ(at.size(), 5u);
  for (std::size_t length = at.front(); length < whole.size(); ++length) {
    write(file(), whole.substr(0, length));
    std::size_t records_left = 0;
    while (at[records_left + 1] <= length) ++records_left;
    const std::size_t torn = length - at[records_left];
    {
      file_work_list list(file());
      EXPECT_EQ(list.recovery().dropped_records, torn == 0 ? 0u : 1u) << length;
      EXPECT_EQ(list.recovery().dropped_bytes, torn) << length;
      EXPECT_EQ(list.counts().waiting, records_left) << length;
      EXPECT_EQ(list.accept({.key = "more"}), 1u);
    }
    file_work_list again(file());
    EXPECT_EQ(again.recovery().dropped_records, 0u) << length;
    EXPECT_EQ(again.counts().waiting, records_left + 1) << length;
  }
}

TEST_F(file_work_list_test, drops_what_a_power_cut_has_left) {
  fill();
  const std::string whole = contents_of(file());
  const std::size_t last = records()[3];
  std::vector<std::string> tails{std::string(5000, '\0')};  // room, and nothing in it
  tails.push_back(whole.substr(last));
  tails.back().back() = '\x55';  // the last block is missing
  for (const std::string& tail : tails) {
    write(file(), whole.substr(0, last) + tail);
    const file_work_list list(file());
    EXPECT_EQ(list.recovery().dropped_records, 1u);
    EXPECT_EQ(list.recovery().dropped_bytes, tail.size());
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .confirmed = 0}));
  }
}

// A page that did not get to the disk, though later ones did: nothing is changed, and the error
// tells how much is whole; that much is a list.
TEST_F(file_work_list_test, tells_what_is_whole_when_a_page_in_the_middle_is_missing) {
  constexpr std::size_t page = 4096;
  {
    file_work_list list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) {
      list.accept({.key = std::to_string(i), .data = std::string(300, 'x')});
    }
  }
  std::string bytes = contents_of(file());
  ASSERT_GT(bytes.size(), 3 * page);
  bytes.replace(page, page, page, '\0');
  write(file(), bytes);
  std::size_t whole = 0;  // where the record begins that reaches into the hole
  for (const std::size_t at : std::vector<std::size_t>{records_of(bytes.substr(0, page))}) {
    if (at < page) whole = at;
  }
  const auto told = refusal(file());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why(), reason::damaged);
  EXPECT_THAT(told->what(), HasSubstr("damaged at byte " + std::to_string(whole) + " of " +
                                      std::to_string(bytes.size())));
  EXPECT_THAT(told->what(), HasSubstr("shorten the file to " + std::to_string(whole) + " bytes"));
  EXPECT_EQ(contents_of(file()), bytes);

  std::filesystem::resize_file(file(), whole);
  file_work_list list(file());
  EXPECT_EQ(list.recovery().dropped_records, 0u);
  const std::size_t left = list.counts().waiting;
  EXPECT_GT(left, 5u);
  EXPECT_EQ(list.accept({.key = std::to_string(left - 1)}), 0u);
  EXPECT_EQ(list.accept({.key = std::to_string(left)}), 1u);  // found once more
}

// Each bit of all but the last record, in turn.
TEST_F(file_work_list_test, refuses_a_file_that_is_damaged_and_leaves_it_alone) {
  fill();
  const std::string whole = contents_of(file());
  const std::vector<std::size_t> at = records();
  for (std::size_t byte = at.front(); byte < at[at.size() - 2]; ++byte) {
    std::string bytes = whole;
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << byte % 8));
    write(file(), bytes);
    const auto told = refusal(file());
    ASSERT_TRUE(told) << byte;
    EXPECT_EQ(told->why(), reason::damaged) << byte;
    EXPECT_THAT(told->what(), HasSubstr(file().string()));
    EXPECT_THAT(told->what(), HasSubstr("damaged at byte"));
    EXPECT_EQ(contents_of(file()), bytes);
  }
}

TEST_F(file_work_list_test, refuses_records_that_contradict_each_other) {
  const auto with = [this](const std::function<void(takt::work_record&)>& say) {
    takt::work_record record;
    say(record);
    write(file(), std::string(takt::work_file_magic) + std::string(record.seal()));
    const auto told = refusal(file());
    return told ? std::optional(told->why()) : std::nullopt;
  };
  EXPECT_EQ(with([](auto& r) { r.add_accepted("a", ""); }), std::nullopt);
  EXPECT_EQ(with([](auto& r) { r.add_confirmed(0); }), reason::damaged);
  EXPECT_EQ(with([](auto& r) {
              r.add_accepted("a", "");
              r.add_accepted("a", "");
            }),
            reason::damaged);
  EXPECT_EQ(with([](auto& r) {
              r.add_done("a");
              r.add_confirmed(0);
            }),
            reason::damaged);
}

TEST_F(file_work_list_test, refuses_what_is_no_work_list_and_leaves_it_alone) {
  for (const std::string bytes : {"hello", "a long letter to somebody else", "takt work list 2"}) {
    write(file(), bytes);
    const auto told = refusal(file());
    ASSERT_TRUE(told) << bytes;
    EXPECT_EQ(told->why(), reason::foreign);
    EXPECT_EQ(contents_of(file()), bytes);
  }
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  ASSERT_TRUE(refusal(file()));
  EXPECT_EQ(refusal(file())->why(), reason::foreign);
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  EXPECT_EQ(refusal(file())->why(), reason::foreign);
}

TEST_F(file_work_list_test, says_why_a_file_cannot_be_opened) {
  const auto told = refusal(file() / "list");  // in a folder that is not there
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why(), reason::failed);
  EXPECT_THAT(told->what(), HasSubstr("No such file or directory"));
}

// A process without an output must not print into it.
TEST_F(file_work_list_test, is_not_taken_for_the_output) {
  std::fflush(stdout);
  const int output = dup(STDOUT_FILENO);
  close(STDOUT_FILENO);
  {
    const file_work_list list(file());
    EXPECT_EQ(::write(STDOUT_FILENO, "200 a", 5), -1);
  }
  dup2(output, STDOUT_FILENO);
  close(output);
}

TEST_F(file_work_list_test, belongs_to_one_at_a_time) {
  std::optional<file_work_list> list(file());
  const auto told = refusal(file());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->why(), reason::in_use);
  list.reset();
  EXPECT_EQ(refusal(file()), std::nullopt);
}

// While it exists, no file of this process becomes longer than that.
class full_disk {
 public:
  explicit full_disk(std::uint64_t size) : on_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = size, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~full_disk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, on_signal_);
  }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;

 private:
  rlimit before_{};
  void (*on_signal_)(int);
};

TEST_F(file_work_list_test, keeps_what_it_had_when_the_disk_is_full) {
  fill();
  const std::string whole = contents_of(file());
  {
    file_work_list list(file());
    ASSERT_EQ(list.claim()->key, "b");
    {
      const full_disk full(whole.size() + 7);  // the first bytes of a record fit
      for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(list.accept({.key = "e"}), work_list_error);
        EXPECT_THROW(list.confirm("b", std::vector<work_item>{{"f"}}), work_list_error);
      }
      EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .confirmed = 1}));
      EXPECT_EQ(contents_of(file()), whole);
    }
    // There is room again.
    EXPECT_EQ(list.accept({.key = "e"}), 1u);
    EXPECT_EQ(list.confirm("b", std::vector<work_item>{{"f"}, {"e"}}), 1u);
    for (const char* key : {"c", "d", "e"}) EXPECT_EQ(list.claim()->key, key);
    list.confirm("e");  // by its number, which the failures have not changed
  }
  const file_work_list list(file());
  EXPECT_EQ(list.unconfirmed(), (std::vector<work_item>{{"c", "of it"}, {"d"}, {"f"}}));
}

// Nobody knows what is on the disk then: it takes no more until it is opened again.
TEST_F(file_work_list_test, takes_no_more_after_a_sync_that_failed) {
  fill();
  const auto refused = [](auto call) -> std::string {
    try {
      call();
    } catch (const work_list_error& e) {
      EXPECT_EQ(e.why(), reason::failed);
      return e.what();
    }
    return "nothing";
  };
  {
    file_work_list list(file());
    ASSERT_EQ(list.claim()->key, "b");
    {
      const failing_disk disk({.sync = true});
      EXPECT_THAT(refused([&] { list.accept({.key = "e"}); }), HasSubstr("Input/output error"));
    }
    EXPECT_THAT(refused([&] { list.accept({.key = "e"}); }), HasSubstr("open it again"));
    EXPECT_THAT(refused([&] { list.confirm("b"); }), HasSubstr("open it again"));
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 1, .confirmed = 1}));
    list.give_back("b");  // that is in memory
  }
  file_work_list list(file());
  EXPECT_EQ(list.counts().confirmed, 1u);
  list.accept({.key = "f"});
}

// A record that is there in part, and stays: what comes later must not be written behind it.
TEST_F(file_work_list_test, takes_no_more_if_what_was_written_cannot_be_taken_back) {
  fill();
  const std::string whole = contents_of(file());
  {
    file_work_list list(file());
    {
      const full_disk full(whole.size() + 7);
      const failing_disk disk({.truncate = true});
      EXPECT_THROW(list.accept({.key = "e"}), work_list_error);
    }
    EXPECT_THROW(list.accept({.key = "e"}), work_list_error);
    EXPECT_EQ(contents_of(file()).size(), whole.size() + 7);
  }
  const file_work_list list(file());
  EXPECT_EQ(list.recovery().dropped_bytes, 7u);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 3, .claimed = 0, .confirmed = 1}));
}

// What is returned from is on the disk: so a disk that cannot sync is seen, unless nobody asked.
TEST_F(file_work_list_test, syncs_when_it_is_told_to) {
  {
    const failing_disk disk({.sync = true});
    for (int i = 0; i < 2; ++i) {  // its name and its header; and what could not be synced before
      const auto told = refusal(file());
      ASSERT_TRUE(told);
      EXPECT_EQ(told->why(), reason::failed);
    }
  }
  fill();
  {
    const failing_disk disk({.sync = true});
    file_work_list list(file(), {.sync = takt::work_sync::at_close});
    EXPECT_EQ(list.accept({.key = "e"}), 1u);
    EXPECT_EQ(disk.syncs(), 0);
    list.confirm(list.claim()->key);
    EXPECT_EQ(disk.syncs(), 0);
  }
  file_work_list list(file());
  const failing_disk disk({});
  list.accept({.key = "f"});
  EXPECT_EQ(disk.syncs(), 1);
  list.confirm(list.claim()->key);
  EXPECT_EQ(disk.syncs(), 2);
}

TEST_F(file_work_list_test, is_written_anew_when_most_of_it_is_over) {
  {
    file_work_list list(file());
    for (int i = 0; i < 100; ++i) {
      list.accept({.key = std::to_string(i), .data = std::string(100, 'x')});
    }
    for (int i = 0; i < 98; ++i) list.confirm(list.claim()->key);
  }
  const auto before = std::filesystem::file_size(file());
  {
    const file_work_list list(file());
    EXPECT_FALSE(list.recovery().compacted);  // it is small
  }
  std::filesystem::permissions(
      file(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  {
    file_work_list list(file(), {.compact_above = 1000});
    EXPECT_TRUE(list.recovery().compacted);
    EXPECT_LT(std::filesystem::file_size(file()), before / 5);
    EXPECT_EQ(refusal(file())->why(), reason::in_use);  // the new one is locked
    EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .confirmed = 98}));
    EXPECT_EQ(list.accept({.key = "0"}), 0u);
    EXPECT_EQ(list.accept({.key = "100"}), 1u);
    EXPECT_EQ(list.claim()->key, "98");
    list.confirm("98");
  }
  EXPECT_EQ(std::filesystem::status(file()).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  file_work_list list(file(), {.compact_above = 1000});
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts(), (work_counts{.waiting = 2, .claimed = 0, .confirmed = 99}));
  EXPECT_EQ(list.claim(), (work_item{"99", std::string(100, 'x')}));
  EXPECT_EQ(list.claim(), work_item{"100"});
}

TEST_F(file_work_list_test, stays_as_it_is_if_there_is_no_room_to_write_it_anew) {
  {
    file_work_list list(file(), {.sync = takt::work_sync::at_close});
    for (int i = 0; i < 100; ++i) {
      list.accept({.key = std::to_string(i), .data = std::string(100, 'x')});
      list.confirm(list.claim()->key);
    }
  }
  const std::string whole = contents_of(file());
  const full_disk full(500);
  const file_work_list list(file(), {.compact_above = 1000});
  EXPECT_FALSE(list.recovery().compacted);
  EXPECT_EQ(list.counts().confirmed, 100u);
  EXPECT_EQ(contents_of(file()), whole);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(file().parent_path())) {
    static_cast<void>(entry);
    ++files;
  }
  EXPECT_EQ(files, 1u);
}

// Nothing that was acknowledged is lost: what a child has told through a pipe is in the file.
TEST_F(file_work_list_test, survives_a_process_that_is_killed) {
  int told[2] = {-1, -1};
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    file_work_list list(file(), {.sync = takt::work_sync::at_close});
    list.accept({.key = "0"});
    for (std::uint32_t i = 0;; ++i) {
      list.confirm(list.claim()->key, std::vector<work_item>{{std::to_string(i + 1)}});
      if (::write(told[1], &i, sizeof i) != sizeof i) _exit(1);
    }
  }
  ::close(told[1]);
  std::uint32_t last = 0;
  while (last < 200 && ::read(told[0], &last, sizeof last) == sizeof last) {
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (::read(told[0], &last, sizeof last) == sizeof last) {
  }
  ::close(told[0]);
  EXPECT_GE(last, 200u);
  file_work_list list(file());
  EXPECT_GE(list.counts().confirmed, last + 1);
  EXPECT_EQ(list.counts().waiting, 1u);
  EXPECT_EQ(list.claim()->key, std::to_string(list.counts().confirmed));
}

}  // namespace
