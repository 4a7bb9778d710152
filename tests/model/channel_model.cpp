// A channel under all interleavings: no value is lost, no thread waits for ever, and the end comes
// once.
#include <cstddef>
#include <list>
#include <utility>

#include <takt/base/detail/sync.hpp>
#include <takt/service/channel.hpp>
#include <takt/task/errors.hpp>

#include "support.hpp"

namespace {

using namespace takt;
using model::require;

template <class T>
void require_balance(const channel<T>& c) {
  const channel_statistics s = c.statistics();
  require(s.accepted == s.taken + s.discarded + s.queued, "the account balances");
  require(s.waiting == 0, "nobody waits");
}

TEST(channel_model, what_is_taken_happens_after_it_was_put_in) {
  check({.runs = 10'000}, [] {
    sync::var<int> data{0};
    channel<int> c({.capacity = 1});
    auto out = c.make_producer();
    auto in = c.make_consumer();
    sync::thread other([&] {
      data.write() = 1;
      out.push(1);
    });
    require(in.pop() == 1, "it is there");
    require(data.read() == 1, "and what was done before");
    other.join();
  });
}

// The last producer ends while consumers are about to wait.
TEST(channel_model, the_last_pill_reaches_every_consumer) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> got{0};
    channel<int> c({.capacity = 1});
    auto first = c.make_producer();
    auto second = c.make_producer();
    const auto consume = [&got](channel<int>::consumer in) {
      while (in.pop()) got.fetch_add(1);
    };
    sync::thread one([&, in = c.make_consumer()]() mutable { consume(std::move(in)); });
    sync::thread two([&, in = c.make_consumer()]() mutable { consume(std::move(in)); });
    sync::thread producer([out = std::move(second)]() mutable { out.push(1); });
    first.push(2);
    first.end();
    producer.join();
    one.join();
    two.join();
    require(got.load() == 2, "each once");
    require(c.is_at_end(), "it is over");
    require_balance(c);
  });
}

// The channel is full, two producers wait, and a later one does not wait: both waiting producers
// get room, and the later one does not get the room that was promised to them.
TEST(channel_model, who_waits_for_room_gets_it) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto in = c.make_consumer();
    auto out = c.make_producer();
    out.push(0);
    sync::thread one([&] { require(out.push(1), "there is a consumer"); });
    sync::thread two([&] { require(out.push(1), "there is a consumer"); });
    int sum = in.pop().value();
    int late = 1;
    const int values = out.try_push(late) == push_result::accepted ? 3 : 2;
    for (int i = 0; i < values; ++i) {
      require(c.size() <= 1, "no more than there is room for");
      sum += in.pop().value();
    }
    one.join();
    two.join();
    require(sum == values, "each once");
    require_balance(c);
  });
}

// A producer that waits during close() is accepted, and a later one is refused; the consumer gets
// all accepted values, then the end.
TEST(channel_model, close_against_a_producer) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto in = c.make_consumer();
    auto out = c.make_producer();
    int accepted = 0;
    sync::thread producer([&] {
      try {
        for (int i = 0; i < 3; ++i) {
          out.push(i);
          ++accepted;
        }
      } catch (const rejected&) {
      }
    });
    sync::thread closer([&] { c.close(); });
    int taken = 0;
    while (auto v = in.pop()) require(*v == taken++, "in order");
    producer.join();
    closer.join();
    require(taken == accepted, "all that was accepted");
    require_balance(c);
  });
}

TEST(channel_model, a_reservation_is_kept_after_close) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto in = c.make_consumer();
    auto out = c.make_producer();
    out.push(1);
    sync::thread producer([&] { require(out.push(2), "it waited when intake closed"); });
    while (c.statistics().waiting == 0) sync::yield();
    sync::thread closer([&] { c.close(); });
    require(in.pop() == 1 && in.pop() == 2, "both");
    require(!in.pop(), "and then the end");
    producer.join();
    closer.join();
  });
}

// A waiting producer stops waiting, by its token or its deadline, while room is made for it and the
// channel closes: either its value is accepted, or it keeps the value. The end comes.
TEST(channel_model, a_reservation_that_is_given_up_is_not_waited_for) {
  for (const bool by_token : {true, false}) {
    check({.runs = 10'000}, [by_token] {
      channel<int> c({.capacity = 1});
      auto in = c.make_consumer();
      auto out = c.make_producer();
      sync::stop_source stop;
      out.push(1);
      push_result result = push_result::closed;
      sync::thread producer([&] {
        int v = 2;
        const auto deadline =
            by_token ? clock::time_point::max() : c.time().now() + std::chrono::seconds(1);
        result = out.push_until(deadline, v, by_token ? stop.get_token() : sync::stop_token());
        out.end();
      });
      sync::thread stopper([&] { stop.request_stop(); });
      int taken = 0;
      while (in.pop()) ++taken;
      producer.join();
      stopper.join();
      require(taken == (result == push_result::accepted ? 2 : 1), "as the producer was told");
      require_balance(c);
    });
  }
}

// Another producer waits behind the one that stops waiting: one of them gets the room.
TEST(channel_model, room_is_not_lost_to_who_gives_up) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto in = c.make_consumer();
    auto out = c.make_producer();
    sync::stop_source stop;
    out.push(1);
    bool first = false;
    sync::thread one([&] { first = out.push(2, stop.get_token()); });
    sync::thread two([&] { require(out.push(4), "it does not give up"); });
    sync::thread stopper([&] { stop.request_stop(); });
    int sum = 0;
    for (int v = 0; v != 4; sum += v) v = in.pop().value();
    one.join();
    two.join();
    stopper.join();
    while (auto v = in.try_pop()) sum += *v;
    require(sum == 1 + 4 + (first ? 2 : 0), "as the producers were told");
  });
}

// The last consumer ends while another one is made: the new one gets all values, or is too late.
TEST(channel_model, the_last_consumer_against_a_new_one) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 2});
    auto out = c.make_producer();
    out.push(1);
    out.push(2);
    auto last = c.make_consumer();
    sync::thread other([&] { last.end(); });
    auto in = c.make_consumer();
    const bool first = in.try_pop().has_value();
    require(in.try_pop().has_value() == first, "both or neither");
    other.join();
    require(c.is_closed() != first, "and it is over if it was too late");
    require_balance(c);
  });
}

TEST(channel_model, abort_against_producers_and_consumers) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto out = c.make_producer();
    std::size_t accepted = 0;
    std::size_t taken = 0;
    sync::thread producer([&] {
      try {
        for (int i = 0; i < 3; ++i) {
          out.push(i);
          ++accepted;
        }
      } catch (const rejected&) {
      }
    });
    sync::thread consumer([&, in = c.make_consumer()]() mutable {
      while (in.pop()) ++taken;
    });
    const std::size_t back = c.abort().size();
    producer.join();
    consumer.join();
    require(accepted == taken + back, "taken or given back");
    require_balance(c);
  });
}

// The consumer ends while values are queued and a producer waits.
TEST(channel_model, a_dead_consumer_lets_producers_go) {
  check({.runs = 10'000}, [] {
    channel<int> c({.capacity = 1});
    auto out = c.make_producer();
    bool refused = false;
    sync::thread producer([&] {
      try {
        for (int i = 0; i < 3; ++i) out.push(i);
      } catch (const rejected&) {
        refused = true;
      }
    });
    {
      auto in = c.make_consumer();
      require(in.pop() == 0, "the first");
    }
    producer.join();
    require(refused, "only two of three had room");
    require_balance(c);
  });
}

// The deadline of one consumer passes just when a value comes: the other consumer, or a later
// try_pop(), gets it.
TEST(channel_model, a_value_is_not_lost_to_who_gives_up) {
  check({.runs = 10'000}, [] {
    sync::atomic<int> got{0};
    channel<int> c({.capacity = 1});
    auto out = c.make_producer();
    auto in = c.make_consumer();
    sync::thread impatient([&] {
      if (in.pop_for(std::chrono::seconds(1))) got.fetch_add(1);
    });
    sync::thread patient([&] {
      while (in.pop()) got.fetch_add(1);
    });
    out.push(1);
    out.push(2);
    out.end();
    impatient.join();
    patient.join();
    require(got.load() == 2, "each once");
  });
}

}  // namespace
