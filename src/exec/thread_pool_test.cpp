#include <takt/exec/thread_pool.hpp>

#include <gtest/gtest.h>

namespace {

TEST(thread_pool, runs_what_is_submitted) {
  takt::thread_pool pool{{.core = 2}};
  EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
}

}  // namespace
