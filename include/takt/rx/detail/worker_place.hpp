/// \file
/// How and on which executor a worker runs its tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/any_executor.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// An executor owned by a worker, with its type erased.
class owned_executor {
 public:
  virtual ~owned_executor() = default;
  virtual void stop() noexcept = 0;

 protected:
  owned_executor() = default;
  owned_executor(const owned_executor&) = default;
  owned_executor& operator=(const owned_executor&) = default;
};

/// Owns an executor of type E.
template <class E>
class owned_executor_of final : public owned_executor {
 public:
  explicit owned_executor_of(std::unique_ptr<E> e) noexcept : held_(std::move(e)) {}
  void stop() noexcept override { static_cast<void>(held_->shutdown_now()); }
  [[nodiscard]] E& get() const noexcept { return *held_; }

 private:
  std::unique_ptr<E> held_;
};

/// State shared by the workers of one scheduler; each worker holds a reference.
class worker_group final : public ref_counted<worker_group> {
 public:
  explicit worker_group(const clock& time) : life(time) {}

  /// Terminates the group if it was shut down and counts no worker any more.
  void end_if_over() noexcept {
    if (life.try_tidy(true)) life.terminate();
  }

  lifecycle life;                      ///< Counts the workers that only their task keeps alive.
  sync::atomic<bool> stopping{false};  ///< Set before the workers close: requests stop of tasks.

 private:
  friend class ref_counted<worker_group>;
  ~worker_group() = default;
};

/// How and on which executor a worker runs its tasks.
struct worker_place {
  enum class kind : std::uint8_t {
    strand,      ///< Sequentially on `executor`, whatever its threads.
    direct,      ///< On `executor`, which is serial and identical to `timers`.
    trampoline,  ///< On the scheduling thread, unless a thread is running tasks already.
    immediate,   ///< Within schedule().
  };
  kind access = kind::strand;
  std::optional<any_executor> executor{};
  takt::scheduler* timers = nullptr;
  std::unique_ptr<owned_executor> owned{};
  bool errors_leave_run =
      false;  ///< Errors of tasks are thrown to the thread that runs `executor`.
  intrusive_ptr<worker_group> group{};  ///< Null if the worker does not come from a scheduler.
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
