// States of a parker, and the calls that make each transition:
//
//   empty    no token, no thread waits
//   token    a token is set, no thread waits
//   parked   no token, the parking thread waits or is about to
//
//   empty  -> token    unpark()
//   token  -> token    unpark(); writes nevertheless, to release what its caller did before
//   parked -> token    unpark(), which then must wake the parking thread
//   token  -> empty    park() takes the token
//   empty  -> parked   park() begins to wait
//   parked -> empty    park_until() at the deadline, without a token
//
// Invariants
//   1. Only the parking thread leaves `token`, and only to `empty`.
//   2. Only the parking thread enters or leaves `parked`, except for parked -> token.
//   3. Outside park() and park_until() the state is `empty` or `token`.
//   4. park() returns, and park_until() returns true, exactly after a token -> empty of its own.
//   5. The state change is the last access of unpark() to the parker. What follows is, in the futex
//      build, a wake of a bare address; in the portable build, the unlock of a mutex, which the
//      parking thread must lock before it can return.
#include <takt/base/parker.hpp>

#include <takt/base/detail/assert.hpp>

#if !defined(TAKT_PORTABLE_PARKING)
#include "futex.hpp"
#else
#include <mutex>  // std::unique_lock
#include <utility>
#endif

namespace takt::inline TAKT_ABI {

void parker::park() noexcept {
  await_token();
  const bool taken = take_token();
  TAKT_ASSERT(taken);
  static_cast<void>(taken);
}

bool parker::park_until(sync::clock::time_point deadline) noexcept {
  return await(deadline) && take_token();
}

bool parker::park_until(sync::wall_clock::time_point deadline) noexcept {
  return await(deadline) && take_token();
}

void parker::await_token() noexcept {
  const bool there = await(sync::clock::time_point::max());
  TAKT_ASSERT(there);
  static_cast<void>(there);
}

#if !defined(TAKT_PORTABLE_PARKING)

namespace {

constexpr std::uint32_t empty = 0;
constexpr std::uint32_t token = 1;
constexpr std::uint32_t parked = 2;

}  // namespace

parker::~parker() {
  // relaxed: only detects misuse
  TAKT_ASSERT(state_.load(std::memory_order_relaxed) != parked);
}

template <class TimePoint>
bool parker::await(TimePoint deadline) noexcept {
  std::uint32_t before = empty;
  // relaxed: take_token() acquires
  if (!state_.compare_exchange_strong(before, parked, std::memory_order_relaxed)) {
    TAKT_ASSERT(before == token);  // otherwise two threads park at once
    return true;
  }
  for (;;) {
    // A return without a time-out has no meaning: the word decides.
    if (sync::futex_wait(state_, parked, deadline)) {
      before = parked;
      // relaxed: as above; it fails if a token was set at the deadline
      return !state_.compare_exchange_strong(before, empty, std::memory_order_relaxed);
    }
    if (has_token()) return true;
  }
}

bool parker::take_token() noexcept {
  if (!has_token()) return false;
  // acquire: everything before each unpark() since the last token was taken. An exchange, because
  // it reads the latest unpark(); a store could overwrite an unpark() that arrives now.
  const std::uint32_t before = state_.exchange(empty, std::memory_order_acquire);
  TAKT_ASSERT(before == token);
  static_cast<void>(before);
  return true;
}

void parker::unpark() noexcept {
  const sync::atomic<std::uint32_t>* const word = &state_;  // usable after *this is gone
  // release: everything before this call, to the park() that takes the token. A read-modify-write
  // even if the token is set, so that earlier calls stay in the release sequence.
  if (state_.exchange(token, std::memory_order_release) == parked) sync::futex_wake_one(word);
}

bool parker::has_token() const noexcept {
  // relaxed: a snapshot; coherence alone shows the caller its own unpark()
  return state_.load(std::memory_order_relaxed) == token;
}

#else

// The same states: token_ means `token`; parked_ without token_ means `parked`. Only assertions
// read parked_.

parker::~parker() { TAKT_ASSERT(!parked_); }

template <class TimePoint>
bool parker::await(TimePoint deadline) noexcept {
  std::unique_lock<sync::mutex> lock(mu_);
  TAKT_ASSERT(!parked_);  // otherwise two threads park at once
  parked_ = true;
  bool timed_out = false;
  while (!token_ && !timed_out) {
    if (deadline == TimePoint::max()) {
      token_left_.wait(lock);
    } else {
      timed_out = token_left_.wait_until(lock, deadline) == std::cv_status::timeout;
    }
  }
  parked_ = false;
  return token_;
}

bool parker::take_token() noexcept {
  const std::unique_lock<sync::mutex> lock(mu_);
  return std::exchange(token_, false);
}

void parker::unpark() noexcept {
  // Notifies with the lock held: after the unlock the parker may be gone (invariant 5).
  const std::unique_lock<sync::mutex> lock(mu_);
  token_ = true;
  token_left_.notify_one();
}

bool parker::has_token() const noexcept {
  const std::unique_lock<sync::mutex> lock(mu_);
  return token_;
}

#endif

}  // namespace takt::inline TAKT_ABI
