// A game on an event loop: the world advances in steps of 5 ms, another thread sends key presses,
// frames are drawn when the display is ready, and a coroutine waits for the end of the game. The
// number of frames depends on the machine; the steps of the world do not.
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

// A coroutine without a result: its caller does not wait for it.
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
      if (!is_won()) self.schedule(0ms);  // no frames are requested after the game
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

  // All game code runs on this thread: key presses are posted to it.
  std::thread keyboard([&] {
    for (int i = 0; i < 4; ++i) loop.execute([&] { play.press_key(); });
  });
  const std::size_t tasks = loop.run();
  keyboard.join();

  std::printf("won: %s; %d frames, %zu tasks\n", play.is_won() ? "yes" : "no", play.drawn(), tasks);
  return play.is_won() && play.drawn() > 0 ? 0 : 1;
}
