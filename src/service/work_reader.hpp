/// Reading the file of a file_work_queue, damaged or not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>
#include <takt/service/work_queue.hpp>

#include "work_book.hpp"
#include "work_file.hpp"

namespace takt::inline TAKT_ABI {

/// The first bytes of a file of version 1.
inline constexpr std::string_view work_magic_1 = "takt work list 1";

/// The contents of a file.
struct work_contents {
  int version = 0;  ///< Version of the format; 0 if there is not even a header.
  work_book book;
  std::string metadata;

  std::uint64_t salt = 0;
  std::uint64_t next_sequence = 0;
  /// End of the last readable step. What is behind it was never acknowledged, as far as the file
  /// shows: no later step follows.
  std::uint64_t end = 0;

  /// Damage other than a torn tail: later records are intact.
  bool damaged = false;
  std::uint64_t damaged_at = 0;    ///< Position of the first damaged byte.
  std::uint64_t lost_records = 0;  ///< Unreadable records.
  std::uint64_t lost_bytes = 0;
};

/// \throws work_queue_error: foreign; damaged, if nothing can be read or the version is 1; failed.
[[nodiscard]] work_contents read_work_file(const work_file& file);

/// Reads a file of version 1 (takt 0.1.0) whose magic was found.
[[nodiscard]] work_contents read_work_file_1(const work_file& file);

[[noreturn]] void refuse_work_file(work_queue_error::reason why, const work_file& file,
                                   const std::string& what);

}  // namespace takt::inline TAKT_ABI
