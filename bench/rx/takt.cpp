#include <chrono>
#include <stdexcept>

#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/queue_scheduler.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>
#include <takt/sched/event_loop.hpp>

#include "rx.hpp"
#include "support/stopwatch.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

double queue(std::int64_t count) {
  takt::event_loop loop;
  takt::rx::queue_scheduler scheduler(loop);
  std::int64_t ran = 0;
  const stopwatch watch;
  scheduler.schedule(
      0ms,
      [&](auto& self, std::int64_t left) {
        ++ran;
        if (left > 1) self.schedule(0ms, left - 1);
      },
      count);
  const double each = watch.nanoseconds_per(count);
  if (ran != count) throw std::logic_error("an action was lost");
  return each;
}

double asap(std::int64_t count) {
  takt::event_loop loop;
  takt::rx::asap_scheduler scheduler(loop);
  std::int64_t ran = 0;
  const stopwatch watch;
  for (std::int64_t i = 0; i < count; i += rx_batch) {
    for (std::int64_t k = 0; k < rx_batch; ++k) scheduler.schedule([&] { ++ran; });
    loop.poll();
  }
  const double each = watch.nanoseconds_per(count);
  if (ran != count) throw std::logic_error("an action was lost");
  return each;
}

double virtual_time(std::int64_t count) {
  takt::rx::virtual_time_scheduler scheduler;
  std::int64_t ran = 0;
  const stopwatch watch;
  for (std::int64_t i = 1; i <= rx_chains; ++i) {
    scheduler.schedule(
        std::chrono::milliseconds(i),
        [&](auto& self, std::int64_t delay) {
          if (++ran <= count - rx_chains) self.schedule(std::chrono::milliseconds(delay), delay);
        },
        i);
  }
  scheduler.flush();
  const double each = watch.nanoseconds_per(count);
  if (ran != count) throw std::logic_error("an action was lost");
  return each;
}

}  // namespace

numbers rx_takt(const request& asked) {
  const std::int64_t count = asked.amount(rx_actions);
  return {queue(count), asap(count), virtual_time(count)};
}

}  // namespace bench
