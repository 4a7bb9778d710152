// Code that the programs of this folder share: command-line parsing, safe printing of untrusted
// text, progress on a terminal, and exit codes.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tool {

// Thrown for a wrong command line. run() prints it on stderr and returns exit code 2.
class misuse : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Exit codes of all programs; --help lists them.
enum exit_code : int { success = 0, failure = 1, wrong_usage = 2, unfinished = 3 };

// Parses options (--name, --name VALUE or --name=VALUE) and other arguments. Arguments after "--"
// are not options.
class command_line {
 public:
  // Adds an option with a value.
  void value(std::string name, std::function<void(const std::string&)> set) {
    options_.push_back({std::move(name), std::move(set), true});
  }
  // Adds an option without a value.
  void flag(std::string name, bool& set) {
    options_.push_back({std::move(name), [&set](const std::string&) { set = true; }, false});
  }
  // Adds an option with a number from `least` to `most`.
  void number(const std::string& name, std::size_t& set, std::size_t least,
              std::size_t most = 1'000'000'000) {
    value(name, [=, &set](const std::string& text) { set = parse(name, text, least, most); });
  }
  // The same; `set` stays empty if the option is not given.
  void number(const std::string& name, std::optional<std::size_t>& set, std::size_t least,
              std::size_t most = 1'000'000'000) {
    value(name, [=, &set](const std::string& text) { set = parse(name, text, least, most); });
  }

  // \return the arguments that are not options. \throws misuse.
  [[nodiscard]] std::vector<std::string> parse(const std::vector<std::string>& words) const {
    std::vector<std::string> rest;
    bool only_rest = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (only_rest || word.size() < 2 || word[0] != '-') {
        rest.push_back(word);
      } else if (word == "--") {
        only_rest = true;
      } else {
        const std::size_t equals = word.find('=');
        const option& found = find(word.substr(0, equals));
        if (!found.takes_value && equals != std::string::npos) {
          throw misuse("option " + found.name + " takes no value");
        }
        std::string value;
        if (equals != std::string::npos) {
          value = word.substr(equals + 1);
        } else if (found.takes_value) {
          if (++i == words.size()) throw misuse("option " + found.name + " needs a value");
          value = words[i];
        }
        found.set(value);
      }
    }
    return rest;
  }

 private:
  struct option {
    std::string name;
    std::function<void(const std::string&)> set;
    bool takes_value = false;
  };
  static std::size_t parse(const std::string& name, const std::string& text, std::size_t least,
                           std::size_t most) {
    std::size_t n = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, n);
    if (error != std::errc() || stopped != end || n < least || n > most) {
      throw misuse("option " + name + " needs a number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", not '" + text + "'");
    }
    return n;
  }
  [[nodiscard]] const option& find(const std::string& name) const {
    for (const option& o : options_) {
      if (o.name == name) return o;
    }
    throw misuse("unknown option '" + name + "'");
  }

  std::vector<option> options_;
};

// A UTF-8 character: its code point, and its length in bytes. Length 0 means invalid UTF-8.
struct utf8_character {
  char32_t code = 0;
  std::size_t length = 0;
};
inline utf8_character utf8_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t length = 2;
  if (first >= 0xE0) length = first >= 0xF0 ? 4 : 3;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < length) return {};
  char32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr char32_t least[] = {0x80, 0x800, 0x10000};  // smaller values are overlong encodings
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least[length - 2] || code > 0x10FFFF || is_surrogate) return {};
  return {code, length};
}

// Returns true if a character moves the cursor, ends a line, controls the terminal, or changes the
// display order of other characters.
inline bool is_control(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
  if (c == 0x061C || c == 0x200E || c == 0x200F || c == 0xFEFF) return true;
  return (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// Escapes untrusted text (from a server, a page, a file name) so that it is one line and safe to
// print. UTF-8 text is unchanged. A backslash becomes \\, a tab \t, a line feed \n, a carriage
// return
// \r; each byte of other control characters and of invalid UTF-8 becomes \xHH. Reversible.
inline std::string printable(std::string_view text) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const utf8_character c = utf8_at(text, at);
    const std::size_t length = c.length == 0 ? 1 : c.length;
    const std::size_t special = std::string_view("\\\t\n\r").find(text[at]);
    if (special != std::string_view::npos) {
      safe += '\\';
      safe += std::string_view("\\tnr")[special];
    } else if (c.length != 0 && !is_control(c.code)) {
      safe += text.substr(at, length);
    } else {
      for (const char byte : text.substr(at, length)) {
        const auto value = static_cast<unsigned char>(byte);
        safe += {'\\', 'x', digits[value >> 4U], digits[value & 0xFU]};
      }
    }
    at += length;
  }
  return safe;
}

// Returns true if stderr is a terminal and NO_PROGRESS is not set.
inline bool shows_progress() {
  static const bool shows = isatty(STDERR_FILENO) == 1 && std::getenv("NO_PROGRESS") == nullptr;
  return shows;
}

// Prefix for a line on this stream: clears the progress line if the stream is the same terminal.
inline const char* line_start(int stream) {
  return shows_progress() && isatty(stream) == 1 ? "\r\033[K" : "";
}

// A progress line on stderr that is overwritten, if stderr is a terminal. For one thread.
class progress {
 public:
  progress() = default;
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void show(const std::string& line) {
    if (!shows_progress()) return;
    std::fprintf(stderr, "\r\033[K%.78s", line.c_str());
    std::fflush(stderr);
    is_there_ = true;
  }
  void clear() {
    if (std::exchange(is_there_, false)) std::fputs("\r\033[K", stderr);
  }

 private:
  bool is_there_ = false;
};

// A descriptor that becomes readable when stop is requested: for poll().
class stop_descriptor {
 public:
  explicit stop_descriptor(const std::stop_token& stop) {
    if (pipe2(ends_, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    on_stop_.emplace(stop, [this] { written_ = write(ends_[1], "x", 1) == 1; });
  }
  ~stop_descriptor() {
    on_stop_.reset();
    close(ends_[0]);
    close(ends_[1]);
  }
  stop_descriptor(const stop_descriptor&) = delete;
  stop_descriptor& operator=(const stop_descriptor&) = delete;

  // Returns true if stop was requested.
  [[nodiscard]] bool is_requested() const {
    pollfd end = {.fd = ends_[0], .events = POLLIN, .revents = 0};
    return poll(&end, 1, 0) == 1;
  }

  // Waits until `other` is ready for `events`, stop is requested, or the time-out expires. \return
  // true if `other` is ready. Thread-safe.
  [[nodiscard]] bool wait_for(int other, short events, int timeout_ms = -1) const {
    for (;;) {
      pollfd both[2] = {{.fd = other, .events = events, .revents = 0},
                        {.fd = ends_[0], .events = POLLIN, .revents = 0}};
      const int ready = poll(both, 2, timeout_ms);
      if (ready == -1 && errno == EINTR) continue;
      if (ready == -1) throw std::system_error(errno, std::generic_category(), "poll");
      return both[1].revents == 0 && both[0].revents != 0;
    }
  }

 private:
  int ends_[2] = {-1, -1};
  bool written_ = false;  // by the callback
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

// Reads a regular file. \return nothing if the file has more than `most` bytes or is not a regular
// file; never blocks on a pipe, and follows no link. \throws std::system_error if reading fails.
inline std::optional<std::string> read_regular_file(const std::filesystem::path& file,
                                                    std::size_t most) {
  const auto fail = [] { throw std::system_error(errno, std::generic_category()); };
  struct handle {
    int descriptor;
    ~handle() {
      if (descriptor != -1) close(descriptor);
    }
  } const in{open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (in.descriptor == -1 && (errno == ELOOP || errno == ENXIO)) return std::nullopt;
  if (in.descriptor == -1) fail();
  struct stat about{};
  if (fstat(in.descriptor, &about) != 0) fail();
  if (!S_ISREG(about.st_mode)) return std::nullopt;
  std::string bytes;
  char block[65'536];
  for (;;) {
    const ssize_t n = read(in.descriptor, block, sizeof block);
    if (n == -1 && errno == EINTR) continue;
    if (n == -1) fail();
    if (n == 0) return bytes;
    if (static_cast<std::size_t>(n) > most - bytes.size())
      return std::nullopt;  // the file may have grown
    bytes.append(block, static_cast<std::size_t>(n));
  }
}

// Ends the program at the second signal, when the work that it waits for does not end. Never
// blocks: it writes a line to stderr only if that does not block, and not through stdio, whose lock
// another thread may hold.
[[noreturn]] inline void leave_at_once(const char* name, exit_code code) {
  char line[200];
  const int length =
      std::snprintf(line, sizeof line, "%s%s: stopped without waiting for work in progress\n",
                    line_start(STDERR_FILENO), name);
  pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (length > 0 && poll(&to, 1, 0) == 1 && (to.revents & POLLOUT) != 0) {
    const auto size = std::min(static_cast<std::size_t>(length), sizeof line - 1);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, size);
  }
  std::_Exit(code);
}

// Flushes stdout. \throws std::system_error if any output could not be written.
inline void finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw std::system_error(errno, std::generic_category(), "cannot write to the output");
}

// Makes writes to a pipe without reader or to a closed connection fail with EPIPE instead of ending
// the program, so that the program can report the error and its totals.
inline void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

// Opens /dev/null, for the wrong direction, in place of each missing standard stream. Otherwise the
// next file that the program opens would become its standard stream.
inline void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // open() returns the lowest free descriptor.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::abort();
  }
}

// Runs the body of a program: handles --help, prints errors, and returns the exit code.
inline int run(const char* name, const char* help, int argc, char** argv,
               const std::function<int(const std::vector<std::string>&)>& body) {
  occupy_standard_streams();
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word == "--help" || word == "-h") {
      std::fputs(help, stdout);
      return std::fflush(stdout) == 0 ? success : failure;
    }
  }
  try {
    return body(words);
  } catch (const misuse& e) {
    std::fprintf(stderr, "%s: %s; see %s --help\n", name, printable(e.what()).c_str(), name);
    return wrong_usage;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, printable(e.what()).c_str());
    return failure;
  }
}

}  // namespace tool
