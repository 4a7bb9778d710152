// flush() serves the loop: after each action it runs the loop's tasks that are due now. For tasks
// that are due later there is one more action, wake_, which is due at the loop's earliest deadline.
#include <takt/rx/marble_scheduler.hpp>

#include <algorithm>

#include "../sched/loop_intervals.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

using std::chrono::nanoseconds;

// --- subscriptions

class expected_subscriptions::check final : public marble_expectation {
 public:
  explicit check(std::function<std::vector<subscription_times>()> of) : log_(std::move(of)) {}

  [[nodiscard]] std::string problem() const override {
    const std::vector<subscription_times> actual = log_();
    if (actual == expected) return {};
    return "expected the subscriptions " + drawn(expected) + "\n but they were " + drawn(actual);
  }

  std::vector<subscription_times> expected;

 private:
  static std::string drawn(const std::vector<subscription_times>& all) {
    std::string text = "[";
    for (const subscription_times& s : all) {
      text += (text.size() == 1 ? "" : ", ") + print_marbles(s);
    }
    return text + "]";
  }

  const std::function<std::vector<subscription_times>()> log_;
};

void expected_subscriptions::to_be(const std::vector<std::string>& diagrams) const {
  for (const std::string& diagram : diagrams) {
    const subscription_times times = parse_subscription_marbles(diagram, of_.syntax());
    if (times.subscribed != never) check_->expected.push_back(times);
  }
  check_->ready = true;
}

expected_subscriptions marble_scheduler::expect_log(
    std::function<std::vector<subscription_times>()> log) {
  auto made = std::make_shared<expected_subscriptions::check>(std::move(log));
  expected_.push_back(made);
  return {*this, std::move(made)};
}

// --- the scheduler

marble_scheduler::marble_scheduler(options_type options)
    : virtual_time_scheduler({.max_time = std::chrono::milliseconds(750)}),
      options_(std::move(options)),
      intervals_(std::make_unique<detail::loop_intervals>()),
      loop_({.frame = never, .time = &time()}) {
  intervals_->attach(loop_);
}

marble_scheduler::~marble_scheduler() { close(); }

void marble_scheduler::refuse_markers(std::string_view diagram, const char* kind,
                                      const char* markers) {
  const std::size_t at = diagram.find_first_of(markers);
  if (at == std::string_view::npos) return;
  throw std::invalid_argument("takt::rx::marble_scheduler: a " + std::string(kind) +
                              " observable cannot have '" + diagram[at] +
                              "': " + std::string(diagram));
}

void marble_scheduler::animate(std::string_view diagram) {
  if (!syntax_.run_mode) {
    throw std::logic_error("takt::rx::marble_scheduler: animate() is for run() only");
  }
  if (animated_) {
    throw std::logic_error(
        "takt::rx::marble_scheduler: animate() was called in this run() already");
  }
  const std::vector<marble> frames = parse_marbles(diagram, syntax_);
  for (const marble& m : frames) {
    if (m.kind == marble_kind::next) continue;
    throw std::invalid_argument(
        "takt::rx::marble_scheduler: animate() takes neither an end nor an error: " +
        std::string(diagram));
  }
  animated_ = true;
  for (const marble& m : frames) {
    schedule(m.time, [this] { served_ += loop_.run_frame(); });
  }
}

std::size_t marble_scheduler::flush() {
  const clock::time_point until = limit();
  for (const auto& start : std::exchange(hot_, {})) start();
  std::size_t ran = 0;
  served_ = 0;
  serve_loop();
  while (step(until)) {
    ++ran;
    serve_loop();
  }
  check_expectations();
  return ran + served_;
}

void marble_scheduler::serve_loop() {
  if (loop_.is_running()) return;  // a task of the loop has called flush()
  while (loop_.next_deadline() == clock::time_point::min()) run_one_of_loop();
  const clock::time_point next = std::max(loop_.next_deadline(), now());
  if (next == clock::time_point::max()) {
    wake_.unsubscribe();
  } else if (wake_.is_unsubscribed() || next != wake_due_) {
    wake_.unsubscribe();
    wake_due_ = next;
    wake_ = schedule(time_between(now(), next), [this](auto& self) {
      self.unsubscribe();
      // In a flush() called by a task of the loop, the outer flush() runs the loop.
      if (loop_.is_running() || loop_.next_deadline() > now()) return;
      run_one_of_loop();
    });
  }
}

void marble_scheduler::run_one_of_loop() {
  intervals_->move_due(now());
  loop_.run_one();
  ++served_;
}

void marble_scheduler::check_expectations() {
  std::vector<std::shared_ptr<marble_expectation>> seen;
  std::erase_if(expected_, [&](const auto& e) {
    if (e->ready) seen.push_back(e);
    return e->ready;
  });
  for (const auto& e : seen) {
    const std::string problem = e->problem();
    if (problem.empty()) continue;
    if (!options_.report) throw marble_mismatch("takt::rx::marble_scheduler:\n" + problem);
    options_.report(problem);
  }
}

void marble_scheduler::end_run() {
  flush();
  if (!loop_.wants_frame() || animated_) return;
  throw std::logic_error(
      "takt::rx::marble_scheduler: a frame was requested, but animate() was not called");
}

marble_scheduler::run_scope::run_scope(marble_scheduler& of)
    : of_(of), syntax_(of.syntax_), max_time_(of.max_time()) {
  of.syntax_ = {};
  of.animated_ = false;
  of.set_max_time(never);
}

marble_scheduler::run_scope::~run_scope() {
  of_.syntax_ = syntax_;
  of_.set_max_time(max_time_);
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
