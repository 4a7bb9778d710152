/// The format of a file_work_list: how records are written and read. Knows no files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>

#include "work_book.hpp"

namespace takt::inline TAKT_ABI {

/// CRC-32, as in zlib, Ethernet and PNG.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes) noexcept;

/// What a file begins with; the digit is the version of the format.
inline constexpr std::string_view work_file_magic = "takt work list 1";

/// A record: its length, the checksum of that, the checksum of what follows, as 32-bit numbers with
/// their lowest byte first; then the payload, so many bytes, of entries:
/// \code
///   'a' key length (32 bit), data length (32 bit), key, data    accepted; the next number is its
///   'd' key length (32 bit), key                                the same, and confirmed
///   'c' number (64 bit)                                         confirmed
/// \endcode
class work_record {
 public:
  static constexpr std::size_t header_size = 12;

  work_record() : bytes_(header_size, '\0') {}

  /// \throws std::length_error if it becomes longer than a length can say.
  void add_accepted(std::string_view key, std::string_view data);
  void add_done(std::string_view key);
  void add_confirmed(work_book::number which);

  [[nodiscard]] bool empty() const noexcept { return bytes_.size() == header_size; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  /// The record, to be written.
  [[nodiscard]] std::string_view seal() noexcept;

  /// How many bytes an entry takes.
  [[nodiscard]] static std::size_t accepted_size(std::string_view key, std::string_view data) {
    return 9 + key.size() + data.size();
  }
  [[nodiscard]] static std::size_t done_size(std::string_view key) { return 5 + key.size(); }

  /// What the header of a record says.
  struct header {
    bool valid = false;  ///< Whether the length has its checksum.
    std::uint32_t length = 0;
    std::uint32_t checksum = 0;
  };
  /// \param bytes  header_size of them.
  [[nodiscard]] static header read_header(std::string_view bytes) noexcept;
  /// Adds what a payload says to the book. False if it makes no sense.
  [[nodiscard]] static bool read(std::string_view payload, work_book& book);

 private:
  void reserve_more(std::size_t bytes);

  std::string bytes_;
};

}  // namespace takt::inline TAKT_ABI
