// The list of the program crawl: which pages belong to it, at which depth, and in which order they
// are fetched.
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

// What decides which links are followed, and so which pages belong to a list: kept in its metadata,
// as a page that is confirmed has only had the links followed that these let through.
struct filters {
  std::size_t depth = 5;
  bool any_host = false;
  std::set<std::string> hosts{};
  bool has_error_status = false;  // a page has answered with 400 or more: no filter, but kept there

  [[nodiscard]] bool allow_host(const std::string& host) const {
    return any_host || hosts.contains(host);
  }
  friend bool operator==(const filters&, const filters&) = default;
};

// As lines of text, and back. None if the text was not written by to_text().
std::string to_text(const filters& all);
std::optional<filters> parse_filters(std::string_view text);

// A page at a depth: how many links it is away from the URLs. URL#DEPTH is its key in the list: the
// addresses there have no fragment.
struct page {
  std::string url;
  std::size_t depth = 0;
  friend bool operator==(const page&, const page&) = default;
};
std::string key_of(const page& p);
std::optional<page> parse_key(std::string_view key);

// What the crawler of the program takes its items from: a file_work_queue, and three rules.
//
// Levels: no page is handed out while a page of a lower depth is under way, so that the shortest
// path to a page is usually found first, and it is fetched once.
//
// The shorter path wins: a page may yet be found by a shorter path later, as a page on that path
// did not answer before, or was added as a URL. Then it is accepted again, with its smaller depth;
// a longer path is never accepted after a shorter one, and pages that wait at the greater depth are
// confirmed and not handed out. So the pages that were fetched in the end are those within the
// depth, whatever the timing and the order.
//
// The limit: complete() adds links only while the list has fewer than `max_pages` keys. A page
// whose links do not fit is not confirmed. enqueue() is for the URLs of the command line: they
// count, but the limit leaves none of them out, as nothing in the file would mention them.
//
// The file has all that this needs: opened again, it goes on in the same way. The public members
// are thread-safe.
class page_list final : public takt::work_queue {
 public:
  // The file outlives it.
  page_list(takt::file_work_queue& file, std::size_t max_pages);

  std::size_t enqueue(std::span<const takt::work_item> items) override;
  using work_queue::enqueue;
  [[nodiscard]] std::optional<takt::work_item> claim() override;
  using work_queue::complete;
  std::size_t complete(std::string_view key, std::span<const takt::work_item> found) override;
  void release(std::string_view key) override;
  // Pages that were put aside count as waiting.
  [[nodiscard]] takt::work_counts counts() const override;
  [[nodiscard]] std::vector<takt::work_item> incomplete() const override;

  // A page that is under way will not be confirmed by this process; it waits for the next one. What
  // it has found may still be confirmed, and is accepted.
  void put_aside(std::string_view key);

  // Whether links were left out as the list is full.
  [[nodiscard]] bool is_full() const;

 private:
  struct selection {
    std::vector<takt::work_item> items;
    bool is_all = true;  // false: there was no room for others
  };

  // With mu_ locked.
  [[nodiscard]] selection wanted(std::span<const takt::work_item> items, std::size_t most) const;
  void remember(std::span<const takt::work_item> items);
  void note_best(std::string_view key);
  [[nodiscard]] bool is_superseded(std::string_view key) const;
  void leave(std::string_view key);

  takt::file_work_queue& file_;
  const std::size_t max_pages_;
  mutable std::mutex mu_;
  std::unordered_map<std::string, std::size_t> best_;  // URL -> smallest depth in the list
  std::size_t keys_ = 0;                               // in the list, of all kinds
  std::optional<takt::work_item> next_;                // claimed, and waits for lower depths
  std::map<std::size_t, std::size_t> under_way_;       // depth -> how many pages
  std::unordered_set<std::string> aside_;
  bool is_full_ = false;
};

}  // namespace crawl
