// A consumer's program. It must compile with the consumer's flags, which may be stricter or laxer.
#include <cstdio>
#include <thread>

#include <takt/takt.hpp>

int main() {
  takt::parker done;
  int answer = 0;
  takt::move_only_function<void() &&> work = [&] {
    answer = 42;
    done.unpark();
  };
  std::thread other([&] { std::move(work)(); });
  done.park();
  other.join();
  std::printf("takt %d.%d: %d\n", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, answer);
  return answer == 42 ? 0 : 1;
}
