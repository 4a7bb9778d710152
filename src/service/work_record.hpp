/// The file format of a file_work_queue: writing and reading records, without file access.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <takt/base/config.hpp>

#include "work_book.hpp"

namespace takt::inline TAKT_ABI {

/// CRC-32, as in zlib, Ethernet and PNG. \param before  the checksum of the preceding bytes.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) noexcept;

template <class Number>
void put_number(std::string& to, Number n) {
  for (std::size_t i = 0; i < sizeof n; ++i) to.push_back(static_cast<char>(n >> (8 * i) & 0xffU));
}

/// Reads values from the front of a byte string; empty results if too few bytes are left.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) noexcept : left_(bytes) {}

  [[nodiscard]] std::string_view rest() const noexcept { return left_; }
  std::optional<std::string_view> text(std::size_t length) noexcept;
  template <class Number>
  std::optional<Number> number() noexcept {
    const auto bytes = text(sizeof(Number));
    if (!bytes) return std::nullopt;
    Number n = 0;
    for (std::size_t i = 0; i < sizeof n; ++i) {
      n |= static_cast<Number>(static_cast<unsigned char>((*bytes)[i])) << (8 * i);
    }
    return n;
  }

 private:
  std::string_view left_;
};

/// The header of a file: the magic, whose last digit is the version of the format, and two copies
/// of the salt, each with a checksum of magic and salt. Numbers in headers and records are
/// little-endian.
struct work_header {
  static constexpr std::string_view magic = "takt work list 2";
  static constexpr std::size_t size = 16 + 2 * (8 + 4);

  /// A random number, chosen when the file is created. It marks the records and is part of their
  /// checksums, so that records of another file, in the data of an item for instance, are not
  /// mistaken for records of this one.
  std::uint64_t salt = 0;
  bool whole = true;  ///< True if all bytes are as written.

  [[nodiscard]] static std::uint64_t make_salt();
  [[nodiscard]] static std::string write(std::uint64_t salt);
  /// Empty if both copies of the salt are damaged.
  [[nodiscard]] static std::optional<work_header> read(std::string_view bytes);
  /// True if the bytes may be a partly written header: cut short, or with zeros at the end.
  [[nodiscard]] static bool is_torn(std::string_view bytes) noexcept;
};

/// The header of a record. A step is a sequence of records that count together or not at all.
struct record_header {
  static constexpr std::size_t size = 32;
  static constexpr std::size_t marker_size = 4;

  std::uint64_t sequence = 0;  ///< Sequence number of the record in the file, from 0.
  std::uint32_t index = 0;     ///< Index of the record in its step.
  std::uint32_t left = 0;      ///< Number of records of the step that follow.
  std::uint32_t length = 0;    ///< Length of the payload behind the header.
  std::uint32_t checksum = 0;  ///< CRC-32 of the payload.

  [[nodiscard]] std::uint64_t first() const noexcept { return sequence - index; }
  [[nodiscard]] std::uint64_t step_size() const noexcept { return std::uint64_t{index} + left + 1; }
  [[nodiscard]] std::uint64_t size_with_payload() const noexcept { return size + length; }

  /// The first bytes of each record of the file; none of them is zero.
  [[nodiscard]] static std::string marker(std::uint64_t salt);
  /// Empty if the bytes are too few or no header of a record of that file.
  [[nodiscard]] static std::optional<record_header> read(std::string_view bytes,
                                                         std::uint64_t salt) noexcept;
};

/// One enqueue(), complete() or set_metadata(): a sequence of records.
/// \code
///   header (32 bytes): marker (32 bit), sequence (64), index (32), left (32), length (32),
///                      checksum of the payload (32), checksum of salt and header (32)
///   payload:  'a' number (64), key length (32), key, data    accepted
///             'd' number (64), key                           accepted and completed
///             'c' number (64)                                completed
///             'm' bytes                                      the metadata from now on
/// \endcode
class work_step {
 public:
  /// The add functions throw std::length_error if a record would be too long.
  void add_accepted(work_book::number which, std::string_view key, std::string_view data);
  void add_done(work_book::number which, std::string_view key);
  void add_completed(work_book::number which);
  void add_metadata(std::string_view bytes);

  [[nodiscard]] std::uint32_t records() const noexcept { return records_; }
  /// \return the bytes to be written; `sequence` is the number of the first record.
  [[nodiscard]] std::string_view seal(std::uint64_t salt, std::uint64_t sequence);

  /// Size of a record, with its header.
  [[nodiscard]] static std::size_t accepted_size(std::string_view key, std::string_view data) {
    return record_header::size + 13 + key.size() + data.size();
  }
  [[nodiscard]] static std::size_t done_size(std::string_view key) {
    return record_header::size + 9 + key.size();
  }
  [[nodiscard]] static std::size_t metadata_size(std::string_view bytes) {
    return record_header::size + 1 + bytes.size();
  }

  /// Applies a payload; ignores completions unless `with_completion`. \return false if the payload
  /// is invalid.
  [[nodiscard]] static bool apply(std::string_view payload, bool with_completion, work_book& book,
                                  std::string& metadata);

 private:
  void begin(char kind, std::size_t size);

  std::string bytes_;  // headers have only their length before seal()
  std::uint32_t records_ = 0;
};

}  // namespace takt::inline TAKT_ABI
