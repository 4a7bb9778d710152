// Retry code with a growing delay, and its test in virtual time: a day passes at once.
#include <chrono>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

// Retries after 1 s, 2 s, 4 s and so on, up to an hour, until `once` succeeds.
takt::rx::subscription keep_trying(takt::rx::action_scheduler& timers, std::function<bool()> once) {
  return timers.schedule(
      0s,
      [once = std::move(once)](auto& self, std::chrono::seconds wait) {
        if (once()) return;
        self.schedule(wait, std::min<std::chrono::seconds>(wait * 2, 1h));
      },
      1s);
}

}  // namespace

int main() {
  takt::rx::virtual_time_scheduler test;
  std::vector<std::chrono::nanoseconds> tries;
  const auto fails = [&] {
    tries.push_back(test.elapsed());
    return false;
  };
  const takt::rx::subscription trying = keep_trying(test, fails);

  test.set_max_time(24h);
  test.flush();
  const bool backs_off = tries.size() > 4 && tries[0] == 0s && tries[1] == 1s && tries[2] == 3s &&
                         tries[3] == 7s && tries.back() - tries[tries.size() - 2] == 1h;
  std::printf("%zu tries in a day\n", tries.size());

  trying.unsubscribe();
  test.set_max_time(48h);
  const bool stops = test.flush() == 0;
  return backs_off && stops && tries.size() == 35 ? 0 : 1;
}
