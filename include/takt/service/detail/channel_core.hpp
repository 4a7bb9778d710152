/// \file
/// The type-independent part of a channel.
#pragma once

#include <cstddef>

#include <takt/base/config.hpp>
#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/detail/thread_annotations.hpp>
#include <takt/clock/clock.hpp>
#include <takt/clock/detail/timed_condition.hpp>
#include <takt/service/channel_options.hpp>
#include <takt/service/when_full.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The type-independent part of a channel: counts, states and waiting. channel_core.cpp lists the
/// states and invariants. For channel only.
class channel_core {
 public:
  channel_core(const channel_core&) = delete;
  channel_core& operator=(const channel_core&) = delete;

  /// Closes the intake. Producers that already wait keep their reservations; consumers get all
  /// queued values before the end.
  void close() noexcept;

  /// True after close(), abort() or the end of the last producer.
  [[nodiscard]] bool is_closed() const;
  /// True if the channel is closed and no value is queued or reserved.
  [[nodiscard]] bool is_at_end() const;
  /// Number of queued values.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] channel_statistics statistics() const;
  [[nodiscard]] const clock& time() const noexcept { return time_; }

 protected:
  explicit channel_core(const channel_options& options);
  ~channel_core();

  void add_producer();
  void remove_producer() noexcept;
  void add_consumer();
  /// \return true if this was the last consumer and values are queued or may still come.
  [[nodiscard]] bool remove_consumer() noexcept TAKT_REQUIRES(mu_);

  /// Try to reserve room for one value; the caller adds the value under the same lock.
  push_result try_reserve() noexcept TAKT_REQUIRES(mu_);
  push_result reserve_until(mutex_lock& lock, clock::time_point deadline,
                            const sync::stop_token& stop) TAKT_REQUIRES(mu_);
  void added() noexcept TAKT_REQUIRES(mu_);
  void count_refused(push_result why) noexcept TAKT_REQUIRES(mu_);

  /// Waits for a value or the end; the caller removes the value under the same lock.
  bool must_wait() const noexcept TAKT_REQUIRES(mu_) { return size_ == 0 && !at_end(); }
  void wait_for_value(mutex_lock& lock, clock::time_point deadline, const sync::stop_token& stop)
      TAKT_REQUIRES(mu_);
  void removed() noexcept TAKT_REQUIRES(mu_);
  /// The caller removes all values.
  void aborted() noexcept TAKT_REQUIRES(mu_);

  /// The deadline of push() by its when_full policy, and its return value or exception.
  [[nodiscard]] clock::time_point push_deadline() const;
  [[nodiscard]] bool check_push(push_result result) const;

  mutable mutex mu_;

 private:
  bool at_end() const noexcept TAKT_REQUIRES(mu_) { return !open_ && size_ + promised_ == 0; }
  void end_intake() noexcept TAKT_REQUIRES(mu_);

  // Constant after construction.
  const std::size_t capacity_;
  const when_full full_;
  const clock& time_;

  timed_condition room_ TAKT_GUARDED_BY(mu_);   // producers
  timed_condition value_ TAKT_GUARDED_BY(mu_);  // consumers
  std::size_t size_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t waiting_ TAKT_GUARDED_BY(mu_) = 0;   // producers in room_
  std::size_t promised_ TAKT_GUARDED_BY(mu_) = 0;  // room for notified producers not yet back
  std::size_t producers_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t consumers_ TAKT_GUARDED_BY(mu_) = 0;
  bool open_ TAKT_GUARDED_BY(mu_) = true;
  bool aborted_ TAKT_GUARDED_BY(mu_) = false;
  channel_statistics totals_ TAKT_GUARDED_BY(mu_);  // without `queued` and `waiting`
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
