/// \file
/// How durations are distributed: recorded by many threads, read as percentiles.
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

/// What a histogram held at some time: plain values, to be looked at, kept, and merged.
///
/// \code
/// takt::histogram_snapshot all = worker[0].run_time.snapshot();
/// all += worker[1].run_time.snapshot();
/// print(all.count(), all.percentile(50), all.percentile(99.9), all.max());
/// \endcode
///
/// **Error.** Durations from 0 to 63 ns have a bucket each and come back exactly. Above that every
/// power of two is cut into 32 buckets of equal width, up to the largest std::chrono::nanoseconds.
/// A duration comes back as the middle of its bucket, **off by less than 1/64 (1.6 %) of itself**,
/// up or down. This is true of percentile(), min() and max() likewise. The mean is that of the
/// middles, so it is within 1/64 too; it is rounded to a whole nanosecond.
///
/// **Empty.** A snapshot without durations, such as a default-constructed one, has count() 0, and
/// 0 ns for everything else.
///
/// **Merging** adds up counts: it is associative and commutative, an empty snapshot changes
/// nothing, and the result is the same as if one histogram had recorded everything.
///
/// **Size**: 15,104 bytes, inside of the object; nothing allocates. Mind small stacks. Each query
/// walks over the buckets, which takes a few microseconds.
///
/// **Thread safety**: as for an int. **Destruction**: nothing to it.
class histogram_snapshot {
 public:
  /// Empty.
  histogram_snapshot() = default;

  /// How many durations there are.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// The shortest.
  [[nodiscard]] std::chrono::nanoseconds min() const noexcept;

  /// The longest.
  [[nodiscard]] std::chrono::nanoseconds max() const noexcept;

  /// The sum divided by the count.
  [[nodiscard]] std::chrono::nanoseconds mean() const noexcept;

  /// The shortest of the durations for which at least `p` percent of all are no longer (the
  /// nearest rank). So percentile(50) is the median, percentile(0) is min() and percentile(100) is
  /// max(). Rounding never takes the next rank: 99.9 of 1000 durations is the 999th. For that, the
  /// rank is taken as a whole number if it is one up to a relative 2^-50.
  ///
  /// \throws std::invalid_argument, which names p, if p is below 0, above 100 or not a number.
  [[nodiscard]] std::chrono::nanoseconds percentile(double p) const;

  /// Adds all durations of `other`.
  histogram_snapshot& operator+=(const histogram_snapshot& other) noexcept;

  /// Whether they have the same count in each bucket.
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

  // The rank-th shortest, counted from 1; the longest if there are fewer; 0 if there is none.
  [[nodiscard]] std::chrono::nanoseconds at_rank(std::uint64_t rank) const noexcept;

  std::array<std::uint64_t, bucket_count> counts_{};
};

/// Records durations: waiting times, run times, lateness. Memory is fixed, whatever is recorded,
/// and the error of what comes out is bounded by 1/64; see histogram_snapshot.
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
/// **A record is one atomic addition**: everything that a snapshot tells, also count, minimum and
/// maximum, is computed from the buckets. So a snapshot never contradicts itself, and a record is
/// wait-free. Threads that record similar durations add to the same cache line; where that is
/// too much, give each worker a histogram and merge their snapshots.
///
/// **What a snapshot holds.** Every record that happens before it is in, and none that has not
/// begun. Hence it is exact when nobody records. Of the records under way at that time some are in
/// and others are not, in any order. No bucket has less than in an earlier snapshot.
///
/// **Size**: 15,104 bytes; nothing allocates, not even the constructor. There is no reset: it would
/// lose records, and one histogram can have several readers. For a new beginning, take a new one.
///
/// **Thread safety**: all members from any thread; nothing throws.
///
/// **Destruction**: when nobody uses it any more, as for any variable.
class histogram {
 public:
  histogram() = default;
  histogram(const histogram&) = delete;
  histogram& operator=(const histogram&) = delete;

  /// Counts one duration. A negative one, as the difference of two clocks can be, counts as 0.
  ///
  /// Other durations convert to nanoseconds by themselves; those beyond 292 years do not fit, and
  /// std::chrono does not check that.
  void record(std::chrono::nanoseconds duration) noexcept {
    const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count()));
    // relaxed: a count publishes nothing, and additions to one word are never lost
    counts_[histogram_snapshot::bucket_of(positive)].fetch_add(1, std::memory_order_relaxed);
  }

  /// What has been recorded so far. Takes some microseconds and stops nobody.
  [[nodiscard]] histogram_snapshot snapshot() const noexcept;

 private:
  // Written by every record.
  std::array<sync::atomic<std::uint64_t>, histogram_snapshot::bucket_count> counts_{};
};

}  // namespace takt::inline TAKT_ABI
