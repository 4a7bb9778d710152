// Counts files below a directory: each directory is a task, which submits a task per subdirectory.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <takt/takt.hpp>

namespace fs = std::filesystem;

namespace {

struct walk {
  takt::stealing_pool& pool;
  std::atomic<std::uint64_t> files{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> unfinished{0};  // directories
  takt::promise<void> done{};

  void submit(fs::path directory) {
    ++unfinished;
    pool.execute([this, directory = std::move(directory)] { visit(directory); });
  }

  void visit(const fs::path& directory) {
    std::error_code error;  // an unreadable directory counts as empty
    for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
      std::error_code gone;
      const fs::file_status status = i->symlink_status(gone);  // links are not followed
      if (fs::is_directory(status)) submit(i->path());
      if (!fs::is_regular_file(status)) continue;
      ++files;
      const std::uintmax_t size = i->file_size(gone);
      if (!gone) bytes += size;
    }
    if (--unfinished == 0)
      done.set_value();  // subdirectories were counted before: no directory is left
  }
};

// Creates a directory with two files of 100 bytes and three such directories, `depth` levels deep.
void make_tree(const fs::path& directory, int depth) {
  fs::create_directories(directory);
  for (const char* name : {"a", "b"}) std::ofstream(directory / name) << std::string(100, 'x');
  for (int i = 0; i < 3 && depth > 0; ++i) make_tree(directory / std::to_string(i), depth - 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::string own = fs::temp_directory_path() / "takt-walk-XXXXXX";  // mkdtemp() replaces the X
  if (argc < 2 && mkdtemp(own.data()) == nullptr) return 1;
  if (argc < 2) make_tree(own, 3);

  takt::stealing_pool pool{{.threads = 4, .name = "walk"}};
  walk all{pool};
  const takt::future<void> done = all.done.get_future();
  all.submit(argc < 2 ? own : argv[1]);
  done.wait();              // tasks submit tasks, which close() would reject
  pool.close(takt::drain);  // rejects new tasks, and waits for the threads
  if (argc < 2) fs::remove_all(own);

  const std::uint64_t files = all.files;
  const std::uint64_t bytes = all.bytes;
  const takt::task_totals tasks = pool.totals();
  std::printf("%llu files, %llu bytes\n", static_cast<unsigned long long>(files),
              static_cast<unsigned long long>(bytes));
  std::printf("submitted %llu = finished %llu\n", static_cast<unsigned long long>(tasks.submitted),
              static_cast<unsigned long long>(tasks.finished));
  const bool as_made = files == 80 && bytes == 8'000 && tasks.submitted == 40;
  return (argc >= 2 || as_made) && tasks.submitted == tasks.finished ? 0 : 1;
}
