// java.util.concurrent's ThreadPoolExecutorTest, with its names: constructors. Java has four; here
// thread hooks and the policy are ordinary options.
#include <chrono>
#include <stdexcept>

#include <gtest/gtest.h>

#include <takt/exec/thread_pool.hpp>

namespace {

using namespace std::chrono_literals;
using takt::rejection;
using takt::rejection_policy;
using takt::task;
using takt::thread_pool;
using takt::thread_pool_options;

// A negative size does not compile.
template <int Core, int Max>
constexpr bool sizes_compile =
    requires { thread_pool_options{.core_threads = Core, .max_threads = Max}; };
static_assert(sizes_compile<1, 2>);

thread_pool_options plain() {
  return {.core_threads = 1, .max_threads = 2, .keep_alive = 1s, .queue_capacity = 10};
}
thread_pool_options with_threads() {
  auto how = plain();
  how.thread.on_start = [] {};
  return how;
}
thread_pool_options with_policy() {
  auto how = plain();
  how.rejection = rejection_policy::call([](const task&, rejection) {});
  return how;
}
thread_pool_options with_both() {
  auto how = with_threads();
  how.rejection = with_policy().rejection;
  return how;
}

void expect_invalid(const thread_pool_options& how) {
  EXPECT_THROW(thread_pool{how}, std::invalid_argument);
}
void expect_negative_keep_alive_is_invalid(thread_pool_options how) {
  how.keep_alive = -1s;
  expect_invalid(how);
}
void expect_core_above_max_is_invalid(thread_pool_options how) {
  EXPECT_NO_THROW(thread_pool{how});
  how.core_threads = 2;
  how.max_threads = 1;
  expect_invalid(how);
}

TEST(ThreadPoolExecutorTest, testConstructor1) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor2) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor4) { expect_negative_keep_alive_is_invalid(plain()); }
TEST(ThreadPoolExecutorTest, testConstructor5) { expect_core_above_max_is_invalid(plain()); }
TEST(ThreadPoolExecutorTest, testConstructor6) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor7) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor9) {
  expect_negative_keep_alive_is_invalid(with_threads());
}
TEST(ThreadPoolExecutorTest, testConstructor10) {
  expect_core_above_max_is_invalid(with_threads());
}
TEST(ThreadPoolExecutorTest, testConstructor11) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor12) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor14) {
  expect_negative_keep_alive_is_invalid(with_policy());
}
TEST(ThreadPoolExecutorTest, testConstructor15) { expect_core_above_max_is_invalid(with_policy()); }
TEST(ThreadPoolExecutorTest, testConstructor16) { EXPECT_FALSE((sizes_compile<-1, 1>)); }
TEST(ThreadPoolExecutorTest, testConstructor17) { EXPECT_FALSE((sizes_compile<1, -1>)); }
TEST(ThreadPoolExecutorTest, testConstructor19) {
  expect_negative_keep_alive_is_invalid(with_both());
}
TEST(ThreadPoolExecutorTest, testConstructor20) { expect_core_above_max_is_invalid(with_both()); }

void expect_empty_handler_is_invalid(thread_pool_options how) {
  EXPECT_THROW(how.rejection = rejection_policy::call(rejection_policy::handler()),
               std::invalid_argument);
}

TEST(ThreadPoolExecutorTest, testConstructorNullPointerException5) {
  expect_empty_handler_is_invalid(plain());
}
TEST(ThreadPoolExecutorTest, testConstructorNullPointerException7) {
  expect_empty_handler_is_invalid(with_threads());
}

}  // namespace
