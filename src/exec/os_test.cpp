#include "os.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/exec/thread_options.hpp>

namespace {

using takt::os::parse_cpu_max;

TEST(os, reads_the_limit_of_a_cgroup) {
  EXPECT_EQ(parse_cpu_max("200000 100000\n"), 2u);
  EXPECT_EQ(parse_cpu_max("100000 100000"), 1u);
  EXPECT_EQ(parse_cpu_max("150000 100000"), 2u);  // rounded up
  EXPECT_EQ(parse_cpu_max("100001 100000"), 2u);
  EXPECT_EQ(parse_cpu_max("1000 100000"), 1u);  // at least one
  EXPECT_EQ(parse_cpu_max("0 100000"), 1u);
}

TEST(os, takes_what_it_cannot_read_for_no_limit) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), 0u);
  EXPECT_EQ(parse_cpu_max(""), 0u);
  EXPECT_EQ(parse_cpu_max("200000"), 0u);
  EXPECT_EQ(parse_cpu_max("200000 "), 0u);
  EXPECT_EQ(parse_cpu_max("200000 max"), 0u);
  EXPECT_EQ(parse_cpu_max("200000 0"), 0u);
  EXPECT_EQ(parse_cpu_max("-1 100000"), 0u);
  EXPECT_EQ(parse_cpu_max("99999999999999999999 100000"), 0u);
}

TEST(os, pool_size_is_what_the_limits_leave) {
  const std::size_t size = takt::default_pool_size();
  EXPECT_GE(size, 1u);
  const auto within = [size](std::size_t limit) { return limit == 0 || size <= limit; };
  EXPECT_TRUE(within(takt::os::allowed_cpus()));
  EXPECT_TRUE(within(takt::os::cgroup_cpus()));
}

}  // namespace
