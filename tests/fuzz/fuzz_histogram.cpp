// Compares two histograms and their merger with sorted values: counts, ranks, and the error bound.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include <takt/observe/histogram.hpp>

#include "fuzz.hpp"

namespace {

using std::chrono::nanoseconds;

// A value of any magnitude: some bits of the script at a random position of a word; can be
// negative.
std::int64_t value_from(script& input) {
  const std::uint64_t bits = input.next(256) << 8 | input.next(256);
  return static_cast<std::int64_t>(bits << input.next(64));
}

bool within_bound(std::int64_t got, std::int64_t exact) {
  const std::int64_t off = got > exact ? got - exact : exact - got;
  return off == 0 || off < exact / 64 + (exact % 64 == 0 ? 0 : 1);
}

void compare(const takt::histogram_snapshot& seen, std::vector<std::int64_t> values) {
  EXPECT(seen.count() == values.size());
  if (values.empty()) {
    EXPECT(seen == takt::histogram_snapshot());
    return;
  }
  std::sort(values.begin(), values.end());
  EXPECT(within_bound(seen.min().count(), values.front()));
  EXPECT(within_bound(seen.max().count(), values.back()));
  EXPECT(seen.min() <=
         seen.mean() + nanoseconds(seen.mean().count() >> 50));  // rounding of a double
  EXPECT(seen.mean() - nanoseconds(seen.mean().count() >> 50) <= seen.max());
  for (std::size_t percent = 1; percent <= 100; percent += 3) {
    const std::size_t rank = (percent * values.size() + 99) / 100;
    const std::int64_t got = seen.percentile(static_cast<double>(percent)).count();
    EXPECT(within_bound(got, values[rank - 1]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<takt::histogram, 2> histograms;
  std::array<std::vector<std::int64_t>, 2> models;
  script input(data, size);
  while (!input.done()) {
    const std::size_t i = input.next(2);
    const std::int64_t value = value_from(input);
    histograms[i].record(nanoseconds(value));
    models[i].push_back(std::max<std::int64_t>(0, value));
  }
  compare(histograms[0].snapshot(), models[0]);
  compare(histograms[1].snapshot(), models[1]);

  takt::histogram_snapshot merged = histograms[0].snapshot();
  merged += histograms[1].snapshot();
  takt::histogram_snapshot other_way = histograms[1].snapshot();
  other_way += histograms[0].snapshot();
  EXPECT(merged == other_way);
  models[0].insert(models[0].end(), models[1].begin(), models[1].end());
  compare(merged, models[0]);
  return 0;
}
