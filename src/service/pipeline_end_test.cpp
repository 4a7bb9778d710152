// The end of pipelines: stop callbacks, and exceptions of their functions.
#include <memory>
#include <stdexcept>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <takt/base/detail/sync.hpp>
#include <takt/service/pipeline.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>

#include "../../tests/support/pools.hpp"

namespace {

using takt::outlet;
using takt::pipeline;
using takt::stage_failed;
using takt::sync::stop_callback;
using takt::sync::stop_token;
using takt_test::gate;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A stop callback destroys the pipeline within the call that has requested stop.
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

// Only the exception of push() ends a stage without an error, not an exception after it.
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

TEST(pipeline_end, an_error_after_somebody_has_asked_in_vain_is_told) {
  const takt_test::recording_hook hook;
  gate asked;
  {
    pipeline p =
        pipeline::from<int>([](outlet<int>& out) { out.push(7); }, {}, {.unhandled = &hook})
            .into([&](int) {
              asked.wait();
              throw std::runtime_error("later");
            });
    EXPECT_FALSE(p.error());
    asked.open();
    p.await_termination();
  }
  EXPECT_THAT(hook.unobserved(), ElementsAre(HasSubstr("stage 'stage 1' has failed: later")));
}

// error() can no longer be called.
TEST(pipeline_end, an_error_of_the_stage_that_has_destroyed_it_is_told) {
  const takt_test::recording_hook hook;
  takt::promise<void> end;  // destroyed with the stages
  const auto ended = end.get_future();
  std::unique_ptr<pipeline> p;
  gate made;
  p.reset(new pipeline(  // NOLINT: make_unique would have to move it
      pipeline::from<int>([](outlet<int>& out) { out.push(7); }, {}, {.unhandled = &hook})
          .into([&, kept = std::move(end)](int) {
            made.wait();
            EXPECT_FALSE(p->error());
            p.reset();
            throw std::runtime_error("too late");
          })));
  made.open();
  ended.wait();
  EXPECT_THAT(hook.unobserved(), ElementsAre(HasSubstr("stage 'stage 1' has failed: too late")));
  EXPECT_THAT(hook.uncaught(), IsEmpty());
}

}  // namespace
