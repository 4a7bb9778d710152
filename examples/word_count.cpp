// Counts words below a directory: one stage finds files, one reads them, one counts.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include <takt/takt.hpp>

namespace fs = std::filesystem;

namespace {

void make_files(const fs::path& directory) {
  fs::create_directories(directory / "below");
  for (int i = 0; i < 20; ++i) {
    std::ofstream(directory / std::to_string(i)) << "to be or not to be\n";
    std::ofstream(directory / "below" / std::to_string(i)) << "that is the question\n";
  }
}

}  // namespace

int main() {
  const fs::path root = fs::temp_directory_path() / ("takt-words-" + std::to_string(getpid()));
  make_files(root);
  std::map<std::string, int> counts;  // used only by the last stage, which has one thread

  takt::pipeline counting =
      takt::pipeline::from<fs::path>([&](auto& out) {
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
          if (entry.is_regular_file()) out.push(entry.path());
        }
      })
          .then<std::string>(
              [](const fs::path& file, auto& out) {
                std::ifstream in(file);
                if (!in) throw std::runtime_error("cannot be read");
                for (std::string word; in >> word;) out.push(word);
              },
              {.name = "read", .threads = 4})
          .into([&](const std::string& word) { ++counts[word]; }, {.name = "count"});

  int result = 0;
  try {
    counting.join();
  } catch (const takt::stage_failed& e) {
    const auto* const file = e.item<fs::path>();
    std::printf("%s: %s\n", file == nullptr ? "?" : file->c_str(), e.what());
    result = 1;
  }
  for (const takt::stage_statistics& s : counting.statistics()) {
    std::printf("%-8s %3llu in, %3llu done, %3llu out\n", s.name.c_str(),
                static_cast<unsigned long long>(s.accepted),
                static_cast<unsigned long long>(s.finished),
                static_cast<unsigned long long>(s.produced));
  }
  std::printf("\"be\": %d\n", counts["be"]);
  fs::remove_all(root);
  return result == 0 && counts["be"] == 40 ? 0 : 1;
}
