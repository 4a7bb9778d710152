#include "work_record.hpp"

#include <limits>
#include <optional>
#include <span>
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

template <class Number>
void put(std::string& to, Number n) {
  for (std::size_t i = 0; i < sizeof n; ++i) to.push_back(static_cast<char>(n >> (8 * i) & 0xffU));
}

template <class Number>
Number number_at(std::string_view bytes) noexcept {
  Number n = 0;
  for (std::size_t i = 0; i < sizeof n; ++i) {
    n |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return n;
}

// Takes values off the front of a payload; empty if it is too short for one.
class reader {
 public:
  explicit reader(std::string_view bytes) noexcept : left_(bytes) {}

  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }
  std::optional<std::string_view> text(std::size_t length) noexcept {
    if (left_.size() < length) return std::nullopt;
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }
  template <class Number>
  std::optional<Number> number() noexcept {
    const auto bytes = text(sizeof(Number));
    if (!bytes) return std::nullopt;
    return number_at<Number>(*bytes);
  }

 private:
  std::string_view left_;
};

bool add_item(work_book& book, std::string_view key, std::string_view data) {
  const work_item item{.key = std::string(key), .data = std::string(data)};
  return book.add({&item, 1}) == 1;
}

bool read_accepted(reader& in, work_book& book) {
  const auto key_length = in.number<std::uint32_t>();
  const auto data_length = in.number<std::uint32_t>();
  if (!key_length || !data_length) return false;
  const auto key = in.text(*key_length);
  const auto data = in.text(*data_length);
  return key && data && add_item(book, *key, *data);
}

bool read_done(reader& in, work_book& book) {
  const auto key_length = in.number<std::uint32_t>();
  if (!key_length) return false;
  const auto key = in.text(*key_length);
  return key && add_item(book, *key, {}) && book.confirm_waiting(book.next() - 1);
}

bool read_confirmed(reader& in, work_book& book) {
  const auto which = in.number<work_book::number>();
  return which && book.confirm_waiting(*which);
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) noexcept {
  std::uint32_t c = 0xffff'ffffU;
  for (const char b : bytes) c = crc_table[(c ^ static_cast<unsigned char>(b)) & 0xffU] ^ (c >> 8U);
  return c ^ 0xffff'ffffU;
}

void work_record::reserve_more(std::size_t bytes) {
  constexpr std::size_t limit = std::numeric_limits<std::uint32_t>::max();
  if (bytes > limit || bytes_.size() > limit - bytes) {
    throw std::length_error("takt::file_work_list: more than 4 GiB in one record");
  }
}

void work_record::add_accepted(std::string_view key, std::string_view data) {
  reserve_more(accepted_size(key, data));
  bytes_.push_back('a');
  put(bytes_, static_cast<std::uint32_t>(key.size()));
  put(bytes_, static_cast<std::uint32_t>(data.size()));
  bytes_.append(key).append(data);
}

void work_record::add_done(std::string_view key) {
  reserve_more(done_size(key));
  bytes_.push_back('d');
  put(bytes_, static_cast<std::uint32_t>(key.size()));
  bytes_.append(key);
}

void work_record::add_confirmed(work_book::number which) {
  reserve_more(sizeof which + 1);
  bytes_.push_back('c');
  put(bytes_, which);
}

std::string_view work_record::seal() noexcept {
  const std::string_view payload = std::string_view(bytes_).substr(header_size);
  std::string head;  // short enough to need no memory of its own
  put(head, static_cast<std::uint32_t>(payload.size()));
  put(head, crc32(head));
  put(head, crc32(payload));
  bytes_.replace(0, header_size, head);
  return bytes_;
}

work_record::header work_record::read_header(std::string_view bytes) noexcept {
  return {.valid = number_at<std::uint32_t>(bytes.substr(4)) == crc32(bytes.substr(0, 4)),
          .length = number_at<std::uint32_t>(bytes),
          .checksum = number_at<std::uint32_t>(bytes.substr(8))};
}

bool work_record::read(std::string_view payload, work_book& book) {
  reader in(payload);
  while (!in.at_end()) {
    const char kind = in.text(1)->front();
    const bool good = kind == 'a'   ? read_accepted(in, book)
                      : kind == 'd' ? read_done(in, book)
                      : kind == 'c' ? read_confirmed(in, book)
                                    : false;
    if (!good) return false;
  }
  return true;
}

}  // namespace takt::inline TAKT_ABI
