// Copies the lines of its input to a file through a log_service: a slow disk does not block the
// writer of the input until the queue is full, and every line is accounted for at the end.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "tool.hpp"

namespace {

constexpr const char* help = R"(usage: logpump [OPTION]... FILE

Appends the lines of its input to FILE. At the end of the input and after Ctrl-C, it writes the lines
that it has read and reports their number. The second Ctrl-C does not wait for a slow disk.

  --capacity N   maximum number of lines that wait for the disk (1024)
  --bytes N      maximum number of bytes that wait for the disk; a longer line waits alone (16000000)
  --drop         while the queue is full, drop and count lines instead of blocking the writer of the
                 input
  --truncate     delete the contents of FILE first
  --sync         count a line as written only when it is on the disk
  --wait S       at the end of the input or after Ctrl-C, wait at most S seconds for the disk (10)
  --help         this text

A line of more than a million bytes is written as several lines. A FILE that is a pipe without a
reader is an error.

exit code: 0 every line is written; 1 an error; 2 wrong usage; 3 lines were dropped or not written
)";

struct settings {
  std::string file;
  std::size_t capacity = 1024;
  std::size_t bytes = 16'000'000;
  bool drop = false;
  bool truncate = false;
  bool sync = false;
  std::size_t wait_s = 10;
};

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.number("--capacity", s.capacity, 1);
  line.number("--bytes", s.bytes, 1);
  line.flag("--drop", s.drop);
  line.flag("--truncate", s.truncate);
  line.flag("--sync", s.sync);
  line.number("--wait", s.wait_s, 0);
  const std::vector<std::string> rest = line.parse(words);
  if (rest.empty()) throw tool::misuse("no file");
  if (rest.size() > 1) throw tool::misuse("unexpected argument '" + rest[1] + "'");
  s.file = rest[0];
  return s;
}

// Bounds the bytes of queued lines; a log_service bounds only their number. A line that is longer
// than the bound is accepted when nothing else is queued.
class byte_budget {
 public:
  explicit byte_budget(std::size_t most) : most_(most) {}

  // Reserves bytes for a line. Waits until they are free, unless `drop`. \return false if they are
  // not free, or stop was requested while waiting.
  [[nodiscard]] bool reserve(std::size_t bytes, bool drop, const std::stop_token& stop) {
    std::unique_lock lock(mu_);
    const auto has_room = [&] {
      return failed_ || used_ == 0 || (used_ <= most_ && bytes <= most_ - used_);
    };
    if (drop ? !has_room() : !changed_.wait(lock, stop, has_room)) return false;
    used_ += bytes;
    return true;
  }
  void release(std::size_t bytes) {
    const std::lock_guard lock(mu_);
    used_ -= bytes;
    changed_.notify_all();
  }
  // The file has failed: releases all waiting threads.
  void fail() {
    const std::lock_guard lock(mu_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  const std::size_t most_;
  std::mutex mu_;
  std::condition_variable_any changed_;
  std::size_t used_ = 0;
  bool failed_ = false;
};

// A sink that releases the bytes of lines when they are flushed; until then they are in a buffer.
// This cannot deadlock: while the reader of the input waits for bytes, the log runs out of lines
// and flushes.
class budgeted_sink final : public takt::log_sink {
 public:
  budgeted_sink(std::unique_ptr<takt::log_sink> file, byte_budget& budget)
      : file_(std::move(file)), budget_(budget) {}

  void write(std::string_view line) override {
    try {
      file_->write(line);
    } catch (...) {
      budget_.fail();
      throw;
    }
    unflushed_ += line.size();
  }
  void flush() override {
    try {
      file_->flush();
    } catch (...) {
      budget_.fail();
      throw;
    }
    budget_.release(std::exchange(unflushed_, 0));
  }
  void close() override { file_->close(); }

 private:
  std::unique_ptr<takt::log_sink> file_;
  byte_budget& budget_;
  std::size_t unflushed_ = 0;
};

// Requests stop when the program must not wait for the file any longer: `wait` after the first
// signal, or at the second signal.
class patience {
 public:
  patience(const takt::stop_signals& signals, std::chrono::seconds wait)
      : wait_(wait),
        on_first_(signals.stop_token(), [this] { begin(); }),
        on_second_(signals.force_token(), [this] { over_.request_stop(); }),
        timer_([this](const std::stop_token& end) { run(end); }) {}

  [[nodiscard]] std::stop_token over() const { return over_.get_token(); }

 private:
  void begin() {
    const std::lock_guard lock(mu_);
    has_begun_ = true;
    changed_.notify_all();
  }
  void run(const std::stop_token& end) {
    {
      std::unique_lock lock(mu_);
      changed_.wait(lock, end, [this] { return has_begun_; });
      changed_.wait_for(lock, end, wait_, [] { return false; });
    }
    if (!end.stop_requested()) over_.request_stop();
  }

  const std::chrono::seconds wait_;
  std::stop_source over_;
  std::mutex mu_;
  std::condition_variable_any changed_;
  bool has_begun_ = false;
  std::stop_callback<std::function<void()>> on_first_;
  std::stop_callback<std::function<void()>> on_second_;
  std::jthread timer_;
};

// Shows progress from time to time, unless the input is typed on a terminal.
class progress_report {
 public:
  progress_report(const takt::log_service& log, const std::size_t& lines)
      : log_(log), lines_(lines) {}

  static constexpr std::chrono::milliseconds pause{200};
  void update() {
    const auto now = takt::steady.now();
    if (is_typed_ || now < next_) return;
    next_ = now + pause;
    line_.show(std::to_string(lines_) + " lines read, " +
               std::to_string(log_.statistics().written) + " written");
  }

 private:
  const takt::log_service& log_;
  const std::size_t& lines_;
  const bool is_typed_ = isatty(STDIN_FILENO) == 1;
  takt::clock::time_point next_ = takt::steady.now();
  tool::progress line_;
};

// Passes each line of the input to the log, until the input ends or stop is requested. Counts all
// lines that it has read, including dropped and rejected ones.
class pump {
 public:
  // `over`: ends waits for queue space.
  pump(takt::log_service& log, byte_budget& budget, bool drop, const takt::stop_signals& signals,
       std::stop_token over, std::size_t& lines)
      : log_(log),
        budget_(budget),
        drop_(drop),
        signals_(signals),
        over_(std::move(over)),
        lines_(lines) {}

  // \throws what the log throws, after counting all lines that were read.
  void run() {
    const tool::stop_descriptor stopped(signals_.stop_token());
    std::array<char, 65'536> block{};
    progress_report progress(log_, lines_);
    while (failed_ == nullptr) {
      progress.update();
      if (!stopped.wait_for(STDIN_FILENO, POLLIN,
                            static_cast<int>(progress_report::pause.count()))) {
        if (signals_.stop_token().stop_requested()) break;
        continue;
      }
      const ssize_t n = read(STDIN_FILENO, block.data(), block.size());
      if (n == -1 && errno == EINTR) continue;
      if (n == -1) throw std::system_error(errno, std::generic_category(), "cannot read the input");
      if (n == 0) break;
      split({block.data(), static_cast<std::size_t>(n)});
    }
    if (!line_.empty()) log_line();
    if (failed_ != nullptr) std::rethrow_exception(failed_);
  }

 private:
  static constexpr std::size_t longest = 1'000'000;

  void split(std::string_view rest) {
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (end != 0 && line_.size() == longest) log_line();  // splits a long line
      const std::size_t taken = std::min(end, longest - line_.size());
      line_.append(rest.substr(0, taken));
      rest.remove_prefix(taken);
      if (taken == end && !rest.empty()) {
        rest.remove_prefix(1);  // the line feed
        log_line();
      }
    }
  }

  void log_line() {
    std::string line = std::exchange(line_, {});
    ++lines_;
    if (failed_ != nullptr) return;
    const std::size_t size = line.size();
    if (!budget_.reserve(size, drop_, over_)) return;
    try {
      if (!log_.log(std::move(line), over_)) budget_.release(size);
    } catch (...) {
      failed_ = std::current_exception();
    }
  }

  takt::log_service& log_;
  byte_budget& budget_;
  const bool drop_;
  const takt::stop_signals& signals_;
  const std::stop_token over_;
  std::size_t& lines_;
  std::string line_;
  std::exception_ptr failed_;
};

// Ignores errors of the log: run() reports them at the end.
class ignore_errors final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
};

int run(const std::vector<std::string>& words) {
  const ignore_errors reported_below;
  const settings s = read_settings(words);
  tool::ignore_broken_pipes();
  byte_budget budget(s.bytes);
  auto file = std::make_unique<budgeted_sink>(
      takt::to_file(s.file,
                    {.append = !s.truncate,
                     .sync = s.sync ? takt::file_sync::at_flush : takt::file_sync::at_close}),
      budget);
  const takt::stop_signals
      signals;  // before any thread; until here Ctrl-C ends a wait for a pipe's reader
  takt::log_service log{std::move(file),
                        {.capacity = s.capacity,
                         .rejection = s.drop ? takt::when_full::drop() : takt::when_full::wait(),
                         .flush_every = s.sync ? std::size_t{1} : std::size_t{64},
                         .unhandled = &reported_below}};
  const std::chrono::seconds wait(s.wait_s);
  const patience limit(signals, wait);
  const std::stop_token over = limit.over();
  std::size_t lines = 0;
  bool good = true;
  try {
    pump(log, budget, s.drop, signals, over, lines).run();
  } catch (const std::exception& e) {
    if (log.error() == nullptr) {
      std::fprintf(stderr, "logpump: %s\n", tool::printable(e.what()).c_str());
    }
    good = false;
  }
  log.shutdown();
  bool has_ended = log.await_termination(wait, over);
  if (!has_ended) {
    static_cast<void>(log.shutdown_now());  // counted as returned
    has_ended = log.await_termination(std::chrono::seconds(1));
  }
  const takt::log_statistics account = log.statistics();
  const unsigned long long lost = lines - account.written;
  std::fprintf(stderr, "logpump: %llu lines written, %llu not\n",
               static_cast<unsigned long long>(account.written), lost);
  if (!has_ended) tool::leave_at_once("logpump", tool::unfinished);  // a write blocks
  if (log.error() != nullptr) std::rethrow_exception(log.error());
  if (!good) return tool::failure;
  return lost == 0 ? tool::success : tool::unfinished;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("logpump", help, argc, argv, run); }
