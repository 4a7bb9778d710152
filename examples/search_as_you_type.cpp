// A search field: each key gives up the search before, and only a pause starts one. All of it runs
// in virtual time here; with takt::rx::schedulers it is the same code in a program.
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

  // A key was pressed: what was about to be searched for is given up.
  void type(const std::string& text) {
    pending_.set(worker_.schedule(300ms, [this, text] { search(text); }));
  }

  [[nodiscard]] const std::vector<std::string>& searches() const { return searches_; }

 private:
  // Only tasks of the worker come here, one after the other.
  void search(const std::string& text) {
    std::printf("searching for \"%s\"\n", text.c_str());
    searches_.push_back(text);
  }

  std::vector<std::string> searches_;
  takt::rx::serial_subscription pending_;
  takt::rx::worker worker_;  // last: it ends first, and then nothing refers to the rest
};

}  // namespace

int main() {
  takt::rx::test_scheduler time;
  search_field field{time};

  for (const char* text : {"t", "ta", "tak", "takt"}) {
    field.type(text);
    time.advance(100ms);  // quick fingers
  }
  time.advance(1s);  // a pause
  field.type("takt rx");
  time.advance(1s);
  field.type("never mind");

  return field.searches() == std::vector<std::string>{"takt", "takt rx"} ? 0 : 1;
}
