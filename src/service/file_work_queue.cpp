// The items in memory (work_book), and a file from which they can be restored: a header, and steps
// of one or more records. Only the last step may be incomplete.
//
//   open     enqueue(), complete() and set_metadata() change the book and append a step to the file
//   broken   they throw, because the end of the file is unknown
//
//   open -> open     a step could not be synced; everything was written to a new file
//   open -> broken   that failed, or a partly written step could not be removed
//
// Invariants
//   1. The first `end_` bytes of the file are a header and complete steps. They describe the book,
//      except that claimed items are waiting.
//   2. Nothing is behind `end_`, unless the queue is broken.
//   3. What enqueue(), complete() and set_metadata() have returned from is in these bytes; with
//      work_sync::each, these bytes are on the disk.
//   4. Nothing in an existing file is changed before all of it has been read and understood.
//   5. While a file has its name, the queue that has it open holds its lock. A new version is
//      locked before it gets the name.
//   6. A file whose fsync has failed is not written to again.
#include <takt/service/file_work_queue.hpp>

#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/service/file_replacement.hpp>

#include "work_book.hpp"
#include "work_file.hpp"
#include "work_reader.hpp"
#include "work_record.hpp"

namespace takt::inline TAKT_ABI {

class file_work_queue::impl {
 public:
  impl(const std::filesystem::path& file, const options_type& options);
  ~impl();

  std::size_t enqueue(std::span<const work_item> items);
  std::size_t complete(std::string_view key, std::span<const work_item> found);
  void set_metadata(std::string_view bytes);
  // In a child process.
  void close_file() noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
    const work_file closed = std::move(file_);
  }

  mutable detail::mutex mu_;
  work_book book_ TAKT_GUARDED_BY(mu_);
  std::string metadata_ TAKT_GUARDED_BY(mu_);

  // Constant after construction.
  file_work_queue_recovery recovery_;
  const detail::fork_guard home_;

 private:
  [[noreturn]] void refuse(work_queue_error::reason why, const std::string& what) const
      TAKT_REQUIRES(mu_);
  [[noreturn]] void refuse_damaged(const work_contents& found, std::uint64_t size) const
      TAKT_REQUIRES(mu_);
  void create() TAKT_REQUIRES(mu_);
  void compact() TAKT_REQUIRES(mu_);
  // Called by the constructor only: recovery_ is constant afterwards.
  void rewrite_on_open() TAKT_REQUIRES(mu_) {
    rewrite();
    recovery_.compacted = true;
  }
  void rewrite() TAKT_REQUIRES(mu_) { rewrite(nullptr, book_.next()); }
  void rewrite(work_step* step, work_book::number end) TAKT_REQUIRES(mu_);
  [[nodiscard]] std::uint64_t needed_bytes() const TAKT_REQUIRES(mu_);
  void append(work_step& step, work_book::number added_from) TAKT_REQUIRES(mu_);
  void move_to_new_file(work_step& step, work_book::number added_from) TAKT_REQUIRES(mu_);
  std::size_t add(std::span<const work_item> items, work_step& step) TAKT_REQUIRES(mu_);

  // Constant after construction.
  const options_type options_;

  work_file file_ TAKT_GUARDED_BY(mu_);
  std::uint64_t end_ TAKT_GUARDED_BY(mu_) = 0;
  std::uint64_t salt_ TAKT_GUARDED_BY(mu_) = 0;
  std::uint64_t next_sequence_ TAKT_GUARDED_BY(mu_) = 0;
  bool broken_ TAKT_GUARDED_BY(mu_) = false;
};

file_work_queue::impl::impl(const std::filesystem::path& file, const options_type& options)
    : options_(options) {
  const detail::mutex_lock lock(mu_);  // for the thread safety analysis
  std::error_code unknown;             // the working folder may be gone
  const std::filesystem::path absolute = std::filesystem::absolute(file, unknown);
  file_ = work_file::open(unknown ? file : absolute);
  work_contents found = read_work_file(file_);
  const std::uint64_t size = file_.size();
  if (found.damaged && options.damaged == damage_policy::refuse) refuse_damaged(found, size);
  if (found.version != 0 && options.check_existing != nullptr) {
    options.check_existing(found.metadata, found.book.counts());
  }
  book_ = std::move(found.book);
  metadata_ = std::move(found.metadata);
  if (found.version == 0) {
    create();
    return;
  }
  end_ = found.end;
  salt_ = found.salt;
  next_sequence_ = found.next_sequence;
  recovery_.lost_records = found.lost_records;
  recovery_.lost_bytes = found.lost_bytes;
  recovery_.dropped_records = size == end_ ? 0 : 1;
  recovery_.dropped_bytes = size - end_;
  if (found.version == 1 || found.damaged) {
    rewrite_on_open();
    return;
  }
  if (size != end_) file_.truncate(end_);
  if (options_.sync == work_sync::each) {  // an earlier queue may not have synced the file
    try {
      file_.sync();
    } catch (const work_queue_error&) {
      rewrite_on_open();
      return;
    }
    file_.sync_name();
  }
  if (end_ > options_.compact_above && end_ / 2 > needed_bytes()) compact();
}

file_work_queue::impl::~impl() {
  const detail::mutex_lock lock(mu_);  // as above
  if (options_.sync == work_sync::each || broken_) return;
  try {
    file_.sync();
  } catch (...) {
    try {
      rewrite();
    } catch (...) {
      // at_close does not promise that the file is on the disk.
    }
  }
}

// The header is synced before the first record is written, also with work_sync::at_close: without
// the header no record could be read.
void file_work_queue::impl::create() {
  file_.truncate(0);
  salt_ = work_header::make_salt();
  file_.write(0, work_header::write(salt_));
  end_ = work_header::size;
  try {
    file_.sync();
  } catch (const work_queue_error&) {
    rewrite_on_open();
    return;
  }
  if (options_.sync == work_sync::each) file_.sync_name();
}

void file_work_queue::impl::refuse(work_queue_error::reason why, const std::string& what) const {
  refuse_work_file(why, file_, what);
}

void file_work_queue::impl::refuse_damaged(const work_contents& found, std::uint64_t size) const {
  refuse(work_queue_error::reason::damaged,
         "is damaged at byte " + std::to_string(found.damaged_at) + " of " + std::to_string(size) +
             " (records lost: " + std::to_string(found.lost_records) +
             ") before intact records; to continue without the lost ones, keep a copy of "
             "the file and open it with damage_policy::skip");
}

std::uint64_t file_work_queue::impl::needed_bytes() const {
  std::uint64_t bytes = work_header::size + work_step::metadata_size(metadata_);
  book_.each([&](work_book::number, std::string_view key, std::string_view data, bool completed) {
    bytes += completed ? work_step::done_size(key) : work_step::accepted_size(key, data);
  });
  return bytes;
}

// Rewrites the file without obsolete records. If that fails, for instance for lack of memory, the
// old file remains in use.
void file_work_queue::impl::compact() {
  try {
    rewrite_on_open();
  } catch (const std::exception&) {
    if (broken_) throw;
  }
}

// Writes the metadata, the items with numbers below `end`, and a step to a new file, reads the file
// back, puts it in place of the old one and continues with it. If it throws, nothing has changed,
// unless the queue is broken.
void file_work_queue::impl::rewrite(work_step* step, work_book::number end) {
  try {
    file_replacement made(file_.name());
    const std::uint64_t salt = work_header::make_salt();
    made.write(work_header::write(salt));
    std::uint64_t size = work_header::size;
    std::uint64_t sequence = 0;
    const auto write = [&](work_step& one) {
      const std::string_view bytes = one.seal(salt, sequence);
      made.write(bytes);
      size += bytes.size();
      sequence += one.records();
    };
    if (!metadata_.empty()) {
      work_step one;
      one.add_metadata(metadata_);
      write(one);
    }
    book_.each_below(end, [&](work_book::number which, std::string_view key, std::string_view data,
                              bool is_completed) {
      work_step one;  // one step per item: damage costs one item
      is_completed ? one.add_done(which, key) : one.add_accepted(which, key, data);
      write(one);
    });
    const std::uint64_t size_before_step = size;
    if (step != nullptr) write(*step);
    made.sync();
    work_file copy = work_file::share(file_.name(), made.descriptor());
    const work_contents found = read_work_file(copy);
    if (found.damaged || found.end != size || found.next_sequence != sequence) {
      refuse(work_queue_error::reason::failed, "was written anew, but reads back differently");
    }
    if (!file_.is_named(made.target())) {
      refuse(work_queue_error::reason::failed, "was replaced by another file while it was open");
    }
    std::exception_ptr error;
    try {
      made.commit();
    } catch (...) {
      if (!made.is_committed()) throw;
      error = std::current_exception();
      broken_ = true;  // a power cut may restore the old file
    }
    file_ = std::move(copy);
    end_ = error == nullptr ? size : size_before_step;  // the caller of a failed step removes it
    salt_ = salt;
    next_sequence_ = sequence;
    if (error != nullptr) std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    throw work_queue_error(work_queue_error::reason::failed, e.what());
  }
}

// Appends a step. If it throws, the file is unchanged, unless the queue is broken. The step holds
// the items of the book with numbers from `added_from` on.
void file_work_queue::impl::append(work_step& step, work_book::number added_from) {
  if (broken_) {
    refuse(work_queue_error::reason::failed,
           "accepts no changes, because an earlier write has failed; open the file again");
  }
  if (file_.is_deleted()) {
    refuse(work_queue_error::reason::failed, "was deleted or replaced while it was open");
  }
  const std::string_view bytes = step.seal(salt_, next_sequence_);
  try {
    file_.write(end_, bytes);
  } catch (...) {
    broken_ = true;
    file_.truncate(end_);
    broken_ = false;
    throw;
  }
  if (options_.sync == work_sync::each) {
    try {
      file_.sync();
    } catch (const work_queue_error&) {
      // The content of the disk is unknown; a second fsync may succeed although nothing is there.
      move_to_new_file(step, added_from);
      return;
    }
  }
  end_ += bytes.size();
  next_sequence_ += step.records();
}

// Called while an error of fsync is being handled. Rethrows it if there can be no new file.
void file_work_queue::impl::move_to_new_file(work_step& step, work_book::number added_from) {
  try {
    rewrite(&step, added_from);
    return;
  } catch (const std::exception&) {
    broken_ = true;
  }
  try {
    file_.truncate(end_);  // the caller gets an error: the step must not count
  } catch (const work_queue_error&) {
    // The step may then be there when the file is opened again.
  }
  throw;
}

// Adds items to the book and to the step. \return the number of new items.
std::size_t file_work_queue::impl::add(std::span<const work_item> items, work_step& step) {
  const work_book::number first = book_.next();
  const std::size_t added = book_.add(items);
  try {
    book_.each_waiting_from(
        first, [&](work_book::number which, std::string_view key, std::string_view data) {
          step.add_accepted(which, key, data);
        });
  } catch (...) {
    book_.remove_last(added);
    throw;
  }
  return added;
}

std::size_t file_work_queue::impl::enqueue(std::span<const work_item> items) {
  work_step step;
  const detail::mutex_lock lock(mu_);
  const work_book::number first = book_.next();
  const std::size_t added = add(items, step);
  if (added == 0) return 0;
  try {
    append(step, first);
  } catch (...) {
    book_.remove_last(added);
    throw;
  }
  return added;
}

std::size_t file_work_queue::impl::complete(std::string_view key,
                                            std::span<const work_item> found) {
  work_step step;
  const detail::mutex_lock lock(mu_);
  const work_book::number claimed = book_.find_claimed(key);
  const work_book::number first = book_.next();
  const std::size_t added = add(found, step);
  try {
    step.add_completed(claimed);
    append(step, first);
  } catch (...) {
    book_.remove_last(added);
    throw;
  }
  book_.complete(claimed);
  return added;
}

void file_work_queue::impl::set_metadata(std::string_view bytes) {
  std::string kept(bytes);
  work_step step;
  step.add_metadata(bytes);
  const detail::mutex_lock lock(mu_);
  append(step, book_.next());
  metadata_.swap(kept);
}

file_work_queue::file_work_queue(const std::string& file, const options_type& options)
    : impl_(new impl(file, options)) {}

file_work_queue::~file_work_queue() {
  if (impl_->home_.is_here()) {
    delete impl_;
  } else {  // the mutex and the book are in an unknown state
    impl_->close_file();
  }
}

const file_work_queue_recovery& file_work_queue::recovery() const noexcept {
  return impl_->recovery_;
}
std::size_t file_work_queue::enqueue(std::span<const work_item> items) {
  return impl_->enqueue(items);
}
std::size_t file_work_queue::complete(std::string_view key, std::span<const work_item> found) {
  return impl_->complete(key, found);
}

std::optional<work_item> file_work_queue::claim() {
  const detail::mutex_lock lock(impl_->mu_);
  return impl_->book_.claim();
}

void file_work_queue::release(std::string_view key) {
  const detail::mutex_lock lock(impl_->mu_);
  impl_->book_.release(impl_->book_.find_claimed(key));
}

work_counts file_work_queue::counts() const {
  const detail::mutex_lock lock(impl_->mu_);
  return impl_->book_.counts();
}

std::vector<work_item> file_work_queue::incomplete() const {
  const detail::mutex_lock lock(impl_->mu_);
  return impl_->book_.incomplete();
}

std::vector<std::string> file_work_queue::completed_keys() const {
  const detail::mutex_lock lock(impl_->mu_);
  return impl_->book_.completed_keys();
}

std::string file_work_queue::metadata() const {
  const detail::mutex_lock lock(impl_->mu_);
  return impl_->metadata_;
}
void file_work_queue::set_metadata(std::string_view bytes) { impl_->set_metadata(bytes); }

}  // namespace takt::inline TAKT_ABI
