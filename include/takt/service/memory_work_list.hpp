/// \file
/// A list of work in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/service/work_list.hpp>

namespace takt::inline TAKT_ABI {

/// A work_list that lives as long as its object: for work that may be lost with the process, and
/// for tests.
///
/// \code
/// takt::memory_work_list list;
/// list.accept({.key = "https://example.org/"});
/// \endcode
///
/// **Thread safety**, **destruction**: as in work_list.
class memory_work_list final : public work_list {
 public:
  memory_work_list();
  ~memory_work_list() override;

  using work_list::accept;
  using work_list::confirm;
  std::size_t accept(std::span<const work_item> items) override;
  [[nodiscard]] std::optional<work_item> claim() override;
  std::size_t confirm(std::string_view key, std::span<const work_item> found) override;
  void give_back(std::string_view key) override;
  [[nodiscard]] work_counts counts() const override;
  [[nodiscard]] std::vector<work_item> unconfirmed() const override;

 private:
  class impl;
  const std::unique_ptr<impl> impl_;
};

}  // namespace takt::inline TAKT_ABI
