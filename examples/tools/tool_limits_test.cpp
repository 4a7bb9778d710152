#include "tool_limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tool.hpp"

namespace {

using tool::parallel_limit;

constexpr std::size_t for_the_program = 16;

// Keeps files open during a test.
class open_files {
 public:
  explicit open_files(std::size_t count) {
    while (files_.size() < count) files_.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  ~open_files() {
    for (const int file : files_) close(file);
  }
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

 private:
  std::vector<int> files_;
};

TEST(free_descriptors, leaves_out_open_files_and_those_of_the_program) {
  const std::size_t before = tool::free_descriptors();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max) << "it is raised";
  EXPECT_LE(before + 3 + for_the_program, std::min<std::size_t>(limit.rlim_cur, 1'000'000));
  const open_files some(20);
  EXPECT_EQ(tool::free_descriptors(), before - 20);
}

TEST(parallel_limit, is_what_is_wanted_or_possible) {
  const std::size_t possible = tool::free_descriptors() / 2;
  const tool::parallel_work work{"checking", "hosts", "--parallel", 2};
  EXPECT_EQ(parallel_limit(work, 5, false), 5U);
  EXPECT_EQ(parallel_limit(work, possible, true), possible);
  EXPECT_EQ(parallel_limit(work, possible + 1, false), possible);
  EXPECT_THROW(parallel_limit(work, possible + 1, true), tool::misuse);
  EXPECT_THROW(parallel_limit({"", "", "", possible * 4}, 1, false), tool::misuse);
}

}  // namespace
