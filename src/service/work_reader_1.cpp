// Format version 1, of takt 0.1.0: 16 bytes of magic, then records. A record has its length, the
// checksum of the length, the checksum of the payload (32 bit each), and the payload: entries.
//
//   'a' key length (32 bit), data length (32 bit), key, data    accepted; items are counted
//   'd' key length (32 bit), key                                accepted and completed
//   'c' number (64 bit)                                         completed
//
// Only the last record may be torn: it reaches beyond the end of the file, or is all zeros.
#include <algorithm>

#include "work_reader.hpp"
#include "work_record.hpp"

namespace takt::inline TAKT_ABI {
namespace {

constexpr std::size_t header_size = 12;

bool add_item(work_book& book, std::string_view key, std::string_view data) {
  return book.restore(book.next(), key, data);
}

bool apply_entry(byte_reader& in, work_book& book) {
  const char kind = in.text(1)->front();
  if (kind == 'c') {
    const auto which = in.number<work_book::number>();
    return which && book.complete_waiting(*which);
  }
  if (kind != 'a' && kind != 'd') return false;
  const auto key_length = in.number<std::uint32_t>();
  const auto data_length = kind == 'a' ? in.number<std::uint32_t>() : 0;
  if (!key_length || !data_length) return false;
  const auto key = in.text(*key_length);
  const auto data = in.text(*data_length);
  return key && data && add_item(book, *key, *data) &&
         (kind == 'a' || book.complete_waiting(book.next() - 1));
}

bool is_zero_from(const work_file& file, std::uint64_t at) {
  constexpr std::size_t block = 65'536;
  for (;;) {
    const std::string bytes = file.read(at, block);
    if (bytes.find_first_not_of('\0') != std::string::npos) return false;
    if (bytes.empty()) return true;
    at += bytes.size();
  }
}

[[noreturn]] void refuse_damaged(const work_file& file, std::uint64_t at, std::uint64_t size) {
  const std::string good = std::to_string(at);
  refuse_work_file(work_queue_error::reason::damaged, file,
                   "is damaged at byte " + good + " of " + std::to_string(size) +
                       "; to continue without what follows, shorten it to " + good + " bytes");
}

}  // namespace

work_contents read_work_file_1(const work_file& file) {
  work_contents found;
  found.version = 1;
  found.end = work_magic_1.size();
  const std::uint64_t size = file.size();
  while (found.end != size) {
    const std::string head = file.read(found.end, header_size);
    if (head.size() < header_size) break;
    byte_reader in(head);
    const auto length = *in.number<std::uint32_t>();
    const bool valid = *in.number<std::uint32_t>() == crc32(std::string_view(head).substr(0, 4));
    const std::uint64_t end = found.end + header_size + length;
    if (!valid) {
      if (is_zero_from(file, found.end)) break;
      refuse_damaged(file, found.end, size);
    }
    const std::string payload = file.read(
        found.end + header_size, static_cast<std::size_t>(std::min<std::uint64_t>(length, size)));
    if (payload.size() < length || crc32(payload) != *in.number<std::uint32_t>()) {
      if (end >= size) break;
      refuse_damaged(file, found.end, size);
    }
    byte_reader entries(payload);
    while (!entries.rest().empty()) {
      if (!apply_entry(entries, found.book)) refuse_damaged(file, found.end, size);
    }
    found.end = end;
  }
  return found;
}

}  // namespace takt::inline TAKT_ABI
