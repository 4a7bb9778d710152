/// \file
/// A histogram of durations: recorded by many threads, read as percentiles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>

namespace takt::inline TAKT_ABI {

/// The contents of a histogram at one time, as plain values that can be queried, stored and merged.
///
/// \code
/// takt::histogram_snapshot all = worker[0].run_time.snapshot();
/// all += worker[1].run_time.snapshot();
/// print(all.count(), all.percentile(50), all.percentile(99.9), all.max());
/// \endcode
///
/// **Accuracy.** Durations from 0 to 63 ns are exact. Above, each power of two has 32 buckets of
/// equal width, up to the largest std::chrono::nanoseconds, and a duration is reported as the
/// middle of its bucket: percentile(), min() and max() are **off by less than 1/64 (1.6 %)**, up or
/// down. mean() is the mean of these middles, rounded to 1 ns, and so has the same bound.
///
/// **Empty.** A snapshot without durations returns 0 from every query.
///
/// **Merging** adds counts. It is associative and commutative, and gives the same result as one
/// histogram that recorded everything.
///
/// **Cost.** 15,104 bytes inside the object: mind small stacks. Nothing allocates. Each query walks
/// all buckets, which takes a few microseconds.
///
/// **Thread safety**: as for an int.
class histogram_snapshot {
 public:
  /// Empty.
  histogram_snapshot() = default;

  /// Number of durations.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// The shortest duration.
  [[nodiscard]] std::chrono::nanoseconds min() const noexcept;

  /// The longest duration.
  [[nodiscard]] std::chrono::nanoseconds max() const noexcept;

  /// The arithmetic mean.
  [[nodiscard]] std::chrono::nanoseconds mean() const noexcept;

  /// The nearest-rank percentile: the shortest duration that at least `p` percent of all durations
  /// do not exceed. percentile(0) is min(), percentile(50) the median, percentile(100) max().
  /// Rounding errors do not select the next rank: percentile(99.9) of 1000 durations is the 999th.
  /// To achieve this, a rank that exceeds an integer by at most a relative 2^-50 counts as that
  /// integer.
  ///
  /// \throws std::invalid_argument, with `p` in the message, if `p` is below 0, above 100 or NaN.
  [[nodiscard]] std::chrono::nanoseconds percentile(double p) const;

  /// Adds all durations of `other`.
  histogram_snapshot& operator+=(const histogram_snapshot& other) noexcept;

  /// True if all buckets have equal counts.
  friend bool operator==(const histogram_snapshot&, const histogram_snapshot&) = default;

 private:
  friend class histogram;

  // Bucket i holds the durations d with bucket_of(d) == i. With s = max(0, bit_width(d) - 6), the
  // leading bits d >> s are below 64, and 32 or more if s > 0; each s adds 32 buckets:
  //
  //   s = 0    0 ..  63                 one nanosecond each
  //   s = 1   64 ..  95 for 64 .. 127   two each
  //   s = 2   96 .. 127 for 128 .. 255  four each, and so on up to s = 57
  static constexpr int leading_bits = 6;
  static constexpr std::size_t per_octave = std::size_t{1} << (leading_bits - 1);
  static constexpr std::size_t bucket_count = (63 - leading_bits + 2) * per_octave;

  static constexpr std::size_t bucket_of(std::uint64_t duration) noexcept {
    const int shift = std::max(0, static_cast<int>(std::bit_width(duration)) - leading_bits);
    return static_cast<std::size_t>(shift) * per_octave +
           static_cast<std::size_t>(duration >> shift);
  }

  static constexpr std::int64_t middle_of(std::size_t bucket) noexcept {
    const std::size_t shift = bucket < 2 * per_octave ? 0 : bucket / per_octave - 1;
    const std::uint64_t lowest = std::uint64_t{bucket - shift * per_octave} << shift;
    const std::uint64_t width = std::uint64_t{1} << shift;
    return static_cast<std::int64_t>(lowest + (width - 1) / 2);
  }

  // The rank-th shortest duration, counted from 1; the longest if there are fewer; 0 if empty.
  [[nodiscard]] std::chrono::nanoseconds at_rank(std::uint64_t rank) const noexcept;

  std::array<std::uint64_t, bucket_count> counts_{};
};

/// Records durations, such as waiting times and run times, in fixed memory and with an error below
/// 1/64; see histogram_snapshot.
///
/// \code
/// takt::histogram run_time;
///
/// const auto begin = std::chrono::steady_clock::now();   // any thread
/// work();
/// run_time.record(std::chrono::steady_clock::now() - begin);
///
/// const auto seen = run_time.snapshot();                  // any thread, at any time
/// if (seen.percentile(99) > 10ms) complain();
/// \endcode
///
/// **Consistency.** A snapshot includes every record() that happens before it, and no record() that
/// has not begun. It includes some of the concurrent calls, in no particular order. The count of a
/// bucket never decreases. Count, minimum and maximum are computed from the buckets, so a snapshot
/// is consistent in itself.
///
/// **Cost.** record() is one atomic addition, and a histogram has 15,104 bytes. Threads that record
/// similar durations share a cache line; where that is too slow, give each worker a histogram and
/// merge the snapshots.
///
/// **Thread safety.** All members may be called concurrently and are wait-free; none allocates or
/// throws.
class histogram {
 public:
  histogram() = default;
  histogram(const histogram&) = delete;
  histogram& operator=(const histogram&) = delete;

  /// Records one duration. A negative one, such as the difference of two clocks, counts as 0.
  ///
  /// Durations of other types convert to nanoseconds implicitly; std::chrono does not check that
  /// they are within the range of 292 years.
  void record(std::chrono::nanoseconds duration) noexcept {
    const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
    // relaxed: the count publishes nothing, and atomic additions are never lost
    counts_[histogram_snapshot::bucket_of(positive)].fetch_add(1, std::memory_order_relaxed);
  }

  /// Copies the counts so far. Takes some microseconds and does not block record().
  [[nodiscard]] histogram_snapshot snapshot() const noexcept;

 private:
  // Written by every record.
  std::array<sync::atomic<std::uint64_t>, histogram_snapshot::bucket_count> counts_{};
};

}  // namespace takt::inline TAKT_ABI
