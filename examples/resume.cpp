// Stop in the middle, and take up the work again: nothing is lost, nothing is done twice.
#include <atomic>
#include <cstdio>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <takt/takt.hpp>

namespace {

std::atomic<int> pages_done = 0;

// A page to be fetched. It is what the user knows of a task, so it is what has to come back.
struct fetch {
  std::string url;
  bool slow = false;

  void operator()(const std::stop_token& stop) const {
    while (slow && !stop.stop_requested()) std::this_thread::yield();
    if (stop.stop_requested()) throw takt::cancelled();  // given up: not done
    ++pages_done;
  }
};

// Works until `enough` pages are done, then stops. Returns what is left.
std::vector<fetch> crawl(const std::vector<fetch>& pages, int enough) {
  takt::thread_pool pool{{.core_threads = 2}};
  takt::tracking_executor tracker{pool};
  for (const fetch& page : pages) tracker.execute(page);
  while (pages_done < enough) std::this_thread::yield();

  std::vector<fetch> left;
  for (takt::task& t : tracker.shutdown_now()) left.push_back(*t.target<fetch>());
  pool.await_termination();
  for (takt::task& t : tracker.cut_off()) left.push_back(*t.target<fetch>());
  return left;
}

}  // namespace

int main() {
  std::vector<fetch> pages{{"a"}, {"slow", true}, {"b"}, {"c"}, {"slow too", true}, {"d"}};
  std::vector<fetch> left = crawl(pages, 3);
  std::printf("done %d, left %zu\n", pages_done.load(), left.size());
  const std::size_t kept = static_cast<std::size_t>(pages_done) + left.size();

  for (fetch& page : left) page.slow = false;  // a better day
  const std::vector<fetch> nothing = crawl(left, 6);
  std::printf("done %d, left %zu\n", pages_done.load(), nothing.size());
  return kept == 6 && nothing.empty() ? 0 : 1;
}
