/// \file
/// The part of a channel that does not depend on the type.
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

/// The part of a channel that does not depend on the type: who may go on, and who waits. The
/// states and invariants are in channel.cpp. For channel.
class channel_core {
 public:
  channel_core(const channel_core&) = delete;
  channel_core& operator=(const channel_core&) = delete;

  /// Takes no more. Who waits for room already is still let in, and consumers get all that is in
  /// before they get the end.
  void close() noexcept;

  /// Whether it takes no more: closed, aborted, or all producers have ended.
  [[nodiscard]] bool is_closed() const;
  /// Whether it takes no more, and there is nothing left to take, now or later.
  [[nodiscard]] bool is_at_end() const;
  /// How many values are queued.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] channel_statistics statistics() const;
  [[nodiscard]] const clock& time() const noexcept { return time_; }

 protected:
  explicit channel_core(const channel_options& how);
  ~channel_core();

  void add_producer();
  void remove_producer() noexcept;
  void add_consumer();
  /// \return whether it was the last one, and there is or will be something that nobody will take.
  [[nodiscard]] bool remove_consumer() noexcept TAKT_REQUIRES(mu_);

  /// Gets room for one value, without waiting or with; the caller then adds it, still locked.
  push_result look_for_room() noexcept TAKT_REQUIRES(mu_);
  push_result wait_for_room(mutex_lock& lock, clock::time_point deadline,
                            const sync::stop_token& stop) TAKT_REQUIRES(mu_);
  void added() noexcept TAKT_REQUIRES(mu_);
  void count_refused(push_result why) noexcept TAKT_REQUIRES(mu_);

  /// Waits until there is a value, or the end; the caller then takes one out, still locked.
  bool has_to_wait() const noexcept TAKT_REQUIRES(mu_) { return size_ == 0 && !at_end(); }
  void wait_for_value(mutex_lock& lock, clock::time_point deadline, const sync::stop_token& stop)
      TAKT_REQUIRES(mu_);
  void removed() noexcept TAKT_REQUIRES(mu_);
  /// The caller takes out all values.
  void aborted() noexcept TAKT_REQUIRES(mu_);

  /// How long push() waits for room, and what it makes of the result.
  [[nodiscard]] clock::time_point push_deadline() const;
  [[nodiscard]] bool is_in(push_result result) const;

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
  std::size_t promised_ TAKT_GUARDED_BY(mu_) = 0;  // room for those that are on their way out of it
  std::size_t producers_ TAKT_GUARDED_BY(mu_) = 0;
  std::size_t consumers_ TAKT_GUARDED_BY(mu_) = 0;
  bool open_ TAKT_GUARDED_BY(mu_) = true;
  bool aborted_ TAKT_GUARDED_BY(mu_) = false;
  channel_statistics seen_ TAKT_GUARDED_BY(mu_);  // but for queued and waiting
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
