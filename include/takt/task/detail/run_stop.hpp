/// \file
/// The stop source of a callable that takes a token.
#pragma once

#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/mutex.hpp>
#include <takt/base/sync.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Gives each run of a callable a stop token of its own: a request that stops one run of a series
/// does not stop the next one.
///
/// A series brackets every run by begin() and end(), around the transitions of the future's state.
/// A request between an end() and the next begin() came too late for the run that it was meant for.
/// A task whose runs share one token, because it runs once or tries again, calls neither.
///
/// **Thread safety**: request() and request_next() from any thread; the rest from the thread that
/// runs. No lock is held while stop is requested. **Cost**: a source is allocated at construction,
/// and again only after a run whose stop was requested.
class run_stop {
 public:
  void begin() noexcept {
    const mutex_lock lock(mu_);
    running_ = true;
  }
  /// \return the token of the run in progress. \throws std::bad_alloc.
  [[nodiscard]] sync::stop_token token() {
    sync::stop_source current(sync::nostopstate);
    bool requested = false;
    {
      const mutex_lock lock(mu_);
      if (used_) source_ = sync::stop_source();
      used_ = false;
      current = source_;
      requested = std::exchange(next_, false);
    }
    if (requested) current.request_stop();
    return current.get_token();
  }
  void end() noexcept {
    const mutex_lock lock(mu_);
    running_ = false;
    used_ = used_ || source_.stop_requested();
  }

  /// Requests stop of the run in progress; does nothing if there is none.
  void request() noexcept { request_stop(false); }
  /// Requests stop of the run in progress, or of the next run if there is none.
  void request_next() noexcept { request_stop(true); }

 private:
  void request_stop(bool even_of_next) noexcept {
    sync::stop_source current(sync::nostopstate);
    {
      const mutex_lock lock(mu_);
      if (!running_ && !even_of_next) return;
      if (!running_ || used_) {  // token() will request it
        next_ = true;
        return;
      }
      current = source_;
    }
    current.request_stop();
  }

  mutex mu_;
  sync::stop_source source_ TAKT_GUARDED_BY(mu_);
  bool running_ TAKT_GUARDED_BY(mu_) = true;  // false between two runs of a series
  bool used_ TAKT_GUARDED_BY(mu_) =
      false;  // source_ is that of an earlier run, whose stop was requested
  bool next_ TAKT_GUARDED_BY(mu_) =
      false;  // stop of the run whose token() comes next was requested
};

/// A run of a callable that takes no token.
struct no_stop {
  static void begin() noexcept {}
  static void end() noexcept {}
  static void request() noexcept {}
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
