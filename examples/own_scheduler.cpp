// A custom action scheduler that runs work in slices while the program is idle. It defines how
// actions are requested and recycled, and when they are drained; the base class does the rest.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

class idle_scheduler final : public takt::rx::action_scheduler {
 public:
  explicit idle_scheduler(const takt::clock& time) : time_(time) {}
  ~idle_scheduler() override { close(); }

  takt::clock::time_point now() const noexcept override { return time_.now(); }

  // Runs one slice. Actions scheduled meanwhile run in the next slice.
  void run_slice() { drain(slice_++); }

 private:
  // Delays are ignored: an action runs in the next slice.
  void request(takt::rx::action_node& a, std::chrono::nanoseconds /*delay*/) override {
    enqueue(a, slice_);
  }
  bool recycle(takt::rx::action_node& a, takt::rx::action_delay /*delay*/) noexcept override {
    dequeue(a);
    return false;  // the entry is not kept: request() adds a new one
  }

  const takt::clock& time_;
  std::uint64_t slice_ = 0;
};

}  // namespace

int main() {
  takt::event_loop loop;
  idle_scheduler idle{takt::steady};
  std::string log;

  // A long computation, in slices.
  const auto index = idle.schedule(
      0ms,
      [&](auto& self, int page) {
        log += std::to_string(page);
        if (page < 3) self.schedule(0ms, page + 1);
      },
      1);
  const auto unwanted = idle.schedule([&] { log += "never"; });
  unwanted.unsubscribe();

  for (int i = 0; i < 4; ++i) {
    loop.poll();  // the program's main work
    idle.run_slice();
    log += '.';
  }
  std::printf("%s\n", log.c_str());
  return log == "1.2.3.." ? 0 : 1;
}
