/// \file
/// Explores the interleavings of a small concurrent program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// How the next thread is picked.
enum class strategy : std::uint8_t {
  rotating,    ///< the default: in turn random, pct at depth 3, pos, sticky, pct at 5 and at 2
  random,      ///< any enabled thread, with equal chance
  pct,         ///< random priorities that change at `depth - 1` random points
  pos,         ///< partial-order sampling: random priorities per operation
  sticky,      ///< random walk that tends to stay with the running thread
  exhaustive,  ///< every interleaving that can be told apart, by depth-first search
};

/// What to explore. All defaults are sensible; tests mostly set `runs`.
struct options {
  std::uint64_t runs = 10'000;        ///< at most so many runs
  strategy how = strategy::rotating;  ///< see strategy
  std::uint32_t depth = 3;            ///< strategy::pct only: finds bugs that need at most so many
                                      ///< steps in a certain order
  std::uint64_t seed = 1;             ///< the same seed gives the same runs
  std::uint64_t max_steps = 20'000;   ///< a longer run is reported as a livelock
  bool weak_memory = true;            ///< loads may read stale values where C++ allows it
  std::uint32_t unfair_yields = 16;   ///< so many in a row may return before anybody else's step
                                      ///< (not exhaustive: there each lets others go first)
  bool spurious_wakeups = true;       ///< waits may return without a reason (not exhaustive)
  bool check_leaks = true;            ///< sync objects and memory that a run leaves are a failure
  bool reduced = true;                ///< exhaustive: one of many runs that cannot be told apart
  std::string token = {};             ///< if set: replay this one run instead
  /// If set: told of each step, by which thread (0: the clock) and what; for counting. It neither
  /// takes part in the run nor throws.
  std::function<void(std::size_t thread, const operation& done)> on_step = {};
};

/// Why a run failed, and how to see it again.
struct failure {
  std::string message;    ///< what happened, with the threads and objects involved
  std::string token;      ///< replays the run, see explore()
  std::string trace;      ///< every step of the failing run
  std::uint64_t run = 0;  ///< which run it was, counted from 1
};

/// What explore() found.
struct result {
  std::uint64_t runs = 0;                 ///< runs that were made
  std::uint64_t steps = 0;                ///< steps in all of them
  bool complete = false;                  ///< exhaustive search has seen everything
  std::optional<model::failure> failure;  ///< the first failure, if any

  /// No run failed.
  [[nodiscard]] bool clean() const noexcept { return !failure.has_value(); }
};

/// Prints the counts and, if there is one, the failure with token and trace.
std::ostream& operator<<(std::ostream& out, const result& r);

/// Runs `body` again and again, each time under another interleaving, until a run fails or all
/// runs are made.
///
/// \code
/// auto r = takt::model::explore({.runs = 1000}, [] {
///   takt::sync::atomic<int> n{0};
///   takt::sync::thread t{[&] { n.fetch_add(1); }};
///   n.fetch_add(1);
///   t.join();
///   takt::model::require(n.load() == 2, "both additions count");
/// });
/// \endcode
///
/// The body makes everything it uses; nothing lives from one run to the next. It synchronises
/// through takt::sync only and never looks at addresses, real time or other sources of chance.
/// A run fails by require(), TAKT_ASSERT, an exception that leaves a thread, a deadlock, a
/// livelock, a data race on a sync::var or a misused sync object. It ends when all of its threads
/// have ended; sync objects that are alive then are a failure, and so is memory of the run that was
/// not freed (with ASan and TSan the heap is left to them).
///
/// The token of a failure makes that run again: strategy, depth, estimated length and seed, or, for
/// exhaustive search, the list of all decisions (`dfs:1.2.0...`). It is good for the same body and
/// the same other options; `runs`, `how`, `depth` and `seed` do not count, since the token holds
/// them.
///
/// Not thread-safe: one exploration at a time in a process. Throws std::invalid_argument for a
/// malformed token.
[[nodiscard]] result explore(const options& opts, const std::function<void()>& body);

/// Fails the run unless `condition` holds.
inline void require(bool condition, const char* message) noexcept {
  if (!condition) fail(message);
}

/// Is a run under way?
bool exploring() noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI
