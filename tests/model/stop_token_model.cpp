// The shim's stop tokens behave like the standard's.
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include <takt/base/detail/sync.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

TEST(stop_token_model, callback_runs_exactly_once) {
  check({.runs = 5'000}, [] {
    sync::stop_source source;
    sync::atomic<int> calls{0};
    sync::atomic<int> first{0};
    sync::thread a([&] { first.fetch_add(source.request_stop() ? 1 : 0); });
    sync::thread b([&] { first.fetch_add(source.request_stop() ? 1 : 0); });
    {
      const sync::stop_callback callback(source.get_token(), [&] { calls.fetch_add(1); });
      a.join();
      b.join();
    }
    require(first.load() == 1, "one of the requests is the first");
    require(calls.load() == 1, "registered before or after: called once");
  });
}

TEST(stop_token_model, destructor_waits_for_a_running_callback) {
  check({.runs = 5'000}, [] {
    sync::stop_source source;
    auto alive = std::make_unique<sync::var<int>>(0);
    sync::thread other([&] { source.request_stop(); });
    {
      const sync::stop_callback callback(source.get_token(), [&] { ++alive->write(); });
    }
    alive.reset();  // no longer used
    other.join();
  });
}

TEST(stop_token_model, callback_may_end_its_own_life) {
  check({.runs = 1'000}, [] {
    sync::stop_source source;
    int calls = 0;
    struct ender {
      std::optional<sync::stop_callback<ender>>* self;
      int* calls;
      void operator()() const {
        ++*calls;
        self->reset();
      }
    };
    std::optional<sync::stop_callback<ender>> callback;
    callback.emplace(source.get_token(), ender{&callback, &calls});
    require(source.request_stop(), "the first request");
    require(calls == 1 && !callback.has_value(), "it ran and is gone");
  });
}

TEST(stop_token_model, wait_ends_by_a_stop_request) {
  check({.runs = 5'000}, [] {
    sync::stop_source source;
    sync::mutex mu;
    sync::condition_variable_any cv;
    sync::thread other([&] { source.request_stop(); });
    {
      std::unique_lock lock(mu);
      require(!cv.wait(lock, source.get_token(), [] { return false; }), "ended by the request");
    }
    other.join();
  });
}

TEST(stop_token_model, request_publishes_what_precedes_it) {
  check({.runs = 2'000}, [] {
    sync::stop_source source;
    sync::var<int> data{0};
    sync::thread other([&] {
      data.write() = 1;
      source.request_stop();
    });
    if (source.get_token().stop_requested()) require(data.read() == 1, "seen with the request");
    other.join();
  });
}

TEST(stop_token_model, state_lives_as_long_as_anybody_needs_it) {
  check({.runs = 2'000}, [] {
    auto source = std::make_unique<sync::stop_source>();
    sync::thread other(
        [token = source->get_token()] { static_cast<void>(token.stop_requested()); });
    static_cast<void>(source->stop_requested());
    source.reset();
    other.join();
  });
}

TEST(stop_token_model, wait_ends_by_its_deadline_with_the_condition) {
  check({.runs = 2'000}, [] {
    sync::stop_source source;
    sync::mutex mu;
    sync::condition_variable_any cv;
    std::unique_lock lock(mu);
    const auto deadline = sync::clock::now() + std::chrono::seconds(1);
    const bool done = cv.wait_until(lock, source.get_token(), deadline,
                                    [&] { return sync::clock::now() >= deadline; });
    require(done, "what the condition says in the end");
  });
}

TEST(stop_token_model, possible_and_requested) {
  check({.runs = 1}, [] {
    sync::stop_token none;
    require(!none.stop_possible() && !none.stop_requested(), "no state");
    sync::stop_source without(sync::nostopstate);
    require(!without.stop_possible() && !without.request_stop(), "no state either");
    std::optional<sync::stop_source> source(std::in_place);
    const sync::stop_token token = source->get_token();
    require(token.stop_possible() && !token.stop_requested(), "fresh");
    const sync::stop_source copy(*source);
    require(copy == *source, "copies share");
    source.reset();
    require(token.stop_possible(), "a source is left");
    {
      sync::stop_source last(copy);
      last.request_stop();
    }
    require(token.stop_requested() && token.stop_possible(), "stays requested");
    int calls = 0;
    const sync::stop_callback late(token, [&] { ++calls; });
    require(calls == 1, "called at once");
  });
}

}  // namespace
