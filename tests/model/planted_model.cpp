#include <cstdint>

#include "planted.hpp"
#include "support.hpp"

namespace {

class planted : public testing::TestWithParam<planted_bug> {};

TEST_P(planted, bug_is_found_within_2000_runs) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto r = find({.runs = 2000, .seed = seed}, GetParam().bug);
    ASSERT_FALSE(r.clean()) << "seed " << seed << ": " << r;
    const auto again = find({.token = r.failure->token}, GetParam().bug);
    ASSERT_FALSE(again.clean()) << "the token does not replay: " << r;
    EXPECT_EQ(again.failure->message, r.failure->message);
    EXPECT_EQ(again.failure->trace, r.failure->trace);
  }
}

TEST_P(planted, twin_is_clean) { check({.runs = 10'000}, GetParam().twin); }

TEST_P(planted, bug_is_found_and_twin_is_clean_by_exhaustive_search) {
  const auto r = find({.runs = 100'000, .how = takt::model::strategy::exhaustive}, GetParam().bug);
  ASSERT_EQ(r.clean(), !GetParam().by_search);
  check({.runs = 100'000, .how = takt::model::strategy::exhaustive}, GetParam().twin);
  if (!r.failure) return;
  const auto again = find({.token = r.failure->token}, GetParam().bug);
  ASSERT_FALSE(again.clean());
  EXPECT_EQ(again.failure->trace, r.failure->trace);
}

INSTANTIATE_TEST_SUITE_P(model, planted, testing::ValuesIn(planted_bugs()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
