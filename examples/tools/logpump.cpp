// Copies the lines of its input to a file, through a log_service: a slow disk does not hold up who
// writes the lines, as far as there is room, and each line is accounted for when it is stopped.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "tool.hpp"

namespace {

constexpr const char* help = R"(usage: logpump [OPTION]... FILE

Adds the lines of its input to the end of FILE. At the end of the input, and when Ctrl-C is pressed,
it writes what it has read, and tells how many lines that were. The second Ctrl-C does not wait for
a disk that is slow.

  --capacity N   so many lines wait for the disk at most (1024)
  --drop         if as many wait, drop lines and count them, instead of keeping the writer waiting
  --truncate     delete what is in the file first
  --sync         have each line on the disk before it counts as written
  --wait S       at the end, wait so long for the disk (10)
  --help         this text

A line of more than a million bytes is written as several.

exit code: 0 every line is written; 1 an error; 2 wrong usage; 3 lines were dropped or not written
)";

struct settings {
  std::string file;
  std::size_t capacity = 1024;
  bool drop = false;
  bool truncate = false;
  bool sync = false;
  std::size_t wait_s = 10;
};

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.number("--capacity", s.capacity, 1);
  line.flag("--drop", s.drop);
  line.flag("--truncate", s.truncate);
  line.flag("--sync", s.sync);
  line.number("--wait", s.wait_s, 0);
  const std::vector<std::string> rest = line.parse(words);
  if (rest.empty()) throw tool::misuse("no file");
  if (rest.size() > 1) throw tool::misuse("one file, not '" + rest[1] + "', too");
  s.file = rest[0];
  return s;
}

// Says from time to time how far it is, unless somebody types the lines on that terminal.
class telling {
 public:
  telling(const takt::log_service& log, const std::size_t& lines) : log_(log), lines_(lines) {}

  static constexpr std::chrono::milliseconds pause{200};
  void tell() {
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

// Gives each line of the input to the log, until the input ends or stop is requested; what it has
// read by then, unless it is to hurry. Counts the lines that it has read.
void pump(takt::log_service& log, const takt::stop_signals& signals, std::size_t& lines) {
  constexpr std::size_t longest = 1'000'000;
  const tool::stop_descriptor stopped(signals.stop_token());
  std::exception_ptr failed;  // the rest of what it has read is counted then
  const auto give = [&](std::string&& line) {
    ++lines;
    if (failed != nullptr) return;
    try {
      log.log(std::move(line), signals.force_token());
    } catch (...) {
      failed = std::current_exception();
    }
  };
  std::string line;
  std::array<char, 65'536> block{};
  telling progress(log, lines);
  while (failed == nullptr) {
    progress.tell();
    if (!stopped.wait_for(STDIN_FILENO, POLLIN, static_cast<int>(telling::pause.count()))) {
      if (signals.stop_token().stop_requested()) break;
      continue;
    }
    const ssize_t n = read(STDIN_FILENO, block.data(), block.size());
    if (n == -1 && errno == EINTR) continue;
    if (n == -1) throw std::system_error(errno, std::generic_category(), "cannot read the input");
    if (n == 0) break;
    std::string_view rest(block.data(), static_cast<std::size_t>(n));
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      line.append(rest.substr(0, end));
      const bool is_whole = end < rest.size();
      rest.remove_prefix(end + (is_whole ? 1 : 0));
      if (is_whole || line.size() >= longest) give(std::exchange(line, {}));
    }
  }
  if (!line.empty()) give(std::move(line));
  if (failed != nullptr) std::rethrow_exception(failed);
}

// An error of the log: it is told at the end, in the words of this program.
class silence final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
};

int run(const std::vector<std::string>& words) {
  const silence told_below;
  const settings s = read_settings(words);
  auto file = takt::to_file(
      s.file, {.append = !s.truncate,
               .sync = s.sync ? takt::file_sync::at_flush : takt::file_sync::at_close});
  const takt::stop_signals signals;  // before any thread; Ctrl-C ends a wait for a pipe's reader
  takt::log_service log{std::move(file),
                        {.capacity = s.capacity,
                         .rejection = s.drop ? takt::when_full::drop() : takt::when_full::wait(),
                         .flush_every = s.sync ? std::size_t{1} : std::size_t{64},
                         .unhandled = &told_below}};
  std::size_t lines = 0;
  bool good = true;
  try {
    pump(log, signals, lines);
  } catch (const std::exception& e) {
    if (log.error() == nullptr) std::fprintf(stderr, "logpump: %s\n", e.what());
    good = false;
  }
  log.shutdown();
  bool has_ended = log.await_termination(std::chrono::seconds(s.wait_s), signals.force_token());
  if (!has_ended) {
    static_cast<void>(log.shutdown_now());  // they are in the account
    has_ended = log.await_termination(std::chrono::seconds(1));
  }
  const takt::log_statistics account = log.statistics();
  const unsigned long long lost = lines - account.written;
  std::fprintf(stderr, "logpump: %llu lines written, %llu not\n",
               static_cast<unsigned long long>(account.written), lost);
  if (!has_ended) tool::leave_at_once("logpump", tool::unfinished);  // a write that does not end
  if (log.error() != nullptr) std::rethrow_exception(log.error());
  if (!good) return tool::failure;
  return lost == 0 ? tool::success : tool::unfinished;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("logpump", help, argc, argv, run); }
