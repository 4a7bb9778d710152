#include <takt/task/unhandled.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/future.hpp>

namespace {

using takt::promise;

TEST(future, error_that_nobody_saw_goes_to_the_hook) {
  class counting final : public takt::unhandled_hook {
   public:
    void on_unhandled(takt::unhandled kind, const std::exception_ptr&) const noexcept override {
      ++(kind == takt::unhandled::unobserved ? unobserved : uncaught);
    }
    mutable int unobserved = 0;
    mutable int uncaught = 0;
  } hook;
  const takt::future_options options{.unhandled = &hook};
  const auto error = std::make_exception_ptr(std::runtime_error("no"));
  {
    promise<int> p(options);
    auto f = p.get_future();
    p.set_exception(error);
  }
  EXPECT_EQ(hook.unobserved, 1);
  {
    promise<int> p(options);
    static_cast<void>(p.get_future());
    p.set_exception(error);
  }
  EXPECT_EQ(hook.unobserved, 2) << "the future was destroyed before the error was set";
  {
    promise<int> p(options);
    auto f = p.get_future();
    p.set_exception(error);
    EXPECT_THROW(f.get(), std::runtime_error);
  }
  {
    promise<int> p(options);
    auto f = p.get_future();
    f.cancel();
    p.set_exception(error);
  }
  {
    const promise<int> broken_promise(options);
  }
  EXPECT_EQ(hook.unobserved, 2) << "retrieved, cancelled, or broken_promise";
  {
    promise<int> p(options);
    auto f = p.get_future().then([](int n) { return n; });
    p.set_exception(error);
  }
  EXPECT_EQ(hook.unobserved, 3) << "passed on, and not retrieved there; reported once";
  {
    promise<int> p(options);
    auto f = p.get_future().then([](int n) { return n; });
    p = promise<int>(options);
  }
  {
    promise<int> p(options);
    auto f = p.get_future().then([](int n) { return n; });
    f.cancel();
    p.set_exception(error);
  }
  EXPECT_EQ(hook.unobserved, 3) << "broken_promise, or too late";
  EXPECT_EQ(hook.uncaught, 0);
}

TEST(unhandled_hook, that_throws_ends_the_program) {
  class throwing final : public takt::unhandled_hook {
   public:
    void on_unhandled(takt::unhandled, const std::exception_ptr& error) const noexcept override {
      std::rethrow_exception(error);
    }
  };
  EXPECT_DEATH(
      {
        const throwing hook;
        promise<int> p({.unhandled = &hook});
        p.set_exception(std::make_exception_ptr(std::runtime_error("out of the hook")));
      },
      "out of the hook");
}

TEST(unhandled_hook, strict_ends_the_program_and_lenient_goes_on) {
  const auto error = std::make_exception_ptr(std::runtime_error("lost"));
  EXPECT_DEATH(takt::terminate_on_unhandled.on_unhandled(takt::unhandled::uncaught, error), "lost");
  testing::internal::CaptureStderr();
  takt::terminate_on_unhandled.on_unhandled(takt::unhandled::unobserved, error);
  takt::log_unhandled.on_unhandled(takt::unhandled::uncaught, error);
  takt::log_unhandled.on_unhandled(takt::unhandled::unobserved, std::make_exception_ptr(1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "takt: unobserved exception: lost\ntakt: uncaught exception: lost\n"
            "takt: unobserved exception\n");
}

}  // namespace
