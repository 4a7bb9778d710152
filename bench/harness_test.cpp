#include "harness.hpp"

#include <array>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "statistics.hpp"

namespace bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Returns the same number in every run, and records that it ran.
competitor constant(const std::string& name, double value, std::string* calls = nullptr) {
  return {name, [=](const request&) -> numbers {
            if (calls != nullptr) *calls += name[0];
            return {value};
          }};
}

workload small(std::vector<competitor> competitors) {
  return {.id = "small",
          .title = "A small one",
          .metrics = {{"time", "ns"}},
          .competitors = std::move(competitors)};
}

workload_result run_quietly(const workload& what, const run_options& options = {}) {
  std::ostringstream log;
  progress shown(log, false, 1);
  return run(what, options, shown);
}

TEST(statistics, quantiles_interpolate) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.25), 12.5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.99), 7);
}

TEST(statistics, ratio_is_taken_within_each_round) {
  // The machine is ten times slower in the last round, for both.
  const auto ratio = paired_ratio({10, 10, 100}, {20, 20, 200}, better::lower);
  EXPECT_EQ(ratio, (spread{.low = 2, .median = 2, .high = 2}));
  EXPECT_EQ(paired_ratio({10}, {20}, better::higher), (spread{0.5, 0.5, 0.5}));
}

TEST(statistics, no_ratio_without_something_to_divide) {
  EXPECT_EQ(paired_ratio({}, {}, better::lower), std::nullopt);
  EXPECT_EQ(paired_ratio({1, 0}, {1, 1}, better::lower), std::nullopt);
  EXPECT_EQ(paired_ratio({1, 1}, {1, -1}, better::lower), std::nullopt);
}

TEST(harness, every_round_runs_every_competitor_once_in_changing_order) {
  std::string calls;
  const auto result =
      run_quietly(small({constant("a", 1, &calls), constant("b", 2, &calls)}), {.rounds = 7});
  ASSERT_THAT(calls, SizeIs(2 * (7 + 1)));  // including the warm-up
  bool a_was_first = false;
  bool b_was_first = false;
  for (std::size_t i = 0; i < calls.size(); i += 2) {
    EXPECT_NE(calls[i], calls[i + 1]);
    (calls[i] == 'a' ? a_was_first : b_was_first) = true;
  }
  EXPECT_TRUE(a_was_first && b_was_first);
  EXPECT_THAT(result.cases.at(0).samples.at(1).at(0), SizeIs(7));
}

TEST(harness, settings_are_all_combinations) {
  workload what = small({{"a", [](const request& asked) -> numbers {
                            return {static_cast<double>(asked["x"] * 10 + asked["y"])};
                          }}});
  what.parameters = {{"x", {1, 2}}, {"y", {3, 4}, {5}}};
  const auto texts = [&](bool quick) {
    std::vector<std::string> found;
    for (const auto& at : run_quietly(what, {.rounds = 1, .quick = quick}).cases) {
      found.push_back(to_string(at.parameters));
    }
    return found;
  };
  EXPECT_THAT(texts(false), ElementsAre("x=1 y=3", "x=1 y=4", "x=2 y=3", "x=2 y=4"));
  EXPECT_THAT(texts(true), ElementsAre("x=1 y=5", "x=2 y=5"));
  EXPECT_DOUBLE_EQ(run_quietly(what, {.rounds = 1}).cases[3].samples[0][0][0], 24);
}

TEST(harness, unknown_parameter_is_an_error) {
  EXPECT_THROW(static_cast<void>(request{}["missing"]), std::out_of_range);
}

TEST(harness, an_unavailable_competitor_is_skipped_with_its_reason) {
  workload what =
      small({constant("a", 1),
             {"b", [](const request&) -> numbers { throw unavailable("not installed"); }}});
  what.bars = {{.subject = "a", .at_least = 2, .of = "b"}};
  const auto result = run_quietly(what);
  EXPECT_EQ(result.skipped.at("b"), "not installed");
  EXPECT_THAT(result.cases.at(0).samples.at(1), SizeIs(0));
  const auto verdicts = check(result);
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_FALSE(verdicts[0].measured);

  std::ostringstream table;
  write_table(result, table);
  EXPECT_THAT(table.str(), HasSubstr("skipped: not installed"));
}

TEST(harness, wrong_numbers_are_an_error) {
  const auto returning = [](const numbers& value) {
    return small({{"a", [=](const request&) { return value; }}});
  };
  EXPECT_THROW(run_quietly(returning({})), std::logic_error);
  EXPECT_THROW(run_quietly(returning({1, 2})), std::logic_error);
  EXPECT_THROW(run_quietly(returning({std::numeric_limits<double>::infinity()})), std::logic_error);
}

TEST(harness, twin_runs_the_reference_against_itself) {
  const auto result = run_quietly(small({constant("a", 1)}), {.rounds = 1, .twin = true});
  EXPECT_EQ(result.what.competitors.at(1).name, "a_twin");
  EXPECT_DOUBLE_EQ(result.cases[0].samples[1][0][0], 1);
}

TEST(harness, progress_is_a_line_per_round_or_per_workload) {
  workload what = small({constant("a", 1)});
  what.parameters = {{"n", {1, 2}}};
  const auto shown = [&](bool live) {
    std::ostringstream log;
    {
      progress said(log, live, 3);
      run(small({constant("a", 1)}), {.rounds = 2}, said);
      run(what, {.rounds = 1}, said);
      run(what, {.rounds = 1}, said);
    }
    return log.str();
  };
  EXPECT_EQ(shown(false), "0:00  1 of 3: small\n0:00  2 of 3: small\n0:00  3 of 3: small\n");
  const std::string over = "\r\033[K";  // return to the start of the line, and clear it
  std::string expected;
  for (const char* round : {"warming up", "round 1 of 2", "round 2 of 2"}) {
    expected += over + "0:00  1 of 3: small, " + round;
  }
  for (const char* number : {"2", "3"}) {
    expected += over;
    for (const char* setting : {"n=1 (1 of 2)", "n=2 (2 of 2)"}) {
      for (const char* round : {"warming up", "round 1 of 1"}) {
        expected += over + "0:00  " + number + " of 3: small " + setting + ", " + round;
      }
    }
  }
  EXPECT_EQ(shown(true), expected + over + over);  // after the last workload, and at the end
}

TEST(harness, bars_hold_or_are_missed_by_the_ratio) {
  workload what = small({constant("slow", 30), constant("fast", 10)});
  what.parameters = {{"n", {1, 2}}};
  what.bars = {{.subject = "fast", .at_least = 3, .of = "slow", .where = {{"n", 2}}},
               {.subject = "fast", .at_least = 3.1, .of = "slow", .metric = "time"}};
  const auto verdicts = check(run_quietly(what));
  ASSERT_THAT(verdicts, SizeIs(3));
  EXPECT_EQ(verdicts[0].text, "small n=2, time: fast at least 3x ahead of slow");
  EXPECT_TRUE(verdicts[0].held);
  EXPECT_DOUBLE_EQ(verdicts[0].ratio, 3);
  EXPECT_FALSE(verdicts[1].held || verdicts[2].held);
}

TEST(harness, a_bar_may_be_a_limit) {
  workload what = small({constant("a", 40)});
  what.bars = {{.subject = "a", .at_most = 100}, {.subject = "a", .at_most = 39}};
  const auto verdicts = check(run_quietly(what));
  ASSERT_THAT(verdicts, SizeIs(2));
  EXPECT_EQ(verdicts[0].text, "small, time: a at most 100 ns");
  EXPECT_TRUE(verdicts[0].measured && verdicts[0].held);
  EXPECT_DOUBLE_EQ(verdicts[0].ratio, 2.5);
  EXPECT_FALSE(verdicts[1].held);

  what.bars = {{.subject = "a"}};
  EXPECT_THROW(check(run_quietly(what)), std::logic_error);
}

TEST(harness, of_a_peer_and_a_limit_one_is_enough) {
  workload what = small({constant("slow", 30), constant("fast", 10)});
  what.bars = {{.subject = "fast", .at_least = 2, .of = "slow", .at_most = 9},
               {.subject = "slow", .at_least = 2, .of = "fast", .at_most = 30},
               {.subject = "slow", .at_least = 2, .of = "fast", .at_most = 29}};
  const auto verdicts = check(run_quietly(what));
  ASSERT_THAT(verdicts, SizeIs(3));
  EXPECT_EQ(verdicts[0].text, "small, time: fast at least 2x ahead of slow, or at most 9 ns");
  EXPECT_TRUE(verdicts[0].held) << "by the ratio";
  EXPECT_TRUE(verdicts[1].held) << "by the limit";
  EXPECT_FALSE(verdicts[2].held);
}

TEST(harness, a_bar_may_be_a_limit_for_growth) {
  workload what = small({{"a", [](const request& asked) {
                            return numbers{static_cast<double>(10 + 5 * asked["n"])};
                          }}});
  what.parameters = {{"n", {0, 2}}};
  what.bars = {
      {.subject = "a", .at_most = 2.5, .where = {{"n", 2}}, .grown_from = {{"n", 0}}},
      {.subject = "a", .at_most = 1.9, .where = {{"n", 2}}, .grown_from = {{"n", 0}}},
      {.subject = "a", .at_most = 2, .where = {{"n", 2}}, .grown_from = {{"n", 1}}},
  };
  const auto verdicts = check(run_quietly(what));
  ASSERT_THAT(verdicts, SizeIs(3));
  EXPECT_EQ(verdicts[0].text, "small n=2, time: a at most 2.5x of n=0");
  EXPECT_TRUE(verdicts[0].measured && verdicts[0].held);
  EXPECT_DOUBLE_EQ(verdicts[0].ratio, 1.25);
  EXPECT_TRUE(verdicts[1].measured);
  EXPECT_FALSE(verdicts[1].held);
  EXPECT_FALSE(verdicts[2].measured) << "there is no such setting";
}

TEST(harness, bars_with_unknown_names_are_an_error) {
  workload what = small({constant("a", 1)});
  what.bars = {{.subject = "a", .of = "nobody"}};
  EXPECT_THROW(check(run_quietly(what)), std::logic_error);
  what.bars = {{.subject = "a", .of = "a", .metric = "nothing"}};
  EXPECT_THROW(check(run_quietly(what)), std::logic_error);
}

TEST(options, defaults_and_quick) {
  EXPECT_EQ(parse({}).run.rounds, 7);
  const std::array quick{"--quick", "--workload", "x,y-z", "--json", "f", "--check"};
  const command_line line = parse(quick);
  EXPECT_TRUE(line.run.quick && line.check);
  EXPECT_EQ(line.run.rounds, 3);
  EXPECT_THAT(line.workloads, ElementsAre("x", "y-z"));
  EXPECT_EQ(line.json_path, "f");
  const std::array both{"--rounds", "9", "--quick"};
  EXPECT_EQ(parse(both).run.rounds, 9);
}

TEST(options, what_is_not_understood_is_named) {
  const auto message = [](std::vector<const char*> arguments) -> std::string {
    try {
      parse(arguments);
    } catch (const bad_option& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({"--fast"}), "unknown option '--fast'");
  EXPECT_EQ(message({"--workload"}), "--workload needs a value");
  EXPECT_EQ(message({"--json", ""}), "--json needs a value");
  for (const char* rounds : {"0", "-1", "7x", "1001", "99999999999"}) {
    EXPECT_THAT(message({"--rounds", rounds}), HasSubstr("from 1 to 1000")) << rounds;
  }
}

TEST(options, workloads_are_chosen_by_their_whole_ids) {
  const auto chosen = [](const std::vector<std::string>& ids) {
    std::vector<workload> all(3);
    all[0].id = "churn";
    all[1].id = "churn-mt";
    all[2].id = "fire";
    std::string found;
    try {
      for (const workload& what : choose(all, ids)) found += what.id + ' ';
    } catch (const bad_option& error) {
      return std::string(error.what());
    }
    return found;
  };
  EXPECT_EQ(chosen({}), "churn churn-mt fire ");
  EXPECT_EQ(chosen({"churn"}), "churn ");
  EXPECT_EQ(chosen({"fire", "churn", "fire"}), "churn fire ") << "in their order, and once";
  EXPECT_EQ(chosen({"fire", "fir"}), "unknown workload 'fir'; there are: churn, churn-mt, fire");
  EXPECT_EQ(chosen({""}), "unknown workload ''; there are: churn, churn-mt, fire");
}

TEST(report, json_escapes_text_and_holds_every_sample) {
  workload what = small({constant("a \"quoted\" \\ name\n", 1.5)});
  std::ostringstream json;
  write_json({.cpu = "some"}, {.rounds = 2}, {run_quietly(what, {.rounds = 2})}, json);
  EXPECT_THAT(json.str(), HasSubstr(R"("a \"quoted\" \\ name\u000a")"));
  EXPECT_THAT(json.str(), HasSubstr(R"("samples": [1.5, 1.5])"));
}

TEST(report, json_has_the_versions_of_peers) {
  std::ostringstream json;
  write_json({.peers = {{"asio", "1.2"}, {"\"x\"", "3"}}}, {}, {}, json);
  EXPECT_THAT(json.str(), HasSubstr(R"("peers": {"\"x\"": "3", "asio": "1.2"})"));
}

TEST(report, takt_is_set_beside_the_best_peer_that_ran) {
  const auto written = [](better direction) {
    workload what = small({constant("naive", 30),
                           constant("takt::x", 10),
                           constant("takt::y", 5),
                           constant("peer", 20),
                           {"absent", [](const request&) -> numbers { throw unavailable("no"); }}});
    what.metrics[0].direction = direction;
    std::ostringstream json;
    write_json({}, {.rounds = 2}, {run_quietly(what, {.rounds = 2})}, json);
    return json.str();
  };
  const std::string lower = written(better::lower);
  EXPECT_THAT(lower,
              HasSubstr(R"("best_peer": {"name": "peer", "low": 2, "median": 2, "high": 2})"));
  EXPECT_THAT(lower,
              HasSubstr(R"("best_peer": {"name": "peer", "low": 4, "median": 4, "high": 4})"));
  EXPECT_THAT(lower, Not(HasSubstr(R"("best_peer": {"name": "peer", "low": 1)")))
      << "a peer is not set beside itself";
  EXPECT_THAT(written(better::higher), HasSubstr(R"("best_peer": {"name": "naive", "low": 0.333)"));
}

TEST(report, a_peer_at_zero_is_named_without_a_ratio) {
  std::ostringstream json;
  write_json({}, {.rounds = 1},
             {run_quietly(small({constant("peer", 0), constant("takt", 0)}), {.rounds = 1})}, json);
  EXPECT_THAT(json.str(), HasSubstr(R"("best_peer": {"name": "peer"}, "samples")"));
}

TEST(report, environment_is_filled_in) {
  const environment here = current_environment();
  EXPECT_FALSE(here.takt.empty() || here.compiler.empty() || here.cpu.empty());
  EXPECT_GE(here.cores, 1U);
  EXPECT_THAT(here.date, SizeIs(std::string("2000-01-01T00:00:00Z").size()));
}

}  // namespace
}  // namespace bench
