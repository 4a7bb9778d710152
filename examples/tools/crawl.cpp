// Follows links over HTTP, with many fetches at a time and a pause between those of one host; can
// be stopped and killed at any time, and goes on where it was.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "crawl_links.hpp"
#include "crawl_list.hpp"
#include "tool.hpp"
#include "tool_limits.hpp"
#include "web.hpp"

namespace {

constexpr const char* help = R"(usage: crawl [OPTION]... [URL]...

Fetches the pages at the URLs and what they link to, and prints a line for each: status, depth,
address, and where it was found if the status is 400 or more. What is done and what is left is kept
in a file, the list: stopped by Ctrl-C, or killed, it goes on where it was when it is run again.

  --list FILE      the list (crawl.list)
  --workers N      pages at a time (4, or fewer if fewer files may be open)
  --delay MS       pause between two pages of one host (500)
  --depth N        how many links away from the URLs, on the shortest path (5)
  --host NAME      also follow links to this host, NAME or NAME:PORT; without it only to those of
                   the URLs; may be given again
  --any-host       follow links to all hosts
  --timeout S      longest time for one page, in seconds (10)
  --max-pages N    follow no more links when the list has so many addresses (100000); the URLs are
                   never left out
  --max-links N    follow no more than so many links of a page (5000)
  --max-url N      follow no links to addresses that are longer than so many bytes (2000)
  --max-bytes N    read no more than that of a page (1000000)
  --for S          stop after so long
  --fail-on-error  end with exit code 4 if a page has answered with a status of 400 or more
  --no-sync        do not wait for the disk: survives being killed, but not a power cut
  --help           this text

The list keeps --depth, --host, --any-host and the hosts of the first URLs, which decide what belongs
to it. When it is run again they need not be given, and cannot be changed: begin another list.

A page that does not answer is tried again when crawl is run again. So is a page of which a --max
limit has left links out, which is reported: run it again with a larger limit. An answer is an
answer, also 404. Pages are fetched level by level, and a page is fetched again only if it is not
done, or if a shorter path to it was found after it was fetched.

It does not read robots.txt: crawl your own sites. The second Ctrl-C does not wait for pages that
are being fetched. If the output or the list cannot be written to, it stops; a page is done when
both are written. Control characters are printed as \t, \n, \r or \xHH, and a backslash as \\.

exit code: 0 all done; 1 an error; 2 wrong usage; 3 something is left for the next time; 4 all done,
but with --fail-on-error a page has answered with an error, in this run or in an earlier one
)";

constexpr int page_failed = 4;  // an exit code

struct settings {
  std::string file = "crawl.list";
  std::size_t workers = 0;  // 0: as many as usual, and possible
  std::size_t delay_ms = 500;
  std::optional<std::size_t> depth;
  std::set<std::string> hosts;
  bool any_host = false;
  std::size_t timeout_s = 10;
  std::size_t max_pages = 100'000;
  std::size_t max_bytes = 1'000'000;
  crawl::link_limits links;
  std::size_t for_s = 0;
  bool fail_on_error = false;
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
  line.number("--max-pages", s.max_pages, 1);
  line.number("--max-links", s.links.links, 1);
  line.number("--max-url", s.links.url, 1);
  line.number("--max-bytes", s.max_bytes, 1);
  line.number("--for", s.for_s, 1);
  line.flag("--fail-on-error", s.fail_on_error);
  line.flag("--no-sync", s.no_sync);
  for (const std::string& text : line.parse(words)) {
    const std::optional<std::string> url = web::normal_url(text);
    if (!url)
      throw tool::misuse("'" + text + "' is no address that begins with http:// or https://");
    if (url->size() > s.links.url) {
      throw tool::misuse("a URL has " + std::to_string(url->size()) + " bytes, and --max-url is " +
                         std::to_string(s.links.url));
    }
    s.urls.push_back(*url);
    s.hosts.insert(web::host_of(*url));
  }
  if (s.urls.empty() && !std::filesystem::exists(s.file)) {
    throw tool::misuse("no URL, and there is no file '" + s.file + "' to go on with");
  }
  return s;
}

// What a list was begun with decides which links of its confirmed pages were followed: with other
// filters, what these left out would be lost. \throws misuse if other ones are given.
void check_filters(const settings& s, const crawl::filters& kept) {
  std::string hosts;
  for (const std::string& host : kept.hosts) hosts += ' ' + host;
  const auto refuse = [](const std::string& given, const std::string& begun_with) {
    throw tool::misuse(given + ", but the list was begun with " + begun_with +
                       ": begin another one with --list");
  };
  if (s.depth && *s.depth != kept.depth) {
    refuse("--depth " + std::to_string(*s.depth), "--depth " + std::to_string(kept.depth));
  }
  if (s.any_host && !kept.any_host) refuse("--any-host", "the hosts" + hosts);
  for (const std::string& host : s.hosts) {
    if (!kept.allow_host(host)) refuse("the host " + host, "the hosts" + hosts);
  }
}

bool has_items(const takt::work_counts& counts) { return counts.waiting + counts.completed != 0; }

// Called before anything in the file is changed. \throws if it is not a list of this version.
void check_list(const std::string& metadata, const takt::work_counts& items, const settings& s) {
  const std::optional<crawl::filters> kept = crawl::parse_filters(metadata);
  if (!kept && (has_items(items) || !metadata.empty())) {
    throw std::runtime_error("'" + s.file + "' was begun by crawl 0.1.0 or by another program, " +
                             "and does not say which links to follow: begin another list");
  }
  if (has_items(items)) check_filters(s, *kept);
}

// The filters of a list: those that it keeps, or, in a new list, the ones that are given.
crawl::filters filters_of(takt::file_work_queue& list, const settings& s) {
  if (!has_items(list.counts())) {  // also if a process has been killed before it accepted its URLs
    if (s.urls.empty()) throw tool::misuse("no URL, and nothing in the list '" + s.file + "'");
    crawl::filters given{.any_host = s.any_host, .hosts = s.hosts};
    given.depth = s.depth.value_or(given.depth);
    list.set_metadata(crawl::to_text(given));
    return given;
  }
  return crawl::parse_filters(list.metadata()).value();
}

// What a kill or a power cut has left is dropped when the list is opened.
void report_recovery(const takt::file_work_queue_recovery& found, const settings& s) {
  if (found.dropped_records == 0) return;
  std::fprintf(stderr, "crawl: %s: the last step was incomplete, and is dropped (%llu bytes)\n",
               tool::printable(s.file).c_str(),
               static_cast<unsigned long long>(found.dropped_bytes));
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
    return std::min(mine, now + longest);
  }

 private:
  // No page waits for longer: schedulers have a greatest delay.
  static constexpr std::chrono::hours longest{24 * 100};

  const std::chrono::milliseconds delay_;
  std::map<std::string, takt::clock::time_point> free_at_;
};

std::string host_of(const takt::work_item& item) {
  const std::optional<crawl::page> page = crawl::parse_key(item.key);
  return page ? web::host_of(page->url) : std::string();
}

// The URL of an item, for people.
std::string name_of(const takt::work_item& item) {
  const std::optional<crawl::page> page = crawl::parse_key(item.key);
  return tool::printable(page ? page->url : item.key);
}

// Where an item was found: its data.
std::string referrer_of(const takt::work_item& item) {
  return item.data.empty() ? "" : " linked from " + tool::printable(item.data);
}
std::string as_referrer(const std::string& url) {
  constexpr std::size_t longest = 500;
  return url.size() <= longest ? url : url.substr(0, longest) + "...";
}

void report(const takt::work_item& item, const std::string& what) {
  std::fprintf(stderr, "%scrawl: %s: %s\n", tool::line_start(STDERR_FILENO), name_of(item).c_str(),
               what.c_str());
}

// What is done with a page. Called by many threads.
class visitor {
 public:
  visitor(const settings& s, crawl::filters followed, takt::file_work_queue& file,
          crawl::page_list& list)
      : s_(s), followed_(std::move(followed)), file_(file), list_(list) {}

  std::vector<takt::work_item> visit(const takt::work_item& item, const std::stop_token& stop) {
    try {
      return found_by(item, stop);
    } catch (...) {
      list_.put_aside(item.key);
      throw;
    }
  }

  // errno of the output; 0 if it works.
  [[nodiscard]] int output_error() const { return output_error_; }
  // Whether a page has ever answered with an error status.
  [[nodiscard]] bool has_error_status() const {
    const std::lock_guard lock(mu_);
    return followed_.has_error_status;
  }

 private:
  std::vector<takt::work_item> found_by(const takt::work_item& item, const std::stop_token& stop) {
    const crawl::page page = page_of(item);
    const web::page answer = web::fetch(
        page.url, {.timeout = std::chrono::seconds(s_.timeout_s), .max_bytes = s_.max_bytes}, stop);
    const bool is_error = answer.status >= 400;
    if (is_error) note_error_status();
    if (std::printf("%s%ld %zu %s%s%s\n", tool::line_start(STDOUT_FILENO), answer.status,
                    page.depth, name_of(item).c_str(), answer.is_whole ? "" : " (cut)",
                    is_error ? referrer_of(item).c_str() : "") < 0) {
      output_error_ = errno;
      throw takt::cancelled();  // it is not done
    }
    std::vector<takt::work_item> found;
    if (page.depth >= followed_.depth) return found;
    const crawl::links links = crawl::links_of(answer, page.url, followed_, s_.links, stop);
    for (const std::string& url : links.urls) {
      found.push_back({.key = crawl::key_of({url, page.depth + 1}), .data = as_referrer(page.url)});
    }
    report_cuts(item, answer, links);
    return found;
  }

  // A page of which a limit has left out links is not done.
  void report_cuts(const takt::work_item& item, const web::page& answer,
                   const crawl::links& links) {
    const auto cut = [&](const std::string& what) {
      list_.put_aside(item.key);
      report(item, "links were left out: " + what);
    };
    if (answer.is_html && !answer.is_whole) {
      cut("the page is longer than --max-bytes " + std::to_string(s_.max_bytes));
    }
    if (links.has_more) cut("there are more than --max-links " + std::to_string(s_.links.links));
    if (links.too_long != 0) {
      cut(std::to_string(links.too_long) + " of them longer than --max-url " +
          std::to_string(s_.links.url));
    }
  }

  // \throws if somebody else has put it into the list.
  static crawl::page page_of(const takt::work_item& item) {
    const std::optional<crawl::page> page = crawl::parse_key(item.key);
    if (!page || web::normal_url(page->url) != page->url) {
      throw std::runtime_error("was not put into the list by crawl");
    }
    return *page;
  }

  // In the list, so that it is known after a restart: before the page is confirmed.
  void note_error_status() {
    const std::lock_guard lock(mu_);
    if (followed_.has_error_status) return;
    crawl::filters now = followed_;
    now.has_error_status = true;
    file_.set_metadata(crawl::to_text(now));
    followed_.has_error_status = true;
  }

  const settings& s_;
  crawl::filters followed_;  // has_error_status is guarded by mu_, the others are constant
  takt::file_work_queue& file_;
  crawl::page_list& list_;
  std::atomic<int> output_error_ = 0;
  mutable std::mutex mu_;
};

void report_failure(const takt::work_item& item, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    const std::string referrer = referrer_of(item);
    report(item, tool::printable(e.what()) + (referrer.empty() ? "" : ";" + referrer));
  }
}

// Until all is done, somebody stops it, its time is over, or nobody reads what it says.
void follow(takt::crawler& crawler, const takt::work_queue& list, const settings& s,
            const takt::stop_signals& signals, const visitor& pages) {
  using namespace std::chrono_literals;
  const auto end = s.for_s == 0 ? takt::clock::time_point::max()
                                : takt::steady.now() + std::chrono::seconds(s.for_s);
  tool::progress line;
  crawler.start();
  crawler.shutdown();  // there are no more to come but what it finds
  while (!crawler.await_termination(200ms, signals.stop_token())) {
    if (signals.stop_token().stop_requested() || takt::steady.now() >= end ||
        pages.output_error() != 0) {
      crawler.shutdown_and_cancel();
      if (!crawler.await_termination(signals.force_token())) {
        tool::leave_at_once("crawl", tool::unfinished);  // the file survives that
      }
      break;
    }
    const takt::work_counts now = list.counts();
    line.show(std::to_string(now.completed) + " done, " + std::to_string(now.claimed) +
              " under way, " + std::to_string(now.waiting) + " to go");
  }
}

// How many pages are fetched at a time. \throws misuse if the user wants more than possible.
std::size_t parallel_fetches(const settings& s) {
  constexpr std::size_t usual = 4;
  return tool::parallel_limit({.doing = "fetching",
                               .things = "pages",
                               .option = "--workers",
                               .descriptors_each = web::descriptors_of_fetch},
                              s.workers == 0 ? usual : s.workers, s.workers != 0);
}

int run(const std::vector<std::string>& words) {
  const settings s = read_settings(words);
  const std::size_t workers = parallel_fetches(s);
  tool::ignore_broken_pipes();  // the output, and what a server does to an encrypted connection
  const takt::stop_signals signals;  // first: before any thread
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  takt::file_work_queue file(
      s.file, {.sync = s.no_sync ? takt::work_sync::at_close : takt::work_sync::each,
               .check_existing = [&s](const std::string& metadata, const takt::work_counts& items) {
                 check_list(metadata, items, s);
               }});
  report_recovery(file.recovery(), s);
  const crawl::filters followed = filters_of(file, s);
  crawl::page_list list(file, s.max_pages);
  std::vector<takt::work_item> first;
  for (const std::string& url : s.urls) first.push_back({.key = crawl::key_of({url, 0})});
  list.enqueue(first);

  takt::thread_pool pool{{.core_threads = workers, .name = "crawl"}};
  takt::wheel_scheduler wheel{{.tick = std::chrono::milliseconds(10)}};
  auto timers = wheel.on(pool);
  politeness polite{std::chrono::milliseconds(s.delay_ms)};
  visitor pages(s, followed, file, list);
  takt::crawler crawler{
      pool,
      list,
      [&](const takt::work_item& item, const std::stop_token& stop) {
        return pages.visit(item, stop);
      },
      {.visits = workers,
       .not_before = [&](const takt::work_item& item) { return polite.reserve(host_of(item)); },
       .timers = &timers,
       .failed = &report_failure}};
  follow(crawler, list, s, signals, pages);

  const takt::work_counts counts = list.counts();
  if (list.is_full()) {
    std::fprintf(stderr,
                 "crawl: links were left out: the list has --max-pages %zu addresses or more\n",
                 s.max_pages);
  }
  std::fprintf(stderr, "crawl: %zu done, %zu left%s\n", counts.completed, counts.waiting,
               counts.waiting == 0 ? "" : "; run it again to go on");
  if (crawler.error() != nullptr) std::rethrow_exception(crawler.error());
  if (pages.output_error() != 0) {
    throw std::system_error(pages.output_error(), std::generic_category(),
                            "cannot write to the output");
  }
  if (counts.waiting != 0 || list.is_full()) return tool::unfinished;
  return s.fail_on_error && pages.has_error_status() ? page_failed : tool::success;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("crawl", help, argc, argv, run); }
