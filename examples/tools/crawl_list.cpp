#include "crawl_list.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace crawl {
namespace {

constexpr std::string_view first_line = "takt crawl 1";

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stopped != end || std::to_string(n) != text) return std::nullopt;
  return n;
}

// The depth of an item; 0 for items that crawl has not added.
std::size_t depth_of(std::string_view key) {
  const std::optional<page> p = parse_key(key);
  return p ? p->depth : 0;
}

}  // namespace

std::string to_text(const filters& all) {
  std::string text(first_line);
  text += "\ndepth " + std::to_string(all.depth);
  text += std::string("\nany-host ") + (all.any_host ? "yes" : "no");
  text += std::string("\nerror-status ") + (all.has_error_status ? "yes" : "no");
  for (const std::string& host : all.hosts) text += "\nhost " + host;
  return text + "\n";
}

std::optional<filters> parse_filters(std::string_view text) {
  filters all;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::string_view name = line.substr(0, line.find(' '));
    const std::string_view value = line.substr(std::min(name.size() + 1, line.size()));
    if (name == "depth") {
      all.depth = parse_number(value).value_or(0);
    } else if (name == "any-host") {
      all.any_host = value == "yes";
    } else if (name == "error-status") {
      all.has_error_status = value == "yes";
    } else if (name == "host") {
      all.hosts.emplace(value);
    }
  }
  if (to_text(all) != text) return std::nullopt;  // a line is missing, unknown or malformed
  return all;
}

std::string key_of(const page& p) { return p.url + '#' + std::to_string(p.depth); }

std::optional<page> parse_key(std::string_view key) {
  const std::size_t mark = key.find('#');
  if (mark == std::string_view::npos) return std::nullopt;
  const std::optional<std::size_t> depth = parse_number(key.substr(mark + 1));
  if (!depth) return std::nullopt;
  return page{std::string(key.substr(0, mark)), *depth};
}

page_list::page_list(takt::file_work_queue& file, std::size_t max_pages)
    : file_(file), max_pages_(max_pages) {
  const std::vector<std::string> completed = file.completed_keys();
  const std::vector<takt::work_item> open = file.incomplete();
  for (const std::string& key : completed) note_best(key);
  for (const takt::work_item& item : open) note_best(item.key);
  keys_ = completed.size() + open.size();
}

void page_list::note_best(std::string_view key) {
  const std::optional<page> p = parse_key(key);
  if (!p) return;
  const auto [at, is_new] = best_.try_emplace(p->url, p->depth);
  if (!is_new) at->second = std::min(at->second, p->depth);
}

bool page_list::is_superseded(std::string_view key) const {
  const std::optional<page> p = parse_key(key);
  if (!p) return false;
  const auto at = best_.find(p->url);
  return at != best_.end() && at->second < p->depth;
}

// Selects items whose pages are new or were found by a shorter path, at most `most` of them.
page_list::selection page_list::wanted(std::span<const takt::work_item> items,
                                       std::size_t most) const {
  selection some;
  std::unordered_set<std::string_view> keys;
  for (const takt::work_item& item : items) {
    const std::optional<page> p = parse_key(item.key);
    if (!p) continue;
    const auto at = best_.find(p->url);
    if ((at != best_.end() && at->second <= p->depth) || !keys.insert(item.key).second) continue;
    if (some.items.size() == most) {
      some.is_all = false;
      break;
    }
    some.items.push_back(item);
  }
  return some;
}

// Records items that the file has accepted.
void page_list::remember(std::span<const takt::work_item> items) {
  for (const takt::work_item& item : items) note_best(item.key);
  keys_ += items.size();
}

// Records that a page is no longer claimed.
void page_list::leave(std::string_view key) {
  const auto at = under_way_.find(depth_of(key));
  if (at != under_way_.end() && --at->second == 0) under_way_.erase(at);
}

std::size_t page_list::enqueue(std::span<const takt::work_item> items) {
  const std::lock_guard lock(mu_);
  const selection some = wanted(items, items.size());
  if (some.items.empty()) return 0;
  const std::size_t added = file_.enqueue(some.items);
  remember(some.items);
  return added;
}

std::optional<takt::work_item> page_list::claim() {
  const std::lock_guard lock(mu_);
  for (;;) {
    if (!next_) next_ = file_.claim();
    if (!next_) return std::nullopt;
    if (is_superseded(next_->key)) {
      file_.complete(next_->key);
      next_.reset();
      continue;
    }
    const std::size_t depth = depth_of(next_->key);
    if (!under_way_.empty() && under_way_.begin()->first < depth) return std::nullopt;
    ++under_way_[depth];
    return std::exchange(next_, std::nullopt);
  }
}

std::size_t page_list::complete(std::string_view key, std::span<const takt::work_item> found) {
  const std::lock_guard lock(mu_);
  const selection some = wanted(found, max_pages_ - std::min(keys_, max_pages_));
  const bool is_aside = aside_.contains(std::string(key));
  std::size_t added = 0;
  if (some.is_all && !is_aside) {
    added = file_.complete(key, some.items);
  } else if (!some.items.empty()) {
    added = file_.enqueue(some.items);
  }
  remember(some.items);
  if (!some.is_all) {
    is_full_ = true;
    aside_.emplace(key);
  }
  if (!is_aside) leave(key);
  return added;
}

void page_list::release(std::string_view key) {
  const std::lock_guard lock(mu_);
  file_.release(key);
  if (aside_.erase(std::string(key)) == 0) leave(key);
}

void page_list::put_aside(std::string_view key) {
  const std::lock_guard lock(mu_);
  if (aside_.emplace(key).second) leave(key);
}

takt::work_counts page_list::counts() const {
  const std::lock_guard lock(mu_);
  takt::work_counts now = file_.counts();
  const std::size_t kept =
      aside_.size() + (next_ ? 1 : 0);  // claimed from the file, but not by the crawler
  now.claimed -= kept;
  now.waiting += kept;
  return now;
}

std::vector<takt::work_item> page_list::incomplete() const { return file_.incomplete(); }

bool page_list::is_full() const {
  const std::lock_guard lock(mu_);
  return is_full_;
}

}  // namespace crawl
