#include "os.hpp"

#include <gtest/gtest.h>

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

}  // namespace
