// Compares a work queue in a file with one in memory, while the file is closed, truncated and
// damaged. A damaged file is rejected and stays unchanged, or opens in the state after one of its
// records.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <takt/service/file_work_queue.hpp>
#include <takt/service/memory_work_queue.hpp>

#include "../support/temporary_folder.hpp"
#include "fuzz.hpp"

namespace {

using takt::work_item;
using takt::work_queue_error;

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

std::string key_from(script& input) {
  std::string key(1 + input.next(2), static_cast<char>('a' + input.next(8)));
  return key;
}

// The contents of a list, without its claims.
struct state {
  std::vector<work_item> incomplete;
  std::size_t completed = 0;
  friend bool operator==(const state&, const state&) = default;
};

state of(const takt::work_queue& list) { return {list.incomplete(), list.counts().completed}; }

class life {
 public:
  explicit life(std::filesystem::path file) : file_(std::move(file)) {
    std::filesystem::remove(file_);
    EXPECT(open());
    before_.push_back(of(*list_));
  }

  void step(script& input) {
    switch (input.next(8)) {
      case 0:
      case 1: {
        const std::vector<work_item> items = items_from(input);
        EXPECT(list_->enqueue(items) == model_->enqueue(items));
        break;
      }
      case 2:
      case 3: {
        const std::optional<work_item> item = list_->claim();
        EXPECT(item == model_->claim());
        if (item) claimed_.push_back(item->key);
        break;
      }
      case 4:
        if (const auto key = one_claimed(input)) {
          const std::vector<work_item> found = items_from(input);
          EXPECT(list_->complete(*key, found) == model_->complete(*key, found));
        }
        break;
      case 5:
        if (const auto key = one_claimed(input)) {
          list_->release(*key);
          model_->release(*key);
        }
        break;
      case 6:
        reopen(contents_after_close());
        break;
      default:
        damage(input);
        return;  // the model has been replaced
    }
    EXPECT(list_->counts() == model_->counts());
    EXPECT(of(*list_) == of(*model_));
    before_.push_back(of(*list_));
  }

 private:
  static std::vector<work_item> items_from(script& input) {
    std::vector<work_item> items(input.next(3));
    for (work_item& item : items) {
      item = {key_from(input), std::string(input.next(4), static_cast<char>('0' + input.next(10)))};
    }
    return items;
  }

  std::optional<std::string> one_claimed(script& input) {
    if (claimed_.empty()) return std::nullopt;
    std::swap(claimed_[input.next(claimed_.size())], claimed_.back());
    std::string key = std::move(claimed_.back());
    claimed_.pop_back();
    return key;
  }

  // Checks that all readable items were accepted with these data.
  void look_at_the_rest() {
    EXPECT(list_->recovery().compacted);
    for (const work_item& item : list_->incomplete()) {
      EXPECT(std::any_of(before_.begin(), before_.end(), [&](const state& s) {
        return std::find(s.incomplete.begin(), s.incomplete.end(), item) != s.incomplete.end();
      }));
    }
    EXPECT(list_->counts().completed <= before_.back().completed);
    list_.reset();
    EXPECT(open());  // the file is valid again
    list_.reset();
  }

  bool open(takt::damage_policy damaged = takt::damage_policy::refuse) {
    try {
      list_ = std::make_unique<takt::file_work_queue>(
          file_, takt::file_work_queue_options{
                     .sync = takt::work_sync::at_close, .compact_above = 64, .damaged = damaged});
      return true;
    } catch (const work_queue_error& e) {
      EXPECT(e.why() == work_queue_error::reason::foreign ||
             e.why() == work_queue_error::reason::damaged);
      return false;
    }
  }

  std::string contents_after_close() {
    list_.reset();
    return contents_of(file_);
  }

  // Reopens a file that must be readable. Claims are lost, also in the model.
  void reopen(const std::string& bytes) {
    write(file_, bytes);
    EXPECT(open());
    for (const std::string& key : claimed_) model_->release(key);
    claimed_.clear();
  }

  void damage(script& input) {
    const std::string whole = contents_after_close();
    std::string bytes = whole;
    const std::size_t at = (input.next(256) << 8 | input.next(256)) % bytes.size();
    if (input.next(2) == 0) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] + 1 + static_cast<int>(input.next(255)));
    }
    write(file_, bytes);
    if (open()) {  // no damage, or a torn tail
      EXPECT(std::find(before_.begin(), before_.end(), of(*list_)) != before_.end());
      list_.reset();
    } else {
      EXPECT(contents_of(file_) == bytes);
      if (open(takt::damage_policy::skip)) look_at_the_rest();
    }
    reopen(whole);
  }

  const std::filesystem::path file_;
  std::unique_ptr<takt::file_work_queue> list_;
  std::unique_ptr<takt::memory_work_queue> model_ = std::make_unique<takt::memory_work_queue>();
  std::vector<std::string> claimed_;
  std::vector<state> before_;  // after each step
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const takt_test::temporary_folder folder;
  script input(data, std::min<std::size_t>(size, 200));
  life one(folder / "list");
  while (!input.done()) one.step(input);
  return 0;
}
