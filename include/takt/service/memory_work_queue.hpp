/// \file
/// A work queue in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/service/work_queue.hpp>

namespace takt::inline TAKT_ABI {

/// A work_queue in memory, for work that may be lost with the process, and for tests.
///
/// \code
/// takt::memory_work_queue queue;
/// queue.enqueue({.key = "https://example.org/"});
/// \endcode
///
/// **Thread safety.** As in work_queue.
class memory_work_queue final : public work_queue {
 public:
  memory_work_queue();
  ~memory_work_queue() override;

  using work_queue::complete;
  using work_queue::enqueue;
  std::size_t enqueue(std::span<const work_item> items) override;
  [[nodiscard]] std::optional<work_item> claim() override;
  std::size_t complete(std::string_view key, std::span<const work_item> found) override;
  void release(std::string_view key) override;
  [[nodiscard]] work_counts counts() const override;
  [[nodiscard]] std::vector<work_item> incomplete() const override;

 private:
  class impl;
  const std::unique_ptr<impl> impl_;
};

}  // namespace takt::inline TAKT_ABI
