// Sorts on all cores: one half of each range is a child task, which an idle thread can steal.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include <takt/takt.hpp>

namespace {

constexpr std::size_t small = 2'000;  // too small to split

void sort(std::span<int> numbers, takt::stealing_pool& pool) {
  if (numbers.size() <= small) {
    std::sort(numbers.begin(), numbers.end());
    return;
  }
  const std::span<int> left = numbers.first(numbers.size() / 2);
  const std::span<int> right = numbers.subspan(left.size());
  takt::fork_join children{pool};
  children.spawn([left, &pool] { sort(left, pool); });
  sort(right, pool);
  children.join();  // runs the child on this thread, unless it was stolen
  std::vector<int> merged(numbers.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), merged.begin());
  std::copy(merged.begin(), merged.end(), numbers.begin());
}

std::vector<int> random_numbers(std::size_t count) {
  std::mt19937 random{42};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in each run
  std::vector<int> numbers(count);
  for (int& n : numbers) n = static_cast<int>(random() % 1'000'000);
  return numbers;
}

}  // namespace

int main() {
  std::vector<int> numbers = random_numbers(256'000);
  std::vector<int> expected = numbers;
  std::sort(expected.begin(), expected.end());

  takt::stealing_pool pool{{.threads = 4, .name = "sort"}};
  pool.submit([&] { sort(numbers, pool); }).get();
  pool.close(takt::drain);

  const bool sorted = numbers == expected;
  std::printf("%zu numbers: %s\n", numbers.size(), sorted ? "sorted" : "NOT sorted");

  const takt::task_totals tasks = pool.totals();
  std::printf("submitted %llu = finished %llu\n", static_cast<unsigned long long>(tasks.submitted),
              static_cast<unsigned long long>(tasks.finished));
  // 127 splits with one child each, plus the submitted task: 128 parts of 2000 numbers.
  return sorted && tasks.submitted == 128 && tasks.finished == 128 ? 0 : 1;
}
