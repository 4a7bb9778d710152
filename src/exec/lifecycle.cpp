// The word: state << 56 | holds << 28 | workers.
//
//   running                      -> shutdown, stop   advance_to()
//   shutdown                     -> stop             advance_to()
//   shutdown, 0 workers, 0 holds -> tidying          try_tidy(true): nothing is queued
//   stop, 0 workers, 0 holds     -> tidying          try_tidy()
//   tidying                      -> terminated       terminate()
//
// Invariants
//   1. The state only grows. Each transition is made by one thread.
//   2. No worker is added in stop or later, and no hold in tidying or later. So there is neither in
//      tidying or later. In shutdown workers may still be added while there is work: a caller that
//      passes `drained` knows that none will be added.
#include <takt/exec/lifecycle.hpp>

#include <takt/base/detail/assert.hpp>

namespace takt::inline TAKT_ABI {
namespace {

constexpr int state_shift = 56;
constexpr std::uint64_t one_hold = std::uint64_t{1} << 28;
constexpr std::uint64_t counts = (std::uint64_t{1} << state_shift) - 1;  // holds and workers

constexpr std::uint64_t word_of(life_state s, std::uint64_t held_and_workers = 0) {
  return static_cast<std::uint64_t>(s) << state_shift | held_and_workers;
}
constexpr life_state state_in(std::uint64_t word) {
  return static_cast<life_state>(word >> state_shift);
}
constexpr std::uint64_t workers_in(std::uint64_t word) { return word & (one_hold - 1); }

}  // namespace

std::string_view to_string(life_state s) noexcept {
  switch (s) {
    case life_state::running:
      return "running";
    case life_state::shutdown:
      return "shutdown";
    case life_state::stop:
      return "stop";
    case life_state::tidying:
      return "tidying";
    case life_state::terminated:
      break;
  }
  return "terminated";
}

bool lifecycle::advance_to(life_state next) noexcept {
  TAKT_ASSERT(next == life_state::shutdown || next == life_state::stop);
  std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  while (state_in(word) < next) {
    // release: all that happened before, to threads that see the state. The owner's lock makes sure
    // that no submission is missed.
    if (word_.compare_exchange_weak(word, word_of(next, word & counts), std::memory_order_release,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool lifecycle::add_worker() noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  while (state_in(word) < life_state::stop) {
    // relaxed: this publishes only the number; a read-modify-write continues the release sequences
    // of other threads
    if (word_.compare_exchange_weak(word, word + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

std::size_t lifecycle::remove_worker() noexcept {
  // acq_rel: release what this worker did to the thread that calls try_tidy(); acquire what earlier
  // workers did, in case this thread calls it
  const std::uint64_t before = word_.fetch_sub(1, std::memory_order_acq_rel);
  TAKT_ASSERT(workers_in(before) != 0);
  return workers_in(before) - 1;
}

bool lifecycle::hold() noexcept {
  std::uint64_t word = word_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  while (state_in(word) < life_state::tidying) {
    // relaxed: as in add_worker()
    if (word_.compare_exchange_weak(word, word + one_hold, std::memory_order_relaxed)) return true;
  }
  return false;
}

void lifecycle::release_hold() noexcept {
  // acq_rel: as in remove_worker()
  [[maybe_unused]] const std::uint64_t before =
      word_.fetch_sub(one_hold, std::memory_order_acq_rel);
  TAKT_ASSERT((before & counts) >= one_hold);
}

bool lifecycle::try_tidy(bool drained) noexcept {
  // relaxed: the thread that advances the state calls this afterwards
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  if (state_in(word) == life_state::running) return false;
  word = word_of(life_state::stop);
  // acq_rel: all that the workers did happens before termination
  if (word_.compare_exchange_strong(word, word_of(life_state::tidying), std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return true;
  }
  word = word_of(life_state::shutdown);
  return drained && word_.compare_exchange_strong(word, word_of(life_state::tidying),
                                                  std::memory_order_acq_rel,  // as above
                                                  std::memory_order_relaxed);
}

void lifecycle::terminate() noexcept {
  TAKT_ASSERT(state() == life_state::tidying);
  const detail::mutex_lock lock(mu_);
  // release: what the termination hook did, to threads that see the state without the lock
  word_.store(word_of(life_state::terminated), std::memory_order_release);
  changed_.notify_all();
}

bool lifecycle::await(clock::time_point deadline, const sync::stop_token& stop) const {
  if (state() == life_state::terminated) return true;
  detail::mutex_lock lock(mu_);
  ++users_;
  bool goes_on = true;
  while (state() != life_state::terminated && goes_on) {
    goes_on = changed_.wait_until(lock, time_, deadline, stop);
  }
  if (--users_ == 0) changed_.notify_all();
  return state() == life_state::terminated;
}

void lifecycle::await_unused() const {
  detail::mutex_lock lock(mu_);
  while (state() != life_state::terminated || users_ != 0) {
    changed_.wait_until(lock, time_, clock::time_point::max());
  }
}

}  // namespace takt::inline TAKT_ABI
