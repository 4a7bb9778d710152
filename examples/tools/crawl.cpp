// Follows links over HTTP, with many fetches at a time and a pause between those of one host; can
// be stopped and killed at any time, and goes on where it was.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "tool.hpp"
#include "web.hpp"

namespace {

constexpr const char* help = R"(usage: crawl [OPTION]... [URL]...

Fetches the pages at the URLs and what they link to, and prints a line for each: status, depth,
address. What is done and what is left is kept in a file: stopped by Ctrl-C, or killed, it goes on
where it was when it is run again.

  --list FILE     the file (crawl.list)
  --workers N     pages at a time (4)
  --delay MS      pause between two pages of one host (500)
  --depth N       how many links away from the URLs (5)
  --host NAME     also follow links to this host, NAME or NAME:PORT; without it only to those of
                  the URLs; may be given again
  --any-host      follow links to all hosts
  --timeout S     give up on a page after so long (10)
  --max-bytes N   read no more than that of a page (1000000)
  --for S         stop after so long
  --no-sync       do not wait for the disk: survives being killed, but not a power cut
  --help          this text

A page that does not answer is tried again when crawl is run again. An answer is an answer, also
404. It does not read robots.txt: crawl your own sites. The second Ctrl-C does not wait for pages
that are being fetched. If the output or the file cannot be written to, it stops; a page is done
when both are written.

exit code: 0 all done; 1 an error; 2 wrong usage; 3 something is left for the next time
)";

struct settings {
  std::string file = "crawl.list";
  std::size_t workers = 4;
  std::size_t delay_ms = 500;
  std::size_t depth = 5;
  std::set<std::string> hosts;
  bool any_host = false;
  std::size_t timeout_s = 10;
  std::size_t max_bytes = 1'000'000;
  std::size_t for_s = 0;
  bool no_sync = false;
  std::vector<std::string> urls;
};

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.value("--list", [&](const std::string& v) { s.file = v; });
  line.number("--workers", s.workers, 1, 1000);
  line.number("--delay", s.delay_ms, 0);
  line.number("--depth", s.depth, 0);
  line.value("--host", [&](const std::string& v) {
    const std::optional<std::string> url = web::normal_url("http://" + v + "/");
    if (!url) throw tool::misuse("'" + v + "' is no host");
    s.hosts.insert(web::host_of(*url));
  });
  line.flag("--any-host", s.any_host);
  line.number("--timeout", s.timeout_s, 1);
  line.number("--max-bytes", s.max_bytes, 1);
  line.number("--for", s.for_s, 1);
  line.flag("--no-sync", s.no_sync);
  for (const std::string& text : line.parse(words)) {
    const std::optional<std::string> url = web::normal_url(text);
    if (!url)
      throw tool::misuse("'" + text + "' is no address that begins with http:// or https://");
    s.urls.push_back(*url);
    s.hosts.insert(web::host_of(*url));
  }
  if (s.urls.empty() && !std::filesystem::exists(s.file)) {
    throw tool::misuse("no URL, and there is no file '" + s.file + "' to go on with");
  }
  return s;
}

// When each host may be asked next. Used by one thread at a time.
class politeness {
 public:
  explicit politeness(std::chrono::milliseconds delay) : delay_(delay) {}

  takt::clock::time_point reserve(const std::string& host) {
    const auto now = takt::steady.now();
    if (free_at_.size() > 10'000) {
      std::erase_if(free_at_, [&](const auto& one) { return one.second <= now; });
    }
    takt::clock::time_point& next = free_at_[host];
    const auto mine = std::max(next, now);
    next = mine + delay_;
    return mine;
  }

 private:
  const std::chrono::milliseconds delay_;
  std::map<std::string, takt::clock::time_point> free_at_;
};

// What is done with a page. Called by many threads.
class visitor {
 public:
  visitor(const settings& s, std::atomic<int>& output_error) : s_(s), output_error_(output_error) {}

  std::vector<takt::work_item> operator()(const takt::work_item& item,
                                          const std::stop_token& stop) const {
    const std::size_t depth = depth_of(item);
    const web::page page = web::fetch(
        item.key, {.timeout = std::chrono::seconds(s_.timeout_s), .max_bytes = s_.max_bytes}, stop);
    if (std::printf("%s%ld %zu %s%s\n", tool::line_start(STDOUT_FILENO), page.status, depth,
                    item.key.c_str(), page.is_whole ? "" : " (cut)") < 0) {
      output_error_ = errno;
      throw takt::cancelled();  // it is not done
    }
    std::vector<takt::work_item> found;
    if (depth == s_.depth) return found;
    std::vector<std::string> links;
    if (page.is_html) links = web::links_in(page.body);
    if (!page.redirect.empty()) links.push_back(page.redirect);
    for (const std::string& link : links) {
      std::optional<std::string> url = web::normal_url(link, item.key);
      if (!url || (!s_.any_host && !s_.hosts.contains(web::host_of(*url)))) continue;
      found.push_back({.key = std::move(*url), .data = std::to_string(depth + 1)});
    }
    return found;
  }

 private:
  // \throws if somebody else has put it into the list.
  static std::size_t depth_of(const takt::work_item& item) {
    std::size_t depth = 0;
    const char* const end = item.data.data() + item.data.size();
    const auto [stopped, error] = std::from_chars(item.data.data(), end, depth);
    if (error != std::errc() || stopped != end || !web::normal_url(item.key)) {
      throw std::runtime_error("was not put into the list by crawl");
    }
    return depth;
  }

  const settings& s_;
  std::atomic<int>& output_error_;  // errno
};

void tell_failure(const takt::work_item& item, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%scrawl: %s: %s\n", tool::line_start(STDERR_FILENO), item.key.c_str(),
                 e.what());
  }
}

// Until all is done, somebody stops it, its time is over, or nobody reads what it says.
void follow(takt::crawler& crawl, const takt::work_list& list, const settings& s,
            const takt::stop_signals& signals, const std::atomic<int>& output_error) {
  using namespace std::chrono_literals;
  const auto end = s.for_s == 0 ? takt::clock::time_point::max()
                                : takt::steady.now() + std::chrono::seconds(s.for_s);
  tool::progress line;
  crawl.start();
  crawl.shutdown();  // there are no more to come but what it finds
  while (!crawl.await_termination(200ms, signals.stop_token())) {
    if (signals.stop_token().stop_requested() || takt::steady.now() >= end || output_error != 0) {
      crawl.shutdown_and_cancel();
      if (!crawl.await_termination(signals.force_token())) {
        tool::leave_at_once("crawl", tool::unfinished);  // the file survives that
      }
      break;
    }
    const takt::work_counts now = list.counts();
    line.show(std::to_string(now.confirmed) + " done, " + std::to_string(now.claimed) +
              " under way, " + std::to_string(now.waiting) + " to go");
  }
}

int run(const std::vector<std::string>& words) {
  const settings s = read_settings(words);
  const takt::stop_signals signals;  // first: before any thread
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  takt::file_work_list list(
      s.file, {.sync = s.no_sync ? takt::work_sync::at_close : takt::work_sync::each});
  for (const std::string& url : s.urls) list.accept({.key = url, .data = "0"});
  settings with_hosts = s;
  if (s.urls.empty()) {  // those that it began with, then
    for (const takt::work_item& item : list.unconfirmed()) {
      with_hosts.hosts.insert(web::host_of(item.key));
    }
  }

  takt::thread_pool pool{{.core = s.workers, .name = "crawl"}};
  takt::wheel_scheduler wheel{{.tick = std::chrono::milliseconds(10)}};
  auto timers = wheel.on(pool);
  std::atomic<int> output_error = 0;
  politeness polite{std::chrono::milliseconds(s.delay_ms)};
  takt::crawler crawl{
      pool,
      list,
      visitor(with_hosts, output_error),
      {.visits = s.workers,
       .not_before =
           [&](const takt::work_item& page) { return polite.reserve(web::host_of(page.key)); },
       .timers = &timers,
       .failed = &tell_failure}};
  follow(crawl, list, s, signals, output_error);

  const takt::work_counts counts = list.counts();
  std::fprintf(stderr, "crawl: %zu done, %zu left%s\n", counts.confirmed, counts.waiting,
               counts.waiting == 0 ? "" : "; run it again to go on");
  if (crawl.error() != nullptr) std::rethrow_exception(crawl.error());
  if (output_error != 0) {
    throw std::system_error(output_error, std::generic_category(), "cannot write to the output");
  }
  return counts.waiting == 0 ? tool::success : tool::unfinished;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("crawl", help, argc, argv, run); }
