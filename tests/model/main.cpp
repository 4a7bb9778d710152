#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include <gtest/gtest.h>

#include "support.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TAKT_TESTS_LSAN 1
#endif
#endif

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string text = environment(name);
  if (text.empty()) return otherwise;
  if (text.find_first_not_of("0123456789") != std::string::npos || text.size() > 18) {
    std::cerr << name << "='" << text << "': a decimal number is expected\n";
    std::exit(2);
  }
  return std::stoull(text);
}

// The name of a check, suite.case or suite.case#n, with which its tokens begin.
std::string test_name(int ordinal) {
  const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  if (ordinal > 1) name += "#" + std::to_string(ordinal);
  return name;
}

int checks_in_this_test = 0;
bool replayed = false;

class count_checks : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { checks_in_this_test = 0; }
};

}  // namespace

takt::model::result check(takt::model::options opts, const std::function<void()>& body) {
  const std::string name = test_name(++checks_in_this_test);
  const std::uint64_t runs = number("TAKT_MODEL_RUNS", opts.runs);
  const bool curtailed = runs < opts.runs;
  opts.runs = runs;
  opts.seed = number("TAKT_MODEL_SEED", opts.seed);
  const std::string token = environment("TAKT_MODEL_TOKEN");
  if (!token.empty()) {
    const std::size_t at = token.find('@');
    if (token.substr(0, at) != name) return {};
    opts.token = token.substr(at + 1);
    replayed = true;
  }
  takt::model::result r = takt::model::explore(opts, body);
  if (r.failure) {
    r.failure->token = name + "@" + r.failure->token;
    ADD_FAILURE() << r;
  } else if (opts.how == takt::model::strategy::exhaustive && !r.complete && !curtailed &&
             token.empty()) {
    ADD_FAILURE() << "not exhausted within " << r;
  } else if (!token.empty()) {
    std::cout << "replayed " << token << ": the run passes\n";
  }
  return r;
}

takt::model::result find(const takt::model::options& opts, const std::function<void()>& body) {
#if defined(TAKT_TESTS_LSAN)
  const __lsan::ScopedDisabler abandoned_stacks;  // memory of a failed run is not a leak
#endif
  return takt::model::explore(opts, body);
}

// Abandoned stacks would keep ASan's fake stacks alive.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new count_checks);
  const int status = RUN_ALL_TESTS();
  if (testing::GTEST_FLAG(list_tests)) return status;
  const std::string token = environment("TAKT_MODEL_TOKEN");
  if (!token.empty() && !replayed) {
    std::cerr << "no check has the name that the token '" << token << "' begins with\n";
    return 1;
  }
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "no test matches '" << testing::GTEST_FLAG(filter) << "'\n";
    return 1;
  }
  return status;
}
