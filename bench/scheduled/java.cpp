#include "peers/java.hpp"

#include "scheduled.hpp"

namespace bench {
namespace {

// `count` is a function of the request.
template <class Count>
competitor in_java(const std::string& workload, Count count) {
  return {"java ScheduledThreadPoolExecutor", [=](const request& asked) {
            std::string question = workload + ' ' + std::to_string(count(asked));
            for (const auto& [name, value] : asked.parameters) {
              question += ' ' + std::to_string(value);
            }
            return ask_java_timers(question);
          }};
}

}  // namespace

timer_competitors java_timers() {
  const auto many = [](const request& asked) { return asked.amount(many_timers); };
  const auto runs = [](const request& asked) { return asked.amount(periodic_runs); };
  return {.fire = {in_java("fire", many)},
          .periodic = {in_java("periodic", runs)},
          .late = {in_java("late", late_runs)},
          .memory = {in_java("memory", many)},
          .stop = {in_java("stop", many)}};
}

}  // namespace bench
