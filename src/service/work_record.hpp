/// The format of a file_work_queue: how records are written and read. Knows no files.
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

/// CRC-32, as in zlib, Ethernet and PNG. \param before  the checksum of what is before the bytes.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0) noexcept;

template <class Number>
void put_number(std::string& to, Number n) {
  for (std::size_t i = 0; i < sizeof n; ++i) to.push_back(static_cast<char>(n >> (8 * i) & 0xffU));
}

/// Takes values off the front of bytes; empty if they are too short for one.
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

/// What a file begins with: the magic, whose last digit is the version of the format, and two
/// copies of the salt, each with a checksum of magic and salt. Numbers here and in records have
/// their lowest byte first.
struct work_header {
  static constexpr std::string_view magic = "takt work list 2";
  static constexpr std::size_t size = 16 + 2 * (8 + 4);

  /// A random number of the file. Records are marked with it and it is part of their checksums, so
  /// that records of another file, in the data of an item for instance, are none of this file.
  std::uint64_t salt = 0;
  bool whole = true;  ///< Whether all bytes are as they were written.

  [[nodiscard]] static std::uint64_t make_salt();
  [[nodiscard]] static std::string write(std::uint64_t salt);
  /// Empty if neither copy of the salt is whole.
  [[nodiscard]] static std::optional<work_header> read(std::string_view bytes);
  /// Whether that may be left of writing a header: it is cut short, or ends with zeros.
  [[nodiscard]] static bool is_torn(std::string_view bytes) noexcept;
};

/// The header of a record. Records that are kept or lost together are a step.
struct record_header {
  static constexpr std::size_t size = 32;
  static constexpr std::size_t marker_size = 4;

  std::uint64_t sequence = 0;  ///< Of the record in the file, from 0 on without gaps.
  std::uint32_t index = 0;     ///< Of the record in its step.
  std::uint32_t left = 0;      ///< How many records of the step follow.
  std::uint32_t length = 0;    ///< Of the payload, which follows the header.
  std::uint32_t checksum = 0;  ///< Of the payload.

  [[nodiscard]] std::uint64_t first() const noexcept { return sequence - index; }
  [[nodiscard]] std::uint64_t step_size() const noexcept { return std::uint64_t{index} + left + 1; }
  [[nodiscard]] std::uint64_t size_with_payload() const noexcept { return size + length; }

  /// What each record of the file begins with; there is no zero in it.
  [[nodiscard]] static std::string marker(std::uint64_t salt);
  /// Empty if the bytes, as many as there are, are no header of that file.
  [[nodiscard]] static std::optional<record_header> read(std::string_view bytes,
                                                         std::uint64_t salt) noexcept;
};

/// One enqueue(), complete() or set_metadata(): a row of records, each of them for one item:
/// \code
///   header (32 bytes): marker (32 bit), sequence (64), index (32), left (32), length (32),
///                      checksum of the payload (32), checksum of salt and header (32)
///   payload:  'a' number (64), key length (32), key, data    accepted
///             'd' number (64), key                           the same, and confirmed
///             'c' number (64)                                confirmed
///             'm' bytes                                      the metadata from now on
/// \endcode
class work_step {
 public:
  /// \throws std::length_error if it does not fit into a record.
  void add_accepted(work_book::number which, std::string_view key, std::string_view data);
  void add_done(work_book::number which, std::string_view key);
  void add_completed(work_book::number which);
  void add_metadata(std::string_view bytes);

  [[nodiscard]] std::uint32_t records() const noexcept { return records_; }
  /// The bytes to be written, with the sequence number of the first record.
  [[nodiscard]] std::string_view seal(std::uint64_t salt, std::uint64_t sequence);

  /// How many bytes a record takes.
  [[nodiscard]] static std::size_t accepted_size(std::string_view key, std::string_view data) {
    return record_header::size + 13 + key.size() + data.size();
  }
  [[nodiscard]] static std::size_t done_size(std::string_view key) {
    return record_header::size + 9 + key.size();
  }
  [[nodiscard]] static std::size_t metadata_size(std::string_view bytes) {
    return record_header::size + 1 + bytes.size();
  }

  /// Applies a payload. \param with_confirmation  whether it may say that an item is confirmed.
  /// False if it makes no sense.
  [[nodiscard]] static bool apply(std::string_view payload, bool with_completion, work_book& book,
                                  std::string& metadata);

 private:
  void begin(char kind, std::size_t size);

  std::string bytes_;  // headers say only the length until seal()
  std::uint32_t records_ = 0;
};

}  // namespace takt::inline TAKT_ABI
