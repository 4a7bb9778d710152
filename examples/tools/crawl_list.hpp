// The list of pages of the program crawl: which pages belong to it, at which depth, and in which
// order they are fetched.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <takt/takt.hpp>

namespace crawl {

// The filters that decide which links are followed, and so which pages belong to a list. They are
// stored in the list's metadata, because completed pages were filtered with them.
struct filters {
  std::size_t depth = 5;
  bool any_host = false;
  std::set<std::string> hosts{};
  bool has_error_status = false;  // a page has answered with 400 or more; not a filter

  [[nodiscard]] bool allow_host(const std::string& host) const {
    return any_host || hosts.contains(host);
  }
  friend bool operator==(const filters&, const filters&) = default;
};

// Conversion to lines of text and back. parse_filters() returns nothing for other text.
std::string to_text(const filters& all);
std::optional<filters> parse_filters(std::string_view text);

// A page at a depth, its distance from the URLs in links. Its key in the list is URL#DEPTH;
// addresses in the list have no fragment.
struct page {
  std::string url;
  std::size_t depth = 0;
  friend bool operator==(const page&, const page&) = default;
};
std::string key_of(const page& p);
std::optional<page> parse_key(std::string_view key);

// The work queue of the crawler: a file_work_queue with three rules.
//
// Levels: claim() returns no page while a page of a lower depth is claimed. So the shortest path to
// a page is usually found first, and the page is fetched once.
//
// The shorter path wins: a page may be found again later by a shorter path, because a page on that
// path did not answer before or was added as a URL. Then it is enqueued again with the smaller
// depth. A longer path is never accepted after a shorter one, and items that wait at the greater
// depth are completed without being claimed. So the fetched pages are exactly those within the
// depth, whatever the timing and the order.
//
// The limit: complete() adds links only while the list has fewer than `max_pages` keys. A page
// whose links do not fit is not completed. enqueue() is for the URLs of the command line: they
// count, but the limit rejects none of them, because the file would have no trace of a rejected
// URL.
//
// All state that these rules need is in the file and is restored when it is opened. The public
// members are thread-safe.
class page_list final : public takt::work_queue {
 public:
  // The file must outlive the list.
  page_list(takt::file_work_queue& file, std::size_t max_pages);

  std::size_t enqueue(std::span<const takt::work_item> items) override;
  using work_queue::enqueue;
  [[nodiscard]] std::optional<takt::work_item> claim() override;
  using work_queue::complete;
  std::size_t complete(std::string_view key, std::span<const takt::work_item> found) override;
  void release(std::string_view key) override;
  // Pages that are put aside count as waiting.
  [[nodiscard]] takt::work_counts counts() const override;
  [[nodiscard]] std::vector<takt::work_item> incomplete() const override;

  // Marks a claimed page so that this process does not complete it: the next process fetches it
  // again. The links that it has found are still accepted.
  void put_aside(std::string_view key);

  // Returns true if links were skipped because the list is full.
  [[nodiscard]] bool is_full() const;

 private:
  struct selection {
    std::vector<takt::work_item> items;
    bool is_all = true;  // false: some items did not fit
  };

  // Require mu_.
  [[nodiscard]] selection wanted(std::span<const takt::work_item> items, std::size_t most) const;
  void remember(std::span<const takt::work_item> items);
  void note_best(std::string_view key);
  [[nodiscard]] bool is_superseded(std::string_view key) const;
  void leave(std::string_view key);

  takt::file_work_queue& file_;
  const std::size_t max_pages_;
  mutable std::mutex mu_;
  std::unordered_map<std::string, std::size_t> best_;  // URL -> smallest depth in the list
  std::size_t keys_ = 0;                               // number of keys in the list
  std::optional<takt::work_item> next_;           // claimed from the file, waiting for lower depths
  std::map<std::size_t, std::size_t> under_way_;  // depth -> number of claimed pages
  std::unordered_set<std::string> aside_;
  bool is_full_ = false;
};

}  // namespace crawl
