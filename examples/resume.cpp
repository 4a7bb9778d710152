// Stops in the middle and resumes the work: no page is lost, none is fetched twice.
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

// A page to fetch. The tracker returns unfinished tasks as values of this type.
struct fetch {
  std::string url;
  bool slow = false;

  void operator()(const std::stop_token& stop) const {
    while (slow && !stop.stop_requested()) std::this_thread::yield();
    if (stop.stop_requested()) throw takt::cancelled();  // interrupted: the page is not done
    ++pages_done;
  }
};

// Fetches until `enough` pages are done, then stops. Returns the unfinished pages.
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

  for (fetch& page : left) page.slow = false;  // the second attempt succeeds
  const std::vector<fetch> nothing = crawl(left, 6);
  std::printf("done %d, left %zu\n", pages_done.load(), nothing.size());
  return kept == 6 && nothing.empty() ? 0 : 1;
}
