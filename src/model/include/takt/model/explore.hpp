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

/// The strategies that pick the next thread.
enum class strategy : std::uint8_t {
  rotating,    ///< the default: alternates random, pct at depth 3, pos, sticky, pct at 5, pct at 2
  random,      ///< any enabled thread, with equal probability
  pct,         ///< PCT (Burckhardt et al.): random priorities, changed at `depth - 1` random steps
  pos,         ///< partial-order sampling (Yuan et al.): random priorities of operations
  sticky,      ///< a random walk that mostly keeps the running thread
  exhaustive,  ///< every distinguishable interleaving, by depth-first search with sleep sets
};

/// Options of explore(). Tests mostly set `runs` only.
struct options {
  std::uint64_t runs = 10'000;        ///< maximum number of runs
  strategy how = strategy::rotating;  ///< see strategy
  std::uint32_t depth = 3;            ///< pct only: finds bugs that need at most this many steps
                                      ///< in a certain order
  std::uint64_t seed = 1;             ///< the same seed gives the same runs
  std::uint64_t max_steps = 20'000;   ///< a longer run fails as a livelock
  bool weak_memory = true;            ///< loads may read stale values where C++ allows it
  std::uint32_t unfair_yields = 16;   ///< maximum number of consecutive yields without a step of
                                      ///< another thread (exhaustive: 0)
  bool spurious_wakeups = true;       ///< waits may return spuriously (exhaustive: never)
  bool check_leaks = true;            ///< a run fails if it leaves sync objects or memory
  bool reduced = true;                ///< exhaustive: make only one of several equivalent runs
  std::string token = {};             ///< if set: replay this one run instead
  /// Called for each step, if set, with the thread (0: the clock) and the operation; for counting.
  /// It must neither use sync objects of the run nor throw.
  std::function<void(std::size_t thread, const operation& done)> on_step = {};
};

/// The failure of a run.
struct failure {
  std::string message;    ///< the reason, with the threads and objects involved
  std::string token;      ///< replays the run; see explore()
  std::string trace;      ///< every step of the failing run
  std::uint64_t run = 0;  ///< the number of the run, counted from 1
};

/// The result of explore().
struct result {
  std::uint64_t runs = 0;                 ///< number of runs
  std::uint64_t steps = 0;                ///< number of steps of all runs
  bool complete = false;                  ///< the exhaustive search is complete
  std::optional<model::failure> failure;  ///< the first failure, if any

  /// True if no run failed.
  [[nodiscard]] bool clean() const noexcept { return !failure.has_value(); }
};

/// Prints the counts and the failure, if any, with token and trace.
std::ostream& operator<<(std::ostream& out, const result& r);

/// Runs `body` repeatedly, each time with another interleaving, until a run fails or all runs are
/// made.
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
/// The body creates every object that it uses; no state survives a run. It synchronises through
/// takt::sync only, and does not depend on addresses, real time or other nondeterminism.
///
/// A run fails by require(), TAKT_ASSERT, an exception that leaves a thread, a deadlock, a
/// livelock, a data race on a sync::var or a misused sync object. It ends when all of its threads
/// have ended. It then also fails if sync objects are alive or memory was not freed (with ASan and
/// TSan the heap is left to them).
///
/// The token of a failure replays its run. It holds strategy, depth, estimated length and seed; for
/// exhaustive search, the list of all decisions (`dfs:1.2.0...`). It requires the same body and the
/// same other options; `runs`, `how`, `depth` and `seed` are ignored, since the token has them.
///
/// **Errors.** Throws std::invalid_argument for a malformed token. **Thread safety**: one
/// exploration at a time in a process.
[[nodiscard]] result explore(const options& opts, const std::function<void()>& body);

/// Fails the run unless `condition` holds.
inline void require(bool condition, const char* message) noexcept {
  if (!condition) fail(message);
}

/// Returns whether a run is in progress.
bool exploring() noexcept;

}  // namespace model
}  // namespace takt::inline TAKT_ABI
