#include "work_record.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>

namespace takt::inline TAKT_ABI {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? 0xEDB8'8320U ^ (c >> 1U) : c >> 1U;
    table[i] = c;
  }
  return table;
}();

std::uint32_t crc32_of(std::uint64_t salt) noexcept {
  std::string bytes;  // short enough for the buffer within std::string
  put_number(bytes, salt);
  return crc32(bytes);
}

std::uint32_t checksum_of_header(std::uint64_t salt) {
  std::string bytes;
  put_number(bytes, salt);
  return crc32(bytes, crc32(work_header::magic));
}

bool apply_accepted(byte_reader in, work_book& book) {
  const auto which = in.number<work_book::number>();
  const auto key_length = in.number<std::uint32_t>();
  if (!which || !key_length) return false;
  const auto key = in.text(*key_length);
  return key && book.restore(*which, *key, in.rest());
}

bool apply_done(byte_reader in, work_book& book) {
  const auto which = in.number<work_book::number>();
  return which && book.restore(*which, in.rest(), {}) && book.complete_waiting(*which);
}

bool apply_completed(byte_reader in, work_book& book) {
  const auto which = in.number<work_book::number>();
  return which && in.rest().empty() && book.complete_waiting(*which);
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t c = ~before;
  for (const char b : bytes) c = crc_table[(c ^ static_cast<unsigned char>(b)) & 0xffU] ^ (c >> 8U);
  return ~c;
}

std::optional<std::string_view> byte_reader::text(std::size_t length) noexcept {
  if (left_.size() < length) return std::nullopt;
  const std::string_view taken = left_.substr(0, length);
  left_.remove_prefix(length);
  return taken;
}

std::uint64_t work_header::make_salt() {
  constexpr std::uint64_t no_zero_bytes = 0x0101'0101U;  // in the lower half, the marker
  std::random_device random;
  return (std::uint64_t{random()} << 32U | random()) | no_zero_bytes;
}

std::string work_header::write(std::uint64_t salt) {
  std::string bytes(magic);
  for (int copy = 0; copy < 2; ++copy) {
    put_number(bytes, salt);
    put_number(bytes, checksum_of_header(salt));
  }
  return bytes;
}

std::optional<work_header> work_header::read(std::string_view bytes) {
  byte_reader in(bytes);
  if (!in.text(magic.size())) return std::nullopt;
  for (int copy = 0; copy < 2; ++copy) {
    const auto salt = in.number<std::uint64_t>();
    const auto checksum = in.number<std::uint32_t>();
    if (salt && checksum && *checksum == checksum_of_header(*salt)) {
      return work_header{.salt = *salt, .whole = bytes == write(*salt)};
    }
  }
  return std::nullopt;
}

bool work_header::is_torn(std::string_view bytes) noexcept {
  if (bytes.size() > size) return false;
  const std::size_t end = bytes.find_last_not_of('\0') + 1;  // npos + 1 is 0
  const std::string_view left = bytes.substr(0, end);
  return magic.starts_with(left) || left.starts_with(magic);
}

std::string record_header::marker(std::uint64_t salt) {
  std::string bytes;
  put_number(bytes, static_cast<std::uint32_t>(salt & 0xffff'ffffU));
  return bytes;
}

std::optional<record_header> record_header::read(std::string_view bytes,
                                                 std::uint64_t salt) noexcept {
  if (bytes.size() < size) return std::nullopt;
  byte_reader in(bytes);
  if (in.number<std::uint32_t>() != static_cast<std::uint32_t>(salt & 0xffff'ffffU)) {
    return std::nullopt;
  }
  // All fields exist: the size was checked.
  const record_header found{.sequence = *in.number<std::uint64_t>(),
                            .index = *in.number<std::uint32_t>(),
                            .left = *in.number<std::uint32_t>(),
                            .length = *in.number<std::uint32_t>(),
                            .checksum = *in.number<std::uint32_t>()};
  const std::uint32_t own = crc32(bytes.substr(0, size - sizeof(std::uint32_t)), crc32_of(salt));
  if (in.number<std::uint32_t>() != own || found.index > found.sequence) return std::nullopt;
  return found;
}

void work_step::begin(char kind, std::size_t size) {
  constexpr std::size_t limit = std::numeric_limits<std::uint32_t>::max();
  const std::size_t payload = size - record_header::size;
  if (payload > limit || records_ == limit) {
    throw std::length_error("takt::file_work_queue: more than 4 GiB in one record");
  }
  std::string header(record_header::size, '\0');
  std::string length;
  put_number(length, static_cast<std::uint32_t>(payload));
  header.replace(20, length.size(), length);
  // Reserves memory for the whole record, at least doubling the capacity.
  if (bytes_.capacity() - bytes_.size() < size) {
    bytes_.reserve(std::max(bytes_.size() + size, 2 * bytes_.capacity()));
  }
  bytes_.append(header);
  bytes_.push_back(kind);
  ++records_;
}

void work_step::add_accepted(work_book::number which, std::string_view key, std::string_view data) {
  begin('a', accepted_size(key, data));
  put_number(bytes_, which);
  put_number(bytes_, static_cast<std::uint32_t>(key.size()));
  bytes_.append(key).append(data);
}

void work_step::add_done(work_book::number which, std::string_view key) {
  begin('d', done_size(key));
  put_number(bytes_, which);
  bytes_.append(key);
}

void work_step::add_completed(work_book::number which) {
  begin('c', done_size({}));
  put_number(bytes_, which);
}

void work_step::add_metadata(std::string_view bytes) {
  begin('m', metadata_size(bytes));
  bytes_.append(bytes);
}

std::string_view work_step::seal(std::uint64_t salt, std::uint64_t sequence) {
  const std::string_view bytes = bytes_;
  std::string header = record_header::marker(salt);
  header.reserve(record_header::size);
  const std::uint32_t of_salt = crc32_of(salt);
  std::size_t at = 0;
  for (std::uint32_t index = 0; index < records_; ++index) {
    const std::uint32_t length = *byte_reader(bytes.substr(at + 20)).number<std::uint32_t>();
    header.resize(record_header::marker_size);
    put_number(header, sequence + index);
    put_number(header, index);
    put_number(header, records_ - index - 1);
    put_number(header, length);
    put_number(header, crc32(bytes.substr(at + record_header::size, length)));
    put_number(header, crc32(header, of_salt));
    bytes_.replace(at, record_header::size, header);
    at += record_header::size + length;
  }
  return bytes_;
}

bool work_step::apply(std::string_view payload, bool with_completion, work_book& book,
                      std::string& metadata) {
  if (payload.empty()) return false;
  const byte_reader in(payload.substr(1));
  switch (payload.front()) {
    case 'a':
      return apply_accepted(in, book);
    case 'd':
      return apply_done(in, book);
    case 'c':
      return !with_completion || apply_completed(in, book);
    case 'm':
      metadata = in.rest();
      return true;
    default:
      return false;
  }
}

}  // namespace takt::inline TAKT_ABI
