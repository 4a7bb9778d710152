/// \file
/// Where a worker runs its tasks.
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

/// An executor that a worker owns. For the rx module.
class owned_executor {
 public:
  virtual ~owned_executor() = default;
  virtual void stop() noexcept = 0;

 protected:
  owned_executor() = default;
  owned_executor(const owned_executor&) = default;
  owned_executor& operator=(const owned_executor&) = default;
};

/// The same with its type.
template <class E>
class owned_executor_of final : public owned_executor {
 public:
  explicit owned_executor_of(std::unique_ptr<E> e) noexcept : held_(std::move(e)) {}
  void stop() noexcept override { static_cast<void>(held_->shutdown_now()); }
  [[nodiscard]] E& get() const noexcept { return *held_; }

 private:
  std::unique_ptr<E> held_;
};

/// What the workers of a scheduler have in common; they keep it. For the rx module.
class worker_group final : public ref_counted<worker_group> {
 public:
  explicit worker_group(const clock& time) : life(time) {}

  /// Ends it, if it was shut down and none is left.
  void end_if_over() noexcept {
    if (life.try_tidy(true)) life.terminate();
  }

  lifecycle life;                      ///< Counts those that nobody but their task keeps.
  sync::atomic<bool> stopping{false};  ///< Set before they are closed: what runs is asked to stop.

 private:
  friend class ref_counted<worker_group>;
  ~worker_group() = default;
};

/// Where a worker runs its tasks. For the rx module.
struct worker_place {
  enum class kind : std::uint8_t {
    strand,      ///< One after the other on `where`, whatever its threads.
    direct,      ///< On `where`, which is serial and the same as `timers`.
    trampoline,  ///< On the thread that schedules, unless one does already.
    immediate,   ///< Within schedule().
  };
  kind how = kind::strand;
  std::optional<any_executor> where{};
  takt::scheduler* timers = nullptr;
  std::unique_ptr<owned_executor> owned{};
  bool errors_leave_run = false;        ///< What a task throws goes to who runs `where`.
  intrusive_ptr<worker_group> group{};  ///< If it is one of many.
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
