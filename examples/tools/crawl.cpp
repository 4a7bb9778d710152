// Follows links over HTTP, with many parallel fetches and a pause between two fetches from one
// host. Can be stopped or killed at any time, and then resumes where it was.
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

Fetches the pages at the URLs and the pages that they link to, and prints a line for each: status,
depth, address, and the linking page if the status is 400 or more. The list, a file, records which
pages are done and which are left: after Ctrl-C or a kill, the next run continues where it was.

  --list FILE      the list (crawl.list)
  --workers N      pages fetched at a time (4, or fewer if the limit of open files is low)
  --delay MS       pause between two fetches from one host, in milliseconds (500)
  --depth N        maximum number of links from the URLs, on the shortest path (5)
  --host NAME      also follow links to this host, NAME or NAME:PORT; can be repeated; the default is
                   only the hosts of the URLs
  --any-host       follow links to all hosts
  --timeout S      time-out for one page, in seconds (10)
  --max-pages N    follow no more links when the list has N addresses (100000); the URLs are always
                   fetched
  --max-links N    maximum number of links to follow from a page (5000)
  --max-url N      maximum length of a link's address, in bytes (2000)
  --max-bytes N    maximum number of bytes to read from a page (1000000)
  --for S          stop after S seconds
  --fail-on-error  end with exit code 4 if a page has answered with a status of 400 or more
  --no-sync        do not wait for the disk: the list survives a kill, but not a power cut
  --help           this text

The list stores --depth, --host, --any-host and the hosts of the first URLs, because they decide which
pages belong to it. Later runs need not repeat them and cannot change them: start another list.

The next run retries each page that did not answer. It also retries each page from which a --max limit
has skipped links; crawl reports these pages: run it again with a larger limit. Any status is an
answer, including 404. Pages are fetched level by level. A page is fetched again only if it is not
done, or if a shorter path to it was found after it was fetched.

crawl does not read robots.txt: crawl your own sites. The second Ctrl-C does not wait for fetches in
progress. crawl stops if the output or the list cannot be written; a page is done when both are
written. Control characters are printed as \t, \n, \r or \xHH, and a backslash as \\.

exit code: 0 all done; 1 an error; 2 wrong usage; 3 pages are left for the next run; 4 all done, but
with --fail-on-error a page has answered with an error, in this run or in an earlier one
)";

constexpr int page_failed = 4;  // an exit code

struct settings {
  std::string file = "crawl.list";
  std::size_t workers = 0;  // 0: the default, or fewer if descriptors are short
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
    if (!url) throw tool::misuse("'" + v + "' is not a host");
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
      throw tool::misuse("'" + text + "' is not an address that begins with http:// or https://");
    if (url->size() > s.links.url) {
      throw tool::misuse("a URL has " + std::to_string(url->size()) + " bytes, and --max-url is " +
                         std::to_string(s.links.url));
    }
    s.urls.push_back(*url);
    s.hosts.insert(web::host_of(*url));
  }
  if (s.urls.empty() && !std::filesystem::exists(s.file)) {
    throw tool::misuse("no URL, and no list '" + s.file + "' to continue");
  }
  return s;
}

// The filters of a list decided which links of its completed pages were followed. With other
// filters, links that were filtered out would be lost. \throws misuse if the command line has other
// filters.
void check_filters(const settings& s, const crawl::filters& kept) {
  std::string hosts;
  for (const std::string& host : kept.hosts) hosts += ' ' + host;
  const auto refuse = [](const std::string& given, const std::string& created_with) {
    throw tool::misuse(given + ", but the list was created with " + created_with +
                       ": start another list with --list");
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

// Called before the file is changed. \throws if it is not a list of this version.
void check_list(const std::string& metadata, const takt::work_counts& items, const settings& s) {
  const std::optional<crawl::filters> kept = crawl::parse_filters(metadata);
  if (!kept && (has_items(items) || !metadata.empty())) {
    throw std::runtime_error("'" + s.file + "' was created by crawl 0.1.0 or by another program " +
                             "and does not store which links to follow: start another list");
  }
  if (has_items(items)) check_filters(s, *kept);
}

// Returns the filters stored in the list. A new list stores those of the command line first.
crawl::filters filters_of(takt::file_work_queue& list, const settings& s) {
  if (!has_items(list.counts())) {  // also true if a process was killed before it enqueued its URLs
    if (s.urls.empty()) throw tool::misuse("no URL, and no pages in the list '" + s.file + "'");
    crawl::filters given{.any_host = s.any_host, .hosts = s.hosts};
    given.depth = s.depth.value_or(given.depth);
    list.set_metadata(crawl::to_text(given));
    return given;
  }
  return crawl::parse_filters(list.metadata()).value();
}

// Opening the list drops a record that a kill or a power cut left incomplete.
void report_recovery(const takt::file_work_queue_recovery& found, const settings& s) {
  if (found.dropped_records == 0) return;
  std::fprintf(stderr, "crawl: %s: the last record was incomplete and was dropped (%llu bytes)\n",
               tool::printable(s.file).c_str(),
               static_cast<unsigned long long>(found.dropped_bytes));
}

// Reserves fetch times so that each host has its pause. Requires external synchronisation.
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
  // Maximum delay of a page: schedulers limit delays.
  static constexpr std::chrono::hours longest{24 * 100};

  const std::chrono::milliseconds delay_;
  std::map<std::string, takt::clock::time_point> free_at_;
};

std::string host_of(const takt::work_item& item) {
  const std::optional<crawl::page> page = crawl::parse_key(item.key);
  return page ? web::host_of(page->url) : std::string();
}

// The URL of an item, safe to print.
std::string name_of(const takt::work_item& item) {
  const std::optional<crawl::page> page = crawl::parse_key(item.key);
  return tool::printable(page ? page->url : item.key);
}

// The page that links to an item, which is stored as the item's data.
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

// Fetches a page, prints its line, and returns its links. Thread-safe.
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

  // The errno of a failed write to the output; 0 if there was none.
  [[nodiscard]] int output_error() const { return output_error_; }
  // Returns true if a page has ever answered with a status of 400 or more.
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
      throw takt::cancelled();  // the page is not done
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

  // A page from which a limit has skipped links is not done.
  void report_cuts(const takt::work_item& item, const web::page& answer,
                   const crawl::links& links) {
    const auto cut = [&](const std::string& what) {
      list_.put_aside(item.key);
      report(item, "links were skipped: " + what);
    };
    if (answer.is_html && !answer.is_whole) {
      cut("the page is longer than --max-bytes " + std::to_string(s_.max_bytes));
    }
    if (links.has_more) cut("there are more than --max-links " + std::to_string(s_.links.links));
    if (links.too_long != 0) {
      cut(std::to_string(links.too_long) + " of them are longer than --max-url " +
          std::to_string(s_.links.url));
    }
  }

  // \throws if the item was not added by crawl.
  static crawl::page page_of(const takt::work_item& item) {
    const std::optional<crawl::page> page = crawl::parse_key(item.key);
    if (!page || web::normal_url(page->url) != page->url) {
      throw std::runtime_error("was not added to the list by crawl");
    }
    return *page;
  }

  // Stores the error in the list's metadata before the page completes, so it survives a restart.
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

// Waits until the crawler is done, a signal arrives, the time of --for is over, or the output
// fails.
void follow(takt::crawler& crawler, const takt::work_queue& list, const settings& s,
            const takt::stop_signals& signals, const visitor& pages) {
  using namespace std::chrono_literals;
  const auto end = s.for_s == 0 ? takt::clock::time_point::max()
                                : takt::steady.now() + std::chrono::seconds(s.for_s);
  tool::progress line;
  crawler.start();
  crawler.shutdown();  // accepts only items that it finds itself
  while (!crawler.await_termination(200ms, signals.stop_token())) {
    if (signals.stop_token().stop_requested() || takt::steady.now() >= end ||
        pages.output_error() != 0) {
      crawler.shutdown_and_cancel();
      if (!crawler.await_termination(signals.force_token())) {
        tool::leave_at_once("crawl", tool::unfinished);  // the list stays valid
      }
      break;
    }
    const takt::work_counts now = list.counts();
    line.show(std::to_string(now.completed) + " done, " + std::to_string(now.claimed) +
              " in progress, " + std::to_string(now.waiting) + " left");
  }
}

// Maximum number of parallel fetches. \throws misuse if --workers is more than possible.
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
  tool::ignore_broken_pipes();       // of the output, and of TLS connections that a server closes
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
                 "crawl: links were skipped: the list has --max-pages %zu addresses or more\n",
                 s.max_pages);
  }
  std::fprintf(stderr, "crawl: %zu done, %zu left%s\n", counts.completed, counts.waiting,
               counts.waiting == 0 ? "" : "; run it again to continue");
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
