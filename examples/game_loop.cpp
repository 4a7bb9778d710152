// A game on an event loop: the world moves in steps of 5 ms, the player's keys come from another
// thread, frames are drawn when the display is ready for one, and a coroutine waits for the score.
// How many frames there are depends on the machine; what the world does, does not.
#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <thread>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

// A coroutine that nobody waits for.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

constexpr int goal = 100;

class game {
 public:
  explicit game(takt::event_loop& loop) : loop_(loop), frames_(loop) {
    steps_ = loop.schedule_at_fixed_rate(0ms, 5ms, [this] { step(); });
    frames_.schedule([this](auto& self) {
      draw();
      if (!is_won()) self.schedule(0ms);  // without the game nothing ticks
    });
    end_when_won();
  }

  void press_key() { speed_ += 5; }

  [[nodiscard]] bool is_won() const { return position_ == goal; }
  [[nodiscard]] int drawn() const { return drawn_; }

 private:
  void step() { position_ = std::min(position_ + speed_, goal); }

  void draw() { ++drawn_; }

  detached end_when_won() {
    while (!is_won()) co_await takt::resume_on(loop_.frames());
    steps_.cancel();
    loop_.stop();
  }

  takt::event_loop& loop_;
  takt::rx::animation_frame_scheduler frames_;
  takt::periodic_future steps_;
  int position_ = 0;
  int speed_ = 0;
  int drawn_ = 0;
};

}  // namespace

int main() {
  takt::event_loop loop{{.frame = 2ms}};
  game play(loop);

  // All that belongs to the game happens on this thread: keys are posted to it.
  std::thread keyboard([&] {
    for (int i = 0; i < 4; ++i) loop.execute([&] { play.press_key(); });
  });
  const std::size_t tasks = loop.run();
  keyboard.join();

  std::printf("won: %s; %d frames, %zu tasks in all\n", play.is_won() ? "yes" : "no", play.drawn(),
              tasks);
  return play.is_won() && play.drawn() > 0 ? 0 : 1;
}
