// States
//   open     accepts values
//   closed   accepts values only of producers that wait already; consumers pop what is left
//   aborted  accepts nothing and holds nothing; nothing waits
//
//   open         -> closed    close(), or the last producer ends
//   open, closed -> aborted   abort(), or the last consumer ends before the channel is at its end
//
// A producer that finds no room waits in room_. A consumer that pops a value while producers wait
// promises the room to the one that has waited longest, and wakes it. That producer then adds its
// value, even if its deadline has passed or its stop is requested by then.
//
// Invariants
//   1. size_ + promised_ <= capacity_, with equality while producers wait. So no producer
//      overtakes a waiting one, and while producers wait, values are queued or promised.
//   2. A producer that was notified in room_ has a promise, or the channel is aborted: nothing else
//      notifies room_. A promise is kept or revoked by the abort.
//   3. Consumers wait in value_ only while no value is queued and the channel is not at its end.
//      What brings the end notifies all of them: closing with nothing left, popping the last value
//      of a closed channel, the abort.
//   4. Values are constructed, moved and destroyed without the lock.
#include <takt/service/detail/channel_core.hpp>

#include <stdexcept>

#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
namespace {

std::size_t checked_capacity(const channel_options& options) {
  if (options.capacity == 0) {
    throw std::invalid_argument("takt::channel: capacity is 0, and has to be at least 1");
  }
  if (options.time == nullptr) throw std::invalid_argument("takt::channel: time is null");
  return options.capacity;
}

}  // namespace

channel_core::channel_core(const channel_options& options)
    : capacity_(checked_capacity(options)), full_(options.rejection), time_(*options.time) {}

channel_core::~channel_core() { TAKT_ASSERT(producers_ == 0 && consumers_ == 0 && waiting_ == 0); }

push_result channel_core::try_reserve() noexcept {
  if (!open_) return push_result::closed;
  return size_ + promised_ < capacity_ ? push_result::accepted : push_result::full;
}

push_result channel_core::reserve_until(mutex_lock& lock, clock::time_point deadline,
                                        const sync::stop_token& stop) {
  if (const push_result now = try_reserve(); now != push_result::full) return now;
  ++waiting_;
  const bool notified = room_.wait_until(lock, time_, deadline, stop);
  if (aborted_) return push_result::closed;
  if (notified) {
    --promised_;
    return push_result::accepted;
  }
  --waiting_;
  return stop.stop_requested() ? push_result::stopped : push_result::full;
}

void channel_core::count_refused(push_result why) noexcept {
  ++(why == push_result::full && full_.drops() ? totals_.dropped : totals_.refused);
}

void channel_core::added() noexcept {
  ++size_;
  ++totals_.accepted;
  value_.notify_one();
}

void channel_core::wait_for_value(mutex_lock& lock, clock::time_point deadline,
                                  const sync::stop_token& stop) {
  bool goes_on = true;
  while (goes_on && must_wait()) goes_on = value_.wait_until(lock, time_, deadline, stop);
}

void channel_core::removed() noexcept {
  --size_;
  ++totals_.taken;
  if (waiting_ != 0) {
    --waiting_;
    ++promised_;
    room_.notify_one();
  } else if (at_end()) {
    value_.notify_all();
  }
}

void channel_core::end_intake() noexcept {
  open_ = false;
  if (at_end()) value_.notify_all();
}

void channel_core::close() noexcept {
  const mutex_lock lock(mu_);
  end_intake();
}

void channel_core::aborted() noexcept {
  totals_.discarded += size_;
  size_ = 0;
  waiting_ = 0;
  promised_ = 0;
  aborted_ = true;
  room_.notify_all();
  end_intake();
}

void channel_core::add_producer() {
  const mutex_lock lock(mu_);
  if (!open_) throw rejected(rejection::shut_down);
  ++producers_;
}

void channel_core::remove_producer() noexcept {
  const mutex_lock lock(mu_);
  if (--producers_ == 0) end_intake();
}

void channel_core::add_consumer() {
  const mutex_lock lock(mu_);
  ++consumers_;
}

bool channel_core::remove_consumer() noexcept { return --consumers_ == 0 && !at_end(); }

clock::time_point channel_core::push_deadline() const {
  if (!full_.waits()) return clock::time_point::min();
  if (full_.timeout() == never) return clock::time_point::max();
  return deadline_after(time_.now(), full_.timeout());
}

bool channel_core::check_push(push_result result) const {
  if (result == push_result::closed) throw rejected(rejection::shut_down);
  if (result == push_result::full && !full_.drops()) {
    throw rejected(full_.waits() ? rejection::timed_out : rejection::saturated);
  }
  return result == push_result::accepted;
}

bool channel_core::is_closed() const {
  const mutex_lock lock(mu_);
  return !open_;
}

bool channel_core::is_at_end() const {
  const mutex_lock lock(mu_);
  return at_end();
}

std::size_t channel_core::size() const {
  const mutex_lock lock(mu_);
  return size_;
}

channel_statistics channel_core::statistics() const {
  const mutex_lock lock(mu_);
  channel_statistics all = totals_;
  all.queued = size_;
  all.waiting = waiting_;
  return all;
}

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
