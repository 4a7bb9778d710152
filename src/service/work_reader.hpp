/// Reads the file of a file_work_queue, whatever has become of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>
#include <takt/service/work_queue.hpp>

#include "work_book.hpp"
#include "work_file.hpp"

namespace takt::inline TAKT_ABI {

/// What a file of version 1 begins with.
inline constexpr std::string_view work_magic_1 = "takt work list 1";

/// What a file says.
struct work_contents {
  int version = 0;  ///< Of the format; 0 if there is nothing, not even a header.
  work_book book;
  std::string metadata;

  std::uint64_t salt = 0;
  std::uint64_t next_sequence = 0;
  /// Where the last step ends that is there. What is behind it was never acknowledged, or no
  /// record that follows says otherwise.
  std::uint64_t end = 0;

  /// Damage that is no torn tail: later records are whole.
  bool damaged = false;
  std::uint64_t damaged_at = 0;    ///< The first byte of it.
  std::uint64_t lost_records = 0;  ///< Records that cannot be read.
  std::uint64_t lost_bytes = 0;
};

/// \throws work_queue_error: foreign; damaged, if nothing can be read, or in version 1; failed.
[[nodiscard]] work_contents read_work_file(const work_file& file);

/// Format version 1, of takt 0.1.0; the magic was found.
[[nodiscard]] work_contents read_work_file_1(const work_file& file);

[[noreturn]] void refuse_work_file(work_queue_error::reason why, const work_file& file,
                                   const std::string& what);

}  // namespace takt::inline TAKT_ABI
