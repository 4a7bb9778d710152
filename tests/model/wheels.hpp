// What model checks of wheels have in common.
#pragma once

#include <chrono>

#include <takt/clock/manual_clock.hpp>
#include <takt/sched/wheel_scheduler.hpp>

// Few slots, so that a run is short.
inline takt::wheel_scheduler::options_type on(const takt::manual_clock& time) {
  return {.tick = std::chrono::milliseconds(1), .ticks_per_wheel = 2, .time = &time};
}
