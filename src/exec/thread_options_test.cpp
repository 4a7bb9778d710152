#include <takt/exec/thread_options.hpp>

#include <gtest/gtest.h>

#include "../base/os.hpp"

namespace {

TEST(thread_options, the_default_pool_size_is_within_the_limits_of_the_process) {
  const std::size_t size = takt::default_pool_size();
  EXPECT_GE(size, 1u);
  const auto within = [size](std::size_t limit) { return limit == 0 || size <= limit; };
  EXPECT_TRUE(within(takt::os::allowed_cpus()));
  EXPECT_TRUE(within(takt::os::cgroup_cpus()));
}

}  // namespace
