// Asks two sources, takes the first answer, and cancels the other task cleanly.
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <takt/takt.hpp>

int main() {
  takt::future_task quick([] { return std::string("cache"); });
  takt::future_task slow([](std::stop_token stop) {  // searches until stop is requested
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::string("archive");
  });
  auto any = takt::when_any(quick.get_future(), slow.get_future());

  std::thread searcher([&slow] { slow.run(); });
  quick.run();

  auto [index, answers] = any.get();
  std::printf("first answer: %s\n", std::get<0>(answers).get().c_str());

  // After this call, data that the search refers to may be destroyed.
  const takt::cancel_result search = std::get<1>(answers).cancel_and_join();
  std::printf("search: %s\n", std::string(takt::to_string(search)).c_str());
  searcher.join();
  return index == 0 && search != takt::cancel_result::running ? 0 : 1;
}
