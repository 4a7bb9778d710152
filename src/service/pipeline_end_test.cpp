// How pipelines end: by what they ask to stop, and by what their functions make of that.
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/sync.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/task/errors.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::outlet;
using takt::pipeline;
using takt::stage_failed;
using takt::sync::stop_callback;
using takt::sync::stop_token;
using takt_test::gate;
using testing::HasSubstr;

// A stop callback destroys it, within the call that has asked.
TEST(pipeline_end, may_be_its_destruction_by_what_is_asked_to_stop) {
  for (const bool at_once : {false, true}) {
    stop_token stop;
    gate begun;
    std::unique_ptr<pipeline> p(new pipeline(pipeline::from<int>([&](outlet<int>& out) {
                                               stop = out.stop();
                                               begun.open();
                                               for (;;) out.push(1);
                                             }).into([](int) {})));
    begun.wait();
    const stop_callback on_stop(stop, [&] { p.reset(); });
    if (at_once) {
      p->shutdown_and_cancel();
    } else {
      p->shutdown();
    }
    EXPECT_EQ(p, nullptr);
  }
}

// Only what push() throws ends a stage quietly: not an error that comes after it.
TEST(pipeline_end, an_error_after_a_push_that_was_refused_is_told) {
  const auto push_until_refused = [](outlet<int>& out) {
    try {
      for (;;) out.push(1);
    } catch (const takt::rejected&) {
      throw std::runtime_error("cannot save the rest");
    }
  };
  pipeline source = pipeline::from<int>(push_until_refused).into([](int) {});
  source.shutdown();
  try {
    source.join();
    ADD_FAILURE();
  } catch (const stage_failed& e) {
    EXPECT_THAT(e.what(), HasSubstr("stage 'source' has failed: cannot save the rest"));
  }

  gate begun;
  pipeline between = pipeline::from<int>([](outlet<int>& out) { out.push(1); })
                         .then<int>([&](const int&, outlet<int>& out) {
                           begun.open();
                           push_until_refused(out);
                         })
                         .into([](int) {});
  begun.wait();
  between.shutdown_and_cancel();
  EXPECT_THROW(between.join(), stage_failed);
  EXPECT_EQ(between.statistics()[1].failed, 1u);
  EXPECT_EQ(between.statistics()[1].cut_off, 0u);
}

}  // namespace
