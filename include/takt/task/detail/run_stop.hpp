/// \file
/// The stop source of a callable that takes a token.
#pragma once

#include <cstddef>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Provides a stop token for each run of a callable: a request that stops one run of a series does
/// not stop the next one.
///
/// The code that runs the callable calls begin() before and end() after the run, outside the
/// transitions of the future's state. A request that finds no run between the two was late for its
/// run. A task that retries, so that its runs share one token, calls neither. Overlapping runs
/// share a token.
///
/// **Thread safety.** All members may be called concurrently. No lock is held while stop is
/// requested.
///
/// **Cost.** The constructor allocates a stop source; another one is allocated only after a run
/// whose stop was requested.
class run_stop {
 public:
  void begin() noexcept {
    const mutex_lock lock(mu_);
    bracketed_ = true;
    ++runs_;
  }
  /// Returns the token of the run in progress. \throws std::bad_alloc.
  [[nodiscard]] sync::stop_token token() {
    sync::stop_source current(sync::nostopstate);
    bool requested = false;
    {
      const mutex_lock lock(mu_);
      if (!given_ && used_) source_ = sync::stop_source();
      if (!given_) used_ = false;
      given_ = true;
      requested = std::exchange(next_, false);
      used_ = used_ || requested;
      current = source_;
    }
    if (requested) current.request_stop();
    return current.get_token();
  }
  void end() noexcept {
    const mutex_lock lock(mu_);
    if (--runs_ == 0) given_ = false;
  }

  /// Requests stop of the run in progress. Returns false if there is none.
  bool request() noexcept { return request_stop(false); }
  /// Requests stop of the run in progress, or of the next run if there is none.
  void request_next() noexcept { static_cast<void>(request_stop(true)); }

 private:
  bool request_stop(bool even_of_next) noexcept {
    sync::stop_source current(sync::nostopstate);
    {
      const mutex_lock lock(mu_);
      if (bracketed_ && runs_ == 0 && !even_of_next) return false;
      if (!given_) {  // token() will request it
        next_ = true;
        return true;
      }
      used_ = true;  // under the lock: this thread may be late, and a later run needs a new source
      current = source_;
    }
    current.request_stop();
    return true;
  }

  mutex mu_;
  sync::stop_source source_ TAKT_GUARDED_BY(mu_);
  std::size_t runs_ TAKT_GUARDED_BY(mu_) = 0;    // between begin() and end()
  bool bracketed_ TAKT_GUARDED_BY(mu_) = false;  // begin() has been called
  bool given_ TAKT_GUARDED_BY(mu_) = false;      // the run in progress has a token of source_
  bool used_ TAKT_GUARDED_BY(mu_) = false;       // stop of source_ has been or will be requested
  bool next_ TAKT_GUARDED_BY(mu_) = false;       // the next token() requests stop
};

/// Replaces run_stop for a callable that takes no token.
struct no_stop {
  static void begin() noexcept {}
  static void end() noexcept {}
  static bool request() noexcept { return true; }
  static void request_next() noexcept {}
};

/// Calls begin() and end() of `stop`.
template <class Stop>
class run_scope {
 public:
  explicit run_scope(Stop& stop) noexcept : stop_(stop) { stop_.begin(); }
  ~run_scope() { stop_.end(); }
  run_scope(const run_scope&) = delete;
  run_scope& operator=(const run_scope&) = delete;

 private:
  Stop& stop_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
