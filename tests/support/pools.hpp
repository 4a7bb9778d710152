// Shared by tests of executors: ordering without sleeping, and the ledger.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future.hpp>
#include <takt/task/unhandled.hpp>

namespace takt_test {

// Opens once, for all waiting threads.
class gate {
 public:
  void open() { opened_.set_value(); }
  void wait() const { is_open_.wait(); }
  template <class Duration>
  bool wait_for(Duration timeout) const {
    return is_open_.wait_for(timeout);
  }
  [[nodiscard]] bool is_open() const { return is_open_.is_ready(); }

 private:
  takt::promise<void> opened_;
  takt::future<void> is_open_ = opened_.get_future();
};

// Counts, and lets other threads wait for a count.
class tally {
 public:
  void add() {
    const takt::detail::mutex_lock lock(mu_);
    ++count_;
    changed_.notify_all();
  }
  void wait_for(std::size_t count) const {
    takt::detail::mutex_lock lock(mu_);
    while (count_ < count) changed_.wait(lock);
  }
  [[nodiscard]] std::size_t count() const {
    const takt::detail::mutex_lock lock(mu_);
    return count_;
  }

 private:
  mutable takt::detail::mutex mu_;
  mutable takt::detail::condition changed_;
  std::size_t count_ TAKT_GUARDED_BY(mu_) = 0;
};

// Blocks until stop is requested.
inline void until_stopped(const takt::sync::stop_token& stop) {
  gate stopped;
  const takt::sync::stop_callback on_stop(stop, [&] { stopped.open(); });
  stopped.wait();
}

// Keeps threads of a pool busy from its construction until release() or its destruction.
class busy {
 public:
  template <takt::executor Pool>
  busy(Pool& pool, std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      pool.execute([shared = shared_] {
        shared->begun.add();
        shared->go_on.wait();
      });
    }
    shared_->begun.wait_for(threads);
  }
  ~busy() { release(); }
  busy(const busy&) = delete;
  busy& operator=(const busy&) = delete;

  void release() {
    if (!shared_->go_on.is_open()) shared_->go_on.open();
  }

 private:
  struct state {
    tally begun;
    gate go_on;
  };
  std::shared_ptr<state> shared_ = std::make_shared<state>();
};

// Records the errors that the unhandled hook receives.
class recording_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled kind, const std::exception_ptr& error) const noexcept override {
    std::string text = "?";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      text = e.what();
    } catch (...) {
    }
    const takt::detail::mutex_lock lock(mu_);
    (kind == takt::unhandled::uncaught ? uncaught_ : unobserved_).push_back(std::move(text));
  }
  [[nodiscard]] std::vector<std::string> uncaught() const {
    const takt::detail::mutex_lock lock(mu_);
    return uncaught_;
  }
  [[nodiscard]] std::vector<std::string> unobserved() const {
    const takt::detail::mutex_lock lock(mu_);
    return unobserved_;
  }
  // The same; clears the list.
  std::vector<std::string> take_unobserved() {
    const takt::detail::mutex_lock lock(mu_);
    return std::exchange(unobserved_, {});
  }

 private:
  mutable takt::detail::mutex mu_;
  mutable std::vector<std::string> uncaught_ TAKT_GUARDED_BY(mu_);
  mutable std::vector<std::string> unobserved_ TAKT_GUARDED_BY(mu_);
};

// Returns the reason if `call` was rejected.
template <class Call>
std::optional<takt::rejection> rejection_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const takt::rejected& r) {
    return r.reason();
  }
  return std::nullopt;
}

// Returns true if `call` throws resource_deadlock_would_occur.
template <class Call>
bool finds_deadlock(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const std::system_error& e) {
    return e.code() == std::errc::resource_deadlock_would_occur;
  }
  return false;
}

// Requires a terminated pool: each task has had one outcome, and no thread is left.
template <class Pool>
void expect_balance(const Pool& pool) {
  EXPECT_TRUE(pool.is_terminated());
  const takt::task_totals tasks = pool.totals();
  EXPECT_EQ(tasks.submitted, tasks.rejected + tasks.finished + tasks.cancelled + tasks.returned);
  EXPECT_EQ(tasks.pending(), 0u);
  EXPECT_EQ(tasks.running(), 0u);
  const takt::pool_statistics s = pool.statistics();
  EXPECT_EQ(s.queued, 0u);
  EXPECT_EQ(s.active, 0u);
  EXPECT_EQ(s.threads, 0u);
}

// All figures of a terminated pool.
struct last_figures : takt::pool_statistics {
  takt::task_totals tasks;
};

// Drains a pool and returns its figures.
inline last_figures drain(takt::thread_pool& pool) {
  EXPECT_TRUE(pool.close(takt::drain));
  expect_balance(pool);
  return {pool.statistics(), pool.totals()};
}

}  // namespace takt_test
