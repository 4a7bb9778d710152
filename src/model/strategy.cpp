#include "strategy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <vector>

namespace takt::inline TAKT_ABI {
namespace model {

std::uint64_t random_stream::next() noexcept {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint32_t random_stream::below(std::uint32_t n) noexcept {
  return static_cast<std::uint32_t>(((next() >> 32U) * n) >> 32U);
}

namespace {

// Picks and other choices use separate random streams: an additional choice in one stream does not
// shift the other.
class sampling_scheduler : public scheduler {
 public:
  explicit sampling_scheduler(std::uint64_t seed) noexcept
      : picks_(seed), choices_(seed ^ 0x5bf03635dd3bb6a1U) {}
  std::uint32_t choose(std::uint32_t n) override { return choices_.below(n); }
  std::uint32_t age(std::uint32_t n) override {
    return n < 2 || choices_.below(2) == 0 ? 0 : choices_.below(n);
  }

 protected:
  random_stream picks_;

 private:
  random_stream choices_;
};

class random_walk : public sampling_scheduler {
 public:
  using sampling_scheduler::sampling_scheduler;
  std::size_t pick(std::span<const candidate> enabled, std::size_t) override {
    return enabled[picks_.below(static_cast<std::uint32_t>(enabled.size()))].thread;
  }
};

class sticky_walk : public sampling_scheduler {
 public:
  using sampling_scheduler::sampling_scheduler;
  std::size_t pick(std::span<const candidate> enabled, std::size_t current) override {
    const bool stay = picks_.below(8) != 0;
    if (stay && std::ranges::find(enabled, current, &candidate::thread) != enabled.end()) {
      return current;
    }
    return enabled[picks_.below(static_cast<std::uint32_t>(enabled.size()))].thread;
  }
};

// Probabilistic concurrency testing (Burckhardt et al., 2010): the thread with the highest priority
// runs; at depth - 1 random steps the running thread falls below all others.
class pct : public sampling_scheduler {
 public:
  pct(std::uint64_t seed, std::uint32_t depth, std::uint64_t length) : sampling_scheduler(seed) {
    for (std::uint64_t& p : priority_) p = (std::uint64_t{1} << 32U) + (picks_.next() >> 8U);
    for (std::uint32_t i = 1; i < depth; ++i) {
      changes_.push_back(picks_.next() % std::max<std::uint64_t>(length, 1));
    }
  }
  std::size_t pick(std::span<const candidate> enabled, std::size_t) override {
    std::size_t best = highest(enabled);
    if (std::ranges::find(changes_, step_++) != changes_.end()) {
      sink(best);
      best = highest(enabled);
    }
    return best;
  }
  void yielded(std::size_t thread) override { sink(thread); }

 private:
  std::size_t highest(std::span<const candidate> enabled) const {
    return std::ranges::max_element(enabled, {},
                                    [&](const candidate& c) { return priority_[c.thread]; })
        ->thread;
  }
  void sink(std::size_t thread) { priority_[thread] = lowest_--; }

  std::array<std::uint64_t, max_threads> priority_{};
  std::vector<std::uint64_t> changes_;
  std::uint64_t lowest_ = std::uint64_t{1} << 31U;
  std::uint64_t step_ = 0;
};

// Partial-order sampling (Yuan et al., 2018): each pending operation has a random priority, drawn
// anew when a dependent operation overtakes it.
class partial_order_sampling : public sampling_scheduler {
 public:
  using sampling_scheduler::sampling_scheduler;
  std::size_t pick(std::span<const candidate> enabled, std::size_t) override {
    for (const candidate& c : enabled) {
      pending_[c.thread] = c.next;
      if (priority_[c.thread] == 0) priority_[c.thread] = picks_.next() | 1U;
    }
    return std::ranges::max_element(enabled, {},
                                    [&](const candidate& c) { return priority_[c.thread]; })
        ->thread;
  }
  void executed(std::size_t thread, const operation& done) override {
    priority_[thread] = 0;
    for (std::size_t i = 0; i < max_threads; ++i) {
      if (i != thread && priority_[i] != 0 && dependent(pending_[i], done)) priority_[i] = 0;
    }
  }
  void yielded(std::size_t thread) override { priority_[thread] = 1; }

 private:
  std::array<std::uint64_t, max_threads> priority_{};
  std::array<operation, max_threads> pending_{};
};

constexpr std::array<std::pair<strategy, std::string_view>, 4> names{{
    {strategy::random, "random"},
    {strategy::pct, "pct"},
    {strategy::pos, "pos"},
    {strategy::sticky, "sticky"},
}};

[[noreturn]] void bad_token(std::string_view token, const char* why) {
  throw std::invalid_argument("takt::model: replay token '" + std::string(token) + "': " + why);
}

std::uint64_t number(std::string_view text, std::string_view token) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    bad_token(token, "a decimal number is expected");
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

std::unique_ptr<scheduler> make_scheduler(const sample& s) {
  switch (s.how) {
    case strategy::pct:
      return std::make_unique<pct>(s.seed, s.depth, s.length);
    case strategy::pos:
      return std::make_unique<partial_order_sampling>(s.seed);
    case strategy::sticky:
      return std::make_unique<sticky_walk>(s.seed);
    default:
      return std::make_unique<random_walk>(s.seed);
  }
}

std::string to_token(const sample& s) {
  const auto name = std::ranges::find(names, s.how, [](const auto& n) { return n.first; });
  return std::string(name->second) + ":" + std::to_string(s.depth) + ":" +
         std::to_string(s.length) + ":" + std::to_string(s.seed);
}

sample sample_from_token(std::string_view token) {
  const auto parts = split(token, ':');
  if (parts.size() != 4) bad_token(token, "expected strategy:depth:length:seed");
  const auto name = std::ranges::find(names, parts[0], [](const auto& n) { return n.second; });
  if (name == names.end()) bad_token(token, "unknown strategy (random, pct, pos, sticky, dfs)");
  return {name->first, static_cast<std::uint32_t>(number(parts[1], token)), number(parts[2], token),
          number(parts[3], token)};
}

// A decision of the search: a thread, or one of the values 0..n-1.
struct exhaustive_search::node {
  std::vector<candidate> enabled;  // empty for a choice of values
  std::uint32_t values = 0;
  std::uint32_t taken = 0;     // the current run's thread or value
  std::uint32_t asleep = 0;    // bit per thread: leads only to runs equivalent to earlier ones
  std::uint32_t explored = 0;  // bit per thread: all runs through it have been made
};

// Invariants:
//  1. nodes[0..at) are the decisions of the current run so far; the run will repeat the rest.
//  2. `asleep` is the sleep set of the current state: its threads may be skipped, because runs that
//     continue with one of them are equivalent to earlier runs.
//  3. When all enabled threads sleep, the rest of the run is redundant. It is executed without
//     adding nodes, since fibers cannot be cancelled.
struct exhaustive_search::path {
  std::vector<node> nodes;
  std::size_t at = 0;
  std::uint32_t asleep = 0;
  bool redundant = false;
  bool reduced = true;
  bool fits = true;
  std::vector<std::uint32_t> given;  // decisions to repeat, from a token
  bool from_token = false;
  std::array<operation, max_threads> pending{};
};

exhaustive_search::exhaustive_search(bool reduced) : path_(std::make_unique<path>()) {
  path_->reduced = reduced;
}
exhaustive_search::~exhaustive_search() = default;

namespace {
std::uint32_t bit(std::size_t thread) { return std::uint32_t{1} << thread; }
}  // namespace

std::size_t exhaustive_search::pick(std::span<const candidate> enabled, std::size_t) {
  path& p = *path_;
  for (const candidate& c : enabled) p.pending[c.thread] = c.next;
  if (p.from_token) {
    if (p.at >= p.given.size()) return enabled.front().thread;  // the rest was redundant
    const std::size_t wanted = p.given[p.at++];
    const bool possible = std::ranges::find(enabled, wanted, &candidate::thread) != enabled.end();
    if (!possible) p.fits = false;
    return possible ? wanted : enabled.front().thread;
  }
  if (p.redundant) return enabled.front().thread;
  if (p.at == p.nodes.size()) {
    node n;
    n.enabled.assign(enabled.begin(), enabled.end());
    n.asleep = p.asleep;
    const auto awake = std::ranges::find_if(
        n.enabled, [&](const candidate& c) { return (n.asleep & bit(c.thread)) == 0; });
    if (awake == n.enabled.end()) {
      p.redundant = true;
      return enabled.front().thread;
    }
    n.taken = static_cast<std::uint32_t>(awake->thread);
    p.nodes.push_back(std::move(n));
  }
  const node& n = p.nodes[p.at++];
  p.asleep = p.reduced ? n.asleep | n.explored : 0;
  return n.taken;
}

// Which threads have taken a step since decides how a yield continues. So the order of the last
// step before it and of any other step matters, and no thread may be skipped.
void exhaustive_search::yielded(std::size_t) { path_->asleep = 0; }

bool exhaustive_search::fits() const { return path_->fits; }

void exhaustive_search::executed(std::size_t thread, const operation& done) {
  path& p = *path_;
  p.asleep &= ~bit(thread);
  for (std::size_t i = 0; i < max_threads; ++i) {
    if ((p.asleep & bit(i)) != 0 && dependent(p.pending[i], done)) p.asleep &= ~bit(i);
  }
}

std::uint32_t exhaustive_search::choose(std::uint32_t n) {
  path& p = *path_;
  if (p.from_token) {
    return p.at < p.given.size() ? std::min(p.given[p.at++], n - 1) : 0;
  }
  if (p.redundant) return 0;
  if (p.at == p.nodes.size()) {
    node fresh;
    fresh.values = n;
    p.nodes.push_back(std::move(fresh));
  }
  return p.nodes[p.at++].taken;
}

bool exhaustive_search::next_run() {
  path& p = *path_;
  p.at = 0;
  p.asleep = 0;
  p.redundant = false;
  if (p.from_token) return false;
  while (!p.nodes.empty()) {
    node& last = p.nodes.back();
    if (last.enabled.empty()) {
      if (++last.taken < last.values) return true;
    } else {
      last.explored |= bit(last.taken);
      const auto other = std::ranges::find_if(last.enabled, [&](const candidate& c) {
        return ((last.asleep | last.explored) & bit(c.thread)) == 0;
      });
      if (other != last.enabled.end()) {
        last.taken = static_cast<std::uint32_t>(other->thread);
        return true;
      }
    }
    p.nodes.pop_back();
  }
  return false;
}

std::string exhaustive_search::token() const {
  std::string text = "dfs";
  char separator = ':';
  for (const node& n : path_->nodes) {
    text += separator + std::to_string(n.taken);
    separator = '.';
  }
  return text;
}

void exhaustive_search::replay(std::string_view token) {
  path& p = *path_;
  p.at = 0;
  p.asleep = 0;
  p.redundant = false;
  p.from_token = true;
  p.given.clear();
  if (token == "dfs") return;
  if (!token.starts_with("dfs:")) bad_token(token, "expected dfs:decision.decision...");
  for (const std::string_view part : split(token.substr(4), '.')) {
    p.given.push_back(static_cast<std::uint32_t>(number(part, token)));
  }
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
