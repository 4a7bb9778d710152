// What the programs of this folder have in common: a command line, and progress on a terminal.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
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

// A wrong command line: a line on stderr, and exit code 2.
class misuse : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a program ends with; the same in all of them, and in their --help.
enum exit_code : int { success = 0, failure = 1, wrong_usage = 2, unfinished = 3 };

// Options and what else is on the command line: --name, --name VALUE or --name=VALUE; after "--"
// nothing is an option.
class command_line {
 public:
  // An option with a value, and one without.
  void value(std::string name, std::function<void(const std::string&)> set) {
    options_.push_back({std::move(name), std::move(set), true});
  }
  void flag(std::string name, bool& set) {
    options_.push_back({std::move(name), [&set](const std::string&) { set = true; }, false});
  }
  // A number from `least` to `most`.
  void number(const std::string& name, std::size_t& set, std::size_t least,
              std::size_t most = 1'000'000'000) {
    value(name, [name, least, most, &set](const std::string& text) {
      std::size_t n = 0;
      const char* const end = text.data() + text.size();
      const auto [stopped, error] = std::from_chars(text.data(), end, n);
      if (error != std::errc() || stopped != end || n < least || n > most) {
        throw misuse("option " + name + " needs a number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", not '" + text + "'");
      }
      set = n;
    });
  }

  // What is no option. \throws misuse.
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
  [[nodiscard]] const option& find(const std::string& name) const {
    for (const option& o : options_) {
      if (o.name == name) return o;
    }
    throw misuse("unknown option '" + name + "'");
  }

  std::vector<option> options_;
};

// Whether there is a terminal for progress.
inline bool shows_progress() {
  static const bool shows = isatty(STDERR_FILENO) == 1 && std::getenv("NO_PROGRESS") == nullptr;
  return shows;
}

// What a line for this stream has to begin with: it may come on top of progress.
inline const char* line_start(int stream) {
  return shows_progress() && isatty(stream) == 1 ? "\r\033[K" : "";
}

// A line on stderr that is written over again and again, if that is a terminal. Used by one thread.
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

  // Waits until `other` is ready for `events`, stop is requested, or the time is over. \return
  // whether `other` is.
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

// What a program does when it is told to stop for the second time, and what it waits for does not
// end: it leaves, without looking back.
[[noreturn]] inline void leave_at_once(const char* name, exit_code code) {
  std::fprintf(stderr, "%s%s: stopped without waiting for what was under way\n",
               line_start(STDERR_FILENO), name);
  std::_Exit(code);
}

// What was printed is where it belongs. \throws if it is not.
inline void finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw std::system_error(errno, std::generic_category(), "cannot write to the output");
}

// A program that was started without one of its three streams must not take the next file that it
// opens for it: gives it one that cannot be used.
inline void occupy_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest number that is free; for the wrong direction.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) std::abort();
  }
}

// Runs a program: --help, its errors and its exit code.
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
    std::fprintf(stderr, "%s: %s; see %s --help\n", name, e.what(), name);
    return wrong_usage;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return failure;
  }
}

}  // namespace tool
