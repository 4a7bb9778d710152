// Walks a directory tree and builds an index of the words in its files: a pipeline of a walk,
// parallel readers, and a last stage that owns the index.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

#include "tool.hpp"

namespace fs = std::filesystem;

namespace {

constexpr const char* help = R"(usage: index [OPTION]... FOLDER

Prints the words in the files below a folder. Each line has a word, and the files that contain it with
counts: word, tab, count, space, file, tab, count, space, file, and so on.

  --out FILE      write the index to FILE when it is complete, instead of to the output
  --readers N     number of files read at a time (2)
  --min N         skip words of fewer letters (3)
  --max-bytes N   skip larger files (1000000); files that are not text are always skipped
  --help          this text

In words and file names, a tab is printed as \t, a line feed as \n, a carriage return as \r,
a backslash as \\, and each byte of other control characters and of invalid UTF-8 as \xHH. So each
line has one word, and each name can be restored.

Files and folders that cannot be read are reported and skipped. Ctrl-C stops the program without an
index. If it is stopped or cannot write FILE, FILE is unchanged. FILE is replaced atomically, through
a temporary file beside it; of two simultaneous runs, the last one to end wins.

exit code: 0 done; 1 an error, or a file could not be read; 2 wrong usage; 3 stopped
)";

struct settings {
  fs::path folder;
  fs::path out;
  std::size_t readers = 2;
  std::size_t min = 3;
  std::size_t max_bytes = 1'000'000;
};

settings read_settings(const std::vector<std::string>& words) {
  settings s;
  tool::command_line line;
  line.value("--out", [&](const std::string& v) { s.out = v; });
  line.number("--readers", s.readers, 1, 1000);
  line.number("--min", s.min, 1);
  line.number("--max-bytes", s.max_bytes, 1);
  const std::vector<std::string> rest = line.parse(words);
  if (rest.empty()) throw tool::misuse("no folder");
  if (rest.size() > 1) throw tool::misuse("unexpected argument '" + rest[1] + "'");
  s.folder = rest[0];
  if (!fs::is_directory(s.folder)) throw tool::misuse("'" + rest[0] + "' is not a folder");
  return s;
}

using word_counts = std::map<std::string, std::size_t>;

struct indexed_file {
  fs::path name;
  word_counts words;
};

// Reports and counts files that could not be read. Thread-safe.
class complaints {
 public:
  void add(const fs::path& file, const std::error_code& why) {
    std::fprintf(stderr, "%sindex: cannot read '%s': %s\n", tool::line_start(STDERR_FILENO),
                 tool::printable(file.string()).c_str(), why.message().c_str());
    ++count_;
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::atomic<std::size_t> count_ = 0;
};

// The contents of a file; empty if the file is skipped or cannot be read.
std::string text_of(const fs::path& file, std::size_t max_bytes, complaints& unread) {
  try {
    return tool::read_regular_file(file, max_bytes).value_or("");
  } catch (const std::system_error& e) {
    unread.add(file, e.code());
    return {};
  }
}

// Words consist of letters and digits; bytes above 127 count as letters, because of UTF-8.
word_counts words_of(const std::string& text, std::size_t shortest) {
  word_counts words;
  if (text.find('\0') != std::string::npos) return words;  // not text
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const unsigned char c = i < text.size() ? static_cast<unsigned char>(text[i]) : ' ';
    if (c >= 128 || std::isalnum(c) != 0) {
      word.push_back(static_cast<char>(std::tolower(c)));
    } else {
      if (word.size() >= shortest) ++words[word];
      word.clear();
    }
  }
  return words;
}

// Pushes the files below a folder into the pipeline. Reports folders that cannot be read.
void walk(const settings& s, takt::outlet<fs::path>& out, complaints& unread) {
  std::vector<fs::path> folders{s.folder};
  while (!folders.empty() && !out.stop().stop_requested()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator at(folder, error);
    while (!error && at != fs::directory_iterator()) {
      std::error_code why;
      const fs::file_type type = at->symlink_status(why).type();
      if (type == fs::file_type::directory) {
        folders.push_back(at->path());
      } else if (type == fs::file_type::regular) {
        const std::uintmax_t size = at->file_size(why);
        if (!why && size <= s.max_bytes) out.push(at->path());
      }
      if (why && why != std::errc::no_such_file_or_directory) unread.add(at->path(), why);
      at.increment(error);
    }
    if (error) unread.add(folder, error);
  }
}

using word_index = std::map<std::string, std::vector<std::pair<std::size_t, std::string>>>;

// Returns true for pipes and devices: they are written into, not replaced.
bool is_written_into(const fs::path& file) {
  return fs::exists(file) && !fs::is_regular_file(file);
}

// Calls `write` with each line.
template <class Write>
void each_line(const word_index& index, Write write) {
  for (const auto& [word, files] : index) {
    std::string line = tool::printable(word);
    for (const auto& [count, file] : files) {
      line += '\t' + std::to_string(count) + ' ' + tool::printable(file);
    }
    write(line += '\n');
  }
}

// \return true if everything was written; otherwise the error is in errno.
bool print(const word_index& index, std::FILE* to) {
  each_line(index, [&](const std::string& line) { std::fwrite(line.data(), 1, line.size(), to); });
  return std::fflush(to) == 0 && std::ferror(to) == 0;
}

void write_into(const fs::path& file, const word_index& index) {
  std::FILE* const out = std::fopen(file.c_str(), "we");
  bool good = out != nullptr && print(index, out);
  int why = errno;
  if (out != nullptr && std::fclose(out) != 0 && good) {
    good = false;
    why = errno;
  }
  if (good) return;
  throw std::system_error(why, std::generic_category(), "cannot write '" + file.string() + "'");
}

// Replaces the file atomically: it contains the old index or the new one, never a part.
// \throws takt::cancelled, and keeps the old file, if stop is requested before the replacement.
void write_to(const fs::path& file, const word_index& index, const std::stop_token& stop) {
  const auto check = [&] {
    if (stop.stop_requested()) throw takt::cancelled();
  };
  if (is_written_into(file)) {
    write_into(file, index);
    return;
  }
  try {
    takt::file_replacement out(file);
    each_line(index, [&](const std::string& line) {
      check();
      out.write(line);
    });
    check();
    out.commit();
  } catch (const std::system_error& e) {
    throw std::system_error(e.code(), "cannot write '" + file.string() + "'");
  }
}

int run(const std::vector<std::string>& words) {
  using namespace std::chrono_literals;
  const settings s = read_settings(words);
  std::optional<takt::stop_signals> signals(std::in_place);  // first: before any thread

  complaints unread;
  word_index index;  // used only by the last stage, then by this thread
  std::atomic<std::size_t> files = 0;
  takt::pipeline indexing =
      takt::pipeline::from<fs::path>([&](takt::outlet<fs::path>& out) { walk(s, out, unread); },
                                     {.name = "walk"})
          .then(
              [&](const fs::path& file) {
                return indexed_file{file, words_of(text_of(file, s.max_bytes, unread), s.min)};
              },
              {.name = "read", .threads = s.readers})
          .into(
              [&](const indexed_file& file) {
                ++files;
                for (const auto& [word, count] : file.words) {
                  index[word].emplace_back(count, file.name.string());
                }
              },
              {.name = "index"});

  tool::progress line;
  while (!indexing.await_termination(200ms, signals->stop_token())) {
    if (signals->stop_token().stop_requested()) {
      indexing.shutdown_and_cancel();
      if (!indexing.await_termination(signals->force_token())) {
        tool::leave_at_once("index", tool::unfinished);
      }
    }
    line.show(std::to_string(files) + " files");
  }
  line.clear();
  const std::stop_token stop = signals->stop_token();
  const auto stopped = [&] {
    std::fprintf(stderr, "index: stopped after %zu files, without an index\n", files.load());
    return tool::unfinished;
  };
  if (stop.stop_requested()) return stopped();
  indexing.join();  // throws the error of a stage
  for (auto& [word, where] : index) {
    if (stop.stop_requested()) return stopped();
    std::sort(where.begin(), where.end());
  }
  std::fprintf(stderr, "index: %zu words in %zu files\n", index.size(), files.load());
  if (s.out.empty() || is_written_into(s.out)) {
    signals.reset();  // the reader of the output may be slow: Ctrl-C ends the program
    if (stop.stop_requested()) return stopped();
  }
  if (!s.out.empty()) {
    try {
      write_to(s.out, index, stop);
    } catch (const takt::cancelled&) {
      return stopped();
    }
  } else {
    print(index, stdout);
    tool::finish_output();
  }
  return unread.count() == 0 ? tool::success : tool::failure;
}

}  // namespace

int main(int argc, char** argv) { return tool::run("index", help, argc, argv, run); }
