// A book in memory, and a file that the book can be made from again: a header, and records, of
// which only the last may be cut short.
//
//   open     accept() and confirm() add to the book, then a record to the file
//   broken   they throw: what the file ends with is not known
//
//   open -> broken   a record that was written in part could not be taken back, or a record could
//                    not be brought to the disk
//
// Invariants
//   1. The first `end_` bytes of the file are a header and whole records, and say what the book
//      says, but for claims: what is claimed waits there.
//   2. Behind `end_` there is nothing, unless it is broken.
//   3. What accept() and confirm() have returned from is in those bytes; and on the disk, with
//      work_sync::each.
//   4. Until all of a file has been read and understood, nothing of it is changed.
//   5. While a file has a name, who has it open holds its lock; a compacted file is locked before
//      it takes the name over.
#include <takt/service/file_work_list.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include <takt/base/mutex.hpp>
#include <takt/exec/home_process.hpp>

#include "work_book.hpp"
#include "work_file.hpp"
#include "work_record.hpp"

namespace takt::inline TAKT_ABI {

class file_work_list::impl {
 public:
  impl(const std::filesystem::path& file, const options& how);
  ~impl();

  std::size_t accept(std::span<const work_item> items);
  std::size_t confirm(std::string_view key, std::span<const work_item> found);
  // For a child process.
  void close_file() noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
    const work_file closed = std::move(file_);
  }

  mutable mutex mu_;
  work_book book_ TAKT_GUARDED_BY(mu_);

  // Constant after construction.
  file_work_list_recovery recovery_;
  const home_process home_;

 private:
  // Where the whole records of a file end, and what is in them.
  struct contents {
    std::uint64_t end = 0;
    work_book book;
  };

  static contents read(const work_file& file);
  static bool is_cut_short(const work_file& file, std::uint64_t at, std::uint64_t size);
  [[noreturn]] static void refuse(work_list_error::reason why, const work_file& file,
                                  const std::string& what);
  [[noreturn]] static void refuse_damaged(const work_file& file, const std::string& what,
                                          std::uint64_t at, std::uint64_t size);
  void compact() TAKT_REQUIRES(mu_);
  [[nodiscard]] std::uint64_t needed_bytes() const TAKT_REQUIRES(mu_);
  void append(work_record& record) TAKT_REQUIRES(mu_);
  std::size_t add(std::span<const work_item> items, work_record& record) TAKT_REQUIRES(mu_);

  // Constant after construction.
  const options how_;

  work_file file_ TAKT_GUARDED_BY(mu_);
  std::uint64_t end_ TAKT_GUARDED_BY(mu_) = 0;
  bool broken_ TAKT_GUARDED_BY(mu_) = false;
};

file_work_list::impl::impl(const std::filesystem::path& file, const options& how) : how_(how) {
  const mutex_lock lock(mu_);  // nobody else is here; for the analysis
  file_ = work_file::open(file);
  contents found = read(file_);
  book_ = std::move(found.book);
  end_ = found.end;
  const std::uint64_t size = file_.size();
  if (end_ == 0) {  // new, or made by somebody who did not get further
    file_.truncate(0);
    file_.write(0, work_file_magic);
    end_ = work_file_magic.size();
  } else if (size != end_) {
    recovery_.dropped_records = 1;
    recovery_.dropped_bytes = size - end_;
    file_.truncate(end_);
  }
  if (how_.sync == work_sync::each) {  // also what somebody has left who did not, or could not
    file_.sync();
    file_.sync_name();
  }
  if (end_ > how_.compact_above && end_ / 2 > needed_bytes()) compact();
}

file_work_list::impl::~impl() {
  const mutex_lock lock(mu_);  // as above
  try {
    if (how_.sync == work_sync::at_close) file_.sync();
  } catch (...) {
    // Nobody was promised that it would be on the disk.
  }
}

void file_work_list::impl::refuse(work_list_error::reason why, const work_file& file,
                                  const std::string& what) {
  throw work_list_error(why, "takt::file_work_list: '" + file.name().string() + "' " + what);
}

// What is before that place is whole: who does not mind losing the rest can go on with it.
void file_work_list::impl::refuse_damaged(const work_file& file, const std::string& what,
                                          std::uint64_t at, std::uint64_t size) {
  const std::string good = std::to_string(at);
  refuse(work_list_error::reason::damaged, file,
         what + " at byte " + good + " of " + std::to_string(size) +
             "; what is before that is whole: to go on with it, and without the rest, shorten the "
             "file to " +
             good + " bytes");
}

file_work_list::impl::contents file_work_list::impl::read(const work_file& file) {
  using reason = work_list_error::reason;
  contents found;
  const std::uint64_t size = file.size();
  const std::string magic = file.read(0, work_file_magic.size());
  if (magic.size() < work_file_magic.size() && work_file_magic.starts_with(magic)) return found;
  if (magic != work_file_magic) {
    const bool is_newer =
        magic.substr(0, magic.size() - 1) == work_file_magic.substr(0, work_file_magic.size() - 1);
    refuse(reason::foreign, file,
           is_newer ? "is a work list of another version" : "is not a work list of takt");
  }
  found.end = magic.size();
  while (found.end != size) {
    const std::string head = file.read(found.end, work_record::header_size);
    if (head.size() < work_record::header_size) return found;
    const work_record::header about = work_record::read_header(head);
    const std::uint64_t from = found.end + head.size();
    const std::string payload =
        about.valid ? file.read(from, std::min<std::uint64_t>(about.length, size - from))
                    : std::string();
    if (!about.valid || payload.size() < about.length || crc32(payload) != about.checksum) {
      if (is_cut_short(file, found.end, size)) return found;
      refuse_damaged(file, "is damaged", found.end, size);
    }
    if (!work_record::read(payload, found.book)) {
      refuse_damaged(file, "says what cannot be", found.end, size);
    }
    found.end += head.size() + payload.size();
  }
  return found;
}

// Whether a record that is not good may be one that was being written when the process or the
// machine came to its end: it reaches to the end of the file, or is all zeros, which some file
// systems leave where they have made room and written nothing.
bool file_work_list::impl::is_cut_short(const work_file& file, std::uint64_t at,
                                        std::uint64_t size) {
  const work_record::header about =
      work_record::read_header(file.read(at, work_record::header_size));
  if (about.valid) return at + work_record::header_size + about.length >= size;
  constexpr std::size_t block = 65'536;
  while (at < size) {
    const std::string bytes = file.read(at, block);
    if (bytes.empty() || bytes.find_first_not_of('\0') != std::string::npos) return bytes.empty();
    at += bytes.size();
  }
  return true;
}

std::uint64_t file_work_list::impl::needed_bytes() const {
  std::uint64_t bytes = work_file_magic.size() + work_record::header_size;
  book_.each_confirmed([&](std::string_view key) { bytes += work_record::done_size(key); });
  book_.each_waiting_from(0, [&](std::string_view key, std::string_view data) {
    bytes += work_record::accepted_size(key, data);
  });
  return bytes;
}

// Writes what is needed into another file, reads that, and puts it in place of the first. If that
// is not possible, for want of memory for instance, the first is good enough.
void file_work_list::impl::compact() {
  std::error_code ignored;
  std::filesystem::path other;
  try {
    std::filesystem::path name = std::filesystem::canonical(file_.name(), ignored);
    if (ignored) name = file_.name();
    std::filesystem::path beside = name;
    beside += ".takt-new";
    other = std::move(beside);  // not before it is another name: that file is removed below
    work_file made = work_file::create(other);
    made.write(0, work_file_magic);
    std::uint64_t end = work_file_magic.size();
    work_record record;
    const auto write = [&](std::size_t unless_below) {
      if (record.empty() || record.size() < unless_below) return;
      const std::string_view bytes = record.seal();
      made.write(end, bytes);
      end += bytes.size();
      record = work_record();
    };
    constexpr std::size_t block = 65'536;
    book_.each_confirmed([&](std::string_view key) {
      record.add_done(key);
      write(block);
    });
    book_.each_waiting_from(0, [&](std::string_view key, std::string_view data) {
      record.add_accepted(key, data);
      write(block);
    });
    write(0);
    made.sync();
    contents copy = read(made);
    if (copy.end != end || copy.book.counts() != book_.counts()) {
      refuse(work_list_error::reason::damaged, made, "is not what was written");
    }
    const std::filesystem::file_status now = std::filesystem::status(name, ignored);
    if (!ignored) std::filesystem::permissions(other, now.permissions(), ignored);
    made.rename(std::move(name));  // the last that may throw
    file_ = std::move(made);
    book_ = std::move(copy.book);
    end_ = end;
    recovery_.compacted = true;
  } catch (const std::exception&) {
    std::filesystem::remove(other, ignored);
    return;
  }
  file_.sync_name();  // or else the first might come back
}

// If it throws, the file says what it said before.
void file_work_list::impl::append(work_record& record) {
  if (broken_) {
    refuse(work_list_error::reason::failed, file_,
           "takes no more, as an earlier write has failed; open it again");
  }
  const std::string_view bytes = record.seal();
  try {
    file_.write(end_, bytes);
  } catch (...) {
    broken_ = true;
    file_.truncate(end_);
    broken_ = false;
    throw;
  }
  if (how_.sync == work_sync::each) {
    broken_ = true;
    file_.sync();
    broken_ = false;
  }
  end_ += bytes.size();
}

// Adds items to the book and to the record. \return how many.
std::size_t file_work_list::impl::add(std::span<const work_item> items, work_record& record) {
  const work_book::number first = book_.next();
  const std::size_t added = book_.add(items);
  try {
    book_.each_waiting_from(first, [&](std::string_view key, std::string_view data) {
      record.add_accepted(key, data);
    });
  } catch (...) {
    book_.take_back(added);
    throw;
  }
  return added;
}

std::size_t file_work_list::impl::accept(std::span<const work_item> items) {
  work_record record;
  const mutex_lock lock(mu_);
  const std::size_t added = add(items, record);
  if (added == 0) return 0;
  try {
    append(record);
  } catch (...) {
    book_.take_back(added);
    throw;
  }
  return added;
}

std::size_t file_work_list::impl::confirm(std::string_view key, std::span<const work_item> found) {
  work_record record;
  const mutex_lock lock(mu_);
  const work_book::number claimed = book_.find_claimed(key);
  const std::size_t added = add(found, record);
  try {
    record.add_confirmed(claimed);
    append(record);
  } catch (...) {
    book_.take_back(added);
    throw;
  }
  book_.confirm(claimed);
  return added;
}

file_work_list::file_work_list(const std::string& file, const options& how)
    : impl_(new impl(file, how)) {}

file_work_list::~file_work_list() {
  if (impl_->home_.is_here()) {
    delete impl_;
  } else {  // the mutex is in no known state, and neither is the book
    impl_->close_file();
  }
}

const file_work_list_recovery& file_work_list::recovery() const noexcept {
  return impl_->recovery_;
}
std::size_t file_work_list::accept(std::span<const work_item> items) {
  return impl_->accept(items);
}
std::size_t file_work_list::confirm(std::string_view key, std::span<const work_item> found) {
  return impl_->confirm(key, found);
}

std::optional<work_item> file_work_list::claim() {
  const mutex_lock lock(impl_->mu_);
  return impl_->book_.claim();
}

void file_work_list::give_back(std::string_view key) {
  const mutex_lock lock(impl_->mu_);
  impl_->book_.give_back(impl_->book_.find_claimed(key));
}

work_counts file_work_list::counts() const {
  const mutex_lock lock(impl_->mu_);
  return impl_->book_.counts();
}

std::vector<work_item> file_work_list::unconfirmed() const {
  const mutex_lock lock(impl_->mu_);
  return impl_->book_.unconfirmed();
}

}  // namespace takt::inline TAKT_ABI
