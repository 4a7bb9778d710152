// Records are numbered, so that the reader can tell damage from the torn tail of a power cut. A
// step is synced before the next one is written, so that a power cut can only lose sectors of the
// last step.
//
//   bytes that are no record, followed by ...
//     no record, or only records of the step that began before or within them    torn: dropped
//     a record of a later step                                                   damage
//
// A step is applied when it is complete. A damaged step is applied without its completion, so that
// the item is processed again and its results are found again.
//
// With work_sync::at_close single steps are not synced, and what a power cut leaves may look like
// damage.
#include "work_reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "work_record.hpp"

namespace takt::inline TAKT_ABI {
namespace {

using reason = work_queue_error::reason;

// Reads a file block by block.
class file_window {
 public:
  explicit file_window(const work_file& file) : file_(file), size_(file.size()) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Up to `length` bytes, valid until the next call; fewer only at the end of the file.
  std::string_view bytes(std::uint64_t at, std::uint64_t length) {
    length = std::min(length, size_ - std::min(at, size_));
    if (at < begin_ || at + length > begin_ + block_.size()) {
      constexpr std::uint64_t block = 65'536;
      block_ = file_.read(at, static_cast<std::size_t>(std::max(length, block)));
      begin_ = at;
    }
    return std::string_view(block_).substr(static_cast<std::size_t>(at - begin_),
                                           static_cast<std::size_t>(length));
  }

 private:
  const work_file& file_;
  const std::uint64_t size_;
  std::uint64_t begin_ = 0;
  std::string block_;
};

class reader {
 public:
  reader(const work_file& file, const work_header& header) : in_(file), salt_(header.salt) {
    found_.version = 2;
    found_.salt = salt_;
    found_.end = work_header::size;
    if (!header.whole) note_damage(0);
  }

  work_contents read() {
    std::uint64_t at = found_.end;
    while (at < in_.size()) {
      const std::optional<record_header> header = header_at(at);
      if (header && read_record(*header, at)) {
        at += header->size_with_payload();
      } else {
        const std::uint64_t next = find_next_record(header, at);
        if (bad_bytes_ == 0) bad_at_ = at;
        bad_bytes_ += next - at;
        at = next;
      }
    }
    return std::move(found_);
  }

 private:
  // The step being read.
  struct step {
    std::uint64_t first = 0;
    std::uint64_t size = 0;
    std::uint32_t last_index = 0;
    std::vector<std::string> payloads;
  };

  std::optional<record_header> header_at(std::uint64_t at) {
    return record_header::read(in_.bytes(at, record_header::size), salt_);
  }

  // Where to continue behind something that is no good record. The length in a header can be
  // trusted, because the header has a checksum. So the payload is skipped, unless what follows it
  // is no record either.
  std::uint64_t find_next_record(const std::optional<record_header>& header, std::uint64_t at) {
    if (header) {
      const std::uint64_t next = at + header->size_with_payload();
      if (next == in_.size() || header_at(next)) return next;
    }
    const std::string marker = record_header::marker(salt_);
    constexpr std::uint64_t block = 65'536;
    for (std::uint64_t from = at + 1;;) {
      const std::string_view bytes = in_.bytes(from, block);
      if (bytes.size() < record_header::size) return in_.size();
      const std::size_t place = bytes.find(marker);
      if (place == std::string_view::npos) {
        from += bytes.size() - (marker.size() - 1);
      } else if (header_at(from + place)) {
        return from + place;
      } else {
        from += place + 1;
      }
    }
  }

  // Reads a record with this header. \return false if the record is bad.
  bool read_record(const record_header& header, std::uint64_t at) {
    if (header.size_with_payload() > in_.size() - at) return false;
    const bool continues = step_ && header.first() == step_->first;
    if (continues ? header.step_size() != step_->size || header.index <= step_->last_index
                  : header.first() < next_first()) {
      return false;  // a copy of an earlier record
    }
    const std::string payload(in_.bytes(at + record_header::size, header.length));
    if (crc32(payload) != header.checksum) return false;
    if (!continues) {
      if (step_) finish_damaged_step(at);
      if (header.first() != found_.next_sequence) skip_records(header.first(), at);
      step_ = step{.first = header.first(), .size = header.step_size(), .payloads = {}};
    }
    step_->last_index = header.index;
    step_->payloads.push_back(payload);
    if (header.left == 0 && step_->payloads.size() == step_->size) {
      if (bad_bytes_ != 0) note_damage(bad_at_);  // between intact records
      finish_step(true, at + header.size_with_payload());
    }
    return true;
  }

  // The lowest sequence number that the first record of a later step can have.
  [[nodiscard]] std::uint64_t next_first() const noexcept {
    return step_ ? step_->first + step_->size : found_.next_sequence;
  }

  // Called when a later step follows: the missing records of this step existed.
  void finish_damaged_step(std::uint64_t at) {
    note_damage(bad_bytes_ != 0 ? bad_at_ : at);
    found_.lost_records += step_->size - step_->payloads.size();
    finish_step(false, at);
  }

  void skip_records(std::uint64_t sequence, std::uint64_t at) {
    note_damage(bad_bytes_ != 0 ? bad_at_ : at);
    found_.lost_records += sequence - found_.next_sequence;
    found_.next_sequence = sequence;
    found_.lost_bytes += std::exchange(bad_bytes_, 0);
    found_.end = at;
  }

  void finish_step(bool complete, std::uint64_t end) {
    for (const std::string& payload : step_->payloads) {
      const bool was_damaged = found_.lost_records != 0;
      if (work_step::apply(payload, complete, found_.book, found_.metadata)) continue;
      // The step may complete an item that is lost.
      if (was_damaged && payload.front() == 'c') continue;
      note_damage(found_.end);
      ++found_.lost_records;
    }
    found_.next_sequence = step_->first + step_->size;
    found_.lost_bytes += std::exchange(bad_bytes_, 0);
    found_.end = end;
    step_.reset();
  }

  void note_damage(std::uint64_t at) {
    if (!std::exchange(found_.damaged, true)) found_.damaged_at = at;
  }

  file_window in_;
  const std::uint64_t salt_;
  work_contents found_;
  std::optional<step> step_;
  // Bytes behind found_.end that are no record.
  std::uint64_t bad_at_ = 0;
  std::uint64_t bad_bytes_ = 0;
};

}  // namespace

void refuse_work_file(reason why, const work_file& file, const std::string& what) {
  throw work_queue_error(why, "takt::file_work_queue: '" + file.name().string() + "' " + what);
}

work_contents read_work_file(const work_file& file) {
  constexpr std::string_view magic = work_header::magic;
  const std::string head = file.read(0, work_header::size);
  const std::string_view start = std::string_view(head).substr(0, magic.size());
  const std::optional<work_header> header = work_header::read(head);
  const bool is_torn = file.size() <= work_header::size && work_header::is_torn(head);
  if (header && (header->whole || !is_torn)) return reader(file, *header).read();
  if (start == work_magic_1) return read_work_file_1(file);
  if (is_torn) return {};
  if (start == magic) {
    refuse_work_file(reason::damaged, file,
                     "is damaged at byte " + std::to_string(magic.size()) +
                         ", in its header, and cannot be read");
  }
  if (start.starts_with(magic.substr(0, magic.size() - 1))) {
    refuse_work_file(reason::foreign, file, "is a work list of another version");
  }
  refuse_work_file(reason::foreign, file, "is not a work list of takt");
}

}  // namespace takt::inline TAKT_ABI
