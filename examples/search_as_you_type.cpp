// A search field: each key press cancels the pending search, and only a pause starts one. Here it
// runs in virtual time; with takt::rx::schedulers the same code runs in a program.
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

class search_field {
 public:
  explicit search_field(takt::rx::worker_scheduler& where) : worker_(where.create_worker()) {}

  // Called for each key press. Replaces the pending search.
  void type(const std::string& text) {
    pending_.set(worker_.schedule(300ms, [this, text] { search(text); }));
  }

  [[nodiscard]] const std::vector<std::string>& searches() const { return searches_; }

 private:
  // Called only by tasks of the worker, sequentially.
  void search(const std::string& text) {
    std::printf("searching for \"%s\"\n", text.c_str());
    searches_.push_back(text);
  }

  std::vector<std::string> searches_;
  takt::rx::serial_subscription pending_;
  takt::rx::worker worker_;  // last: destroyed first, so no task refers to destroyed members
};

}  // namespace

int main() {
  takt::rx::test_scheduler time;
  search_field field{time};

  for (const char* text : {"t", "ta", "tak", "takt"}) {
    field.type(text);
    time.advance(100ms);  // faster than the delay
  }
  time.advance(1s);  // a pause
  field.type("takt rx");
  time.advance(1s);
  field.type("never mind");

  return field.searches() == std::vector<std::string>{"takt", "takt rx"} ? 0 : 1;
}
