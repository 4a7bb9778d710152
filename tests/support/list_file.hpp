// Helpers for tests of file_work_queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <takt/service/file_work_queue.hpp>

#include "../../src/service/work_record.hpp"
#include "temporary_folder.hpp"

namespace takt_test {

inline std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// Opens the list. Returns the error, or nothing if it opens.
inline std::optional<takt::work_queue_error> refusal(
    const std::filesystem::path& file, const takt::file_work_queue_options& options = {}) {
  try {
    const takt::file_work_queue list(file, options);
  } catch (const takt::work_queue_error& e) {
    return e;
  }
  return std::nullopt;
}

inline std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    static_cast<void>(entry);
    ++files;
  }
  return files;
}

// Returns the offsets of the steps of a file, or of its records, and the end of the file.
inline std::vector<std::size_t> records_in(const std::string& bytes, bool only_steps = false) {
  const std::uint64_t salt = takt::work_header::read(bytes)->salt;
  std::vector<std::size_t> found;
  std::size_t at = takt::work_header::size;
  while (at < bytes.size()) {
    const auto header = takt::record_header::read(std::string_view(bytes).substr(at), salt);
    if (!header) throw std::logic_error("no record at byte " + std::to_string(at));
    if (!only_steps || header->index == 0) found.push_back(at);
    at += header->size_with_payload();
  }
  found.push_back(at);
  return found;
}
inline std::vector<std::size_t> steps_in(const std::string& bytes) {
  return records_in(bytes, true);
}

// A test with a temporary folder for its list.
class list_file_test : public testing::Test {
 protected:
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); }

 private:
  temporary_folder folder_;
  std::filesystem::path file_ = folder_ / "list";
};

}  // namespace takt_test
