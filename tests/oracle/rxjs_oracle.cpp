// Runs scripts on the action schedulers of takt::rx. rxjs_oracle.js runs them on rxjs;
// rxjs_scripts.py generates and explains them; run.py compares the traces.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <takt/clock/clock.hpp>
#include <takt/clock/manual_clock.hpp>
#include <takt/clock/time.hpp>
#include <takt/rx/action.hpp>
#include <takt/rx/action_scheduler.hpp>
#include <takt/rx/animation_frame_scheduler.hpp>
#include <takt/rx/asap_scheduler.hpp>
#include <takt/rx/async_scheduler.hpp>
#include <takt/rx/marble_scheduler.hpp>
#include <takt/rx/marbles.hpp>
#include <takt/rx/queue_scheduler.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/rx/virtual_time_scheduler.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/timer_handle.hpp>

#include "script.hpp"

namespace {

using oracle::words;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

struct thrown : std::exception {
  explicit thrown(int i) : id(i) {}
  int id;
};

nanoseconds time_of(const std::string& text) {
  return text == "i" ? takt::never : milliseconds(std::stoll(text));
}
// In milliseconds.
std::string text_of(nanoseconds t) {
  if (t == takt::never) return "i";
  if (t < nanoseconds(0)) return "-" + text_of(-t);
  std::string fraction = std::to_string(1'000'000 + t % milliseconds(1) / nanoseconds(1)).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return std::to_string(t / milliseconds(1)) + (fraction.empty() ? "" : "." + fraction);
}
std::string text_of(takt::clock::time_point t) { return text_of(t.time_since_epoch()); }
// Scripts write _ for a space.
std::string diagram_of(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

// One scheduler of each kind that uses a loop.
struct loop_schedulers {
  explicit loop_schedulers(takt::event_loop& loop)
      : async(loop), queue(loop), asap(loop), frame(loop) {}
  takt::rx::action_scheduler& at(char name) {
    switch (name) {
      case 'a':
        return async;
      case 'q':
        return queue;
      case 's':
        return asap;
      case 'f':
        return frame;
      default:
        throw std::invalid_argument(std::string("not a scheduler: ") + name);
    }
  }
  takt::rx::async_scheduler async;
  takt::rx::queue_scheduler queue;
  takt::rx::asap_scheduler asap;
  takt::rx::animation_frame_scheduler frame;
};

// Two schedulers of each kind; upper-case letters denote the second one.
struct two_of_each {
  explicit two_of_each(takt::event_loop& loop) : first(loop), second(loop) {}
  takt::rx::action_scheduler& at(char name) {
    const bool capital = name >= 'A' && name <= 'Z';
    return capital ? second.at(static_cast<char>(name - 'A' + 'a')) : first.at(name);
  }
  loop_schedulers first;
  loop_schedulers second;
};

// The environment of actions.
class home {
 public:
  home() = default;
  home(const home&) = delete;
  home& operator=(const home&) = delete;
  virtual ~home() = default;

  virtual takt::rx::action_scheduler& scheduler(char name) = 0;
  // For time-outs.
  virtual takt::event_loop& loop() { throw std::invalid_argument("there are no time-outs here"); }
  virtual takt::clock::time_point now() = 0;
  virtual void perform(const std::string& op) = 0;
  // Runs everything that is due, and logs when more is due. Logs errors of `attempt`.
  using attempt = std::function<bool(const std::function<void()>&)>;
  virtual std::string work(const attempt& may_fail) = 0;
  // Runs the script.
  virtual void run(const std::function<void()>& script) { script(); }
};

class on_loop final : public home {
 public:
  explicit on_loop(nanoseconds frame)
      : loop_({.frame = frame == nanoseconds(0) ? takt::never : frame, .time = &time_}) {}

  takt::rx::action_scheduler& scheduler(char name) override { return schedulers_.at(name); }
  takt::clock::time_point now() override { return time_.now(); }
  void perform(const std::string& op) override {
    if (op.at(0) == '>') {
      time_.advance(time_of(op.substr(1)));
    } else if (op == "F") {
      loop_.run_frame();
    } else {
      throw std::invalid_argument("not an operation: " + op);
    }
  }
  std::string work(const attempt& may_fail) override {
    while (!may_fail([this] { loop_.poll(); })) {
    }
    const takt::clock::time_point next = loop_.next_deadline();
    return next == takt::clock::time_point::max() ? "n-" : "n" + text_of(next);
  }

 private:
  takt::manual_clock time_;
  takt::event_loop loop_;
  two_of_each schedulers_{loop_};
};

class on_virtual_time final : public home {
 public:
  explicit on_virtual_time(nanoseconds most) : scheduler_({.max_time = most}) {}

  takt::rx::action_scheduler& scheduler(char) override { return scheduler_; }
  takt::clock::time_point now() override { return scheduler_.now(); }
  void perform(const std::string& op) override {
    if (op == "F") {
      scheduler_.flush();
    } else if (op.at(0) == 'm') {
      scheduler_.set_max_time(time_of(op.substr(1)));
    } else {
      throw std::invalid_argument("not an operation: " + op);
    }
  }
  std::string work(const attempt& may_fail) override {
    may_fail([this] { scheduler_.flush(); });
    return "n" + text_of(now());
  }

 private:
  takt::rx::virtual_time_scheduler scheduler_;
};

// A test in run mode: all schedulers are on virtual time.
class on_marbles final : public home {
 public:
  explicit on_marbles(std::string frames) : frames_(std::move(frames)) {}

  takt::rx::action_scheduler& scheduler(char name) override { return schedulers_.at(name); }
  takt::event_loop& loop() override { return test_.loop(); }
  takt::clock::time_point now() override { return test_.now(); }
  void perform(const std::string& op) override {
    throw std::invalid_argument("not an operation: " + op);
  }
  std::string work(const attempt& may_fail) override {
    if (may_fail([this] { test_.flush(); })) return "n" + text_of(now());
    throw end();
  }
  void run(const std::function<void()>& script) override {
    try {
      test_.run([&] {
        test_.animate(frames_);
        script();
      });
    } catch (const end&) {
    }
  }

 private:
  struct end {};  // the end of the script

  const std::string frames_;
  takt::rx::marble_scheduler test_;
  two_of_each schedulers_{test_.loop()};
};

// --- actions -------------------------------------------------------------------------------------

struct task {
  char where = 0;
  nanoseconds delay{};
  int runs = 0;
  words ops;

  std::optional<takt::rx::action<int>> handle;
  std::optional<takt::timer_handle> timer;  // null unless this is a time-out
  int ran = 0;

  [[nodiscard]] bool is_timeout() const { return where == 't'; }
};

class actions_oracle {
 public:
  explicit actions_oracle(oracle::script script) : script_(std::move(script)) {
    for (const auto& [id, parts] : script_.tasks) {
      task& t = tasks_[id];
      t.where = parts.at(1).at(0);
      t.delay = time_of(parts.at(2));
      t.runs = std::stoi(parts.at(3));
      t.ops = oracle::operations(parts);
    }
    const char kind = script_.head.at(0);
    if (kind == 'R') {
      home_ = std::make_unique<on_marbles>(diagram_of(script_.head.substr(1)));
    } else if (const nanoseconds rest = time_of(script_.head.substr(1)); kind == 'L') {
      home_ = std::make_unique<on_loop>(rest);
    } else {
      home_ = std::make_unique<on_virtual_time>(rest);
    }
  }

  std::string run() {
    may_fail([this] { home_->run([this] { run_phases(); }); });
    log("|");
    for (const auto& [id, t] : tasks_) {
      log(std::to_string(id) + "=" + std::to_string(t.ran) + "," + state(t));
    }
    return trace_.substr(1);
  }

 private:
  void log(const std::string& what) { trace_ += " " + what; }

  void run_phases() {
    for (const words& phase : script_.phases) {
      log("|");
      for (const std::string& op : phase) {
        may_fail([&] { perform(op, -1, nullptr); });
      }
      log(home_->work([this](const std::function<void()>& call) { return may_fail(call); }));
    }
  }

  // `self`: null for a time-out.
  void body(int id, takt::rx::action<int>* self, int state) {
    task& t = tasks_.at(id);
    if (!t.handle && self != nullptr) t.handle = *self;
    log("r" + std::to_string(id) + "." + std::to_string(state) + "@" + text_of(home_->now()));
    if (++t.ran > t.runs) return;
    for (const std::string& op : t.ops) perform(op, id, self);
  }

  void schedule(int id, nanoseconds delay) {
    task& t = tasks_.at(id);
    const int state = ++states_;
    if (t.is_timeout()) {
      if (t.timer) t.timer->cancel();
      t.timer = home_->loop().execute(delay, [this, id, state] { body(id, nullptr, state); });
      return;
    }
    if (t.handle) {
      t.handle->schedule(delay, state);
      return;
    }
    auto made = home_->scheduler(t.where).schedule(
        delay, [this, id](takt::rx::action<int>& self, int s) { body(id, &self, s); }, state);
    if (!t.handle) t.handle = made;
  }

  // `self`: the task and action that performs the operation, if any.
  void perform(const std::string& op, int self, takt::rx::action<int>* action) {
    const words parts = oracle::split(op.substr(1), '=');
    const auto id = [&parts] { return std::stoi(parts.at(0)); };
    switch (op.at(0)) {
      case '+':
        schedule(id(), parts.size() > 1 ? time_of(parts.at(1)) : tasks_.at(id()).delay);
        break;
      case '@':
        if (action == nullptr) {
          schedule(self, time_of(parts.at(0)));
        } else {
          action->schedule(time_of(parts.at(0)), ++states_);
        }
        break;
      case '-':
        if (tasks_.at(id()).handle) tasks_.at(id()).handle->unsubscribe();
        if (tasks_.at(id()).timer) tasks_.at(id()).timer->cancel();
        break;
      case '?':
        log(op + "=" + state(tasks_.at(id())));
        break;
      case '^': {
        const task& child = tasks_.at(id());
        const task& parent = tasks_.at(std::stoi(parts.at(1)));
        if (child.handle && parent.handle) parent.handle->add(*child.handle);
        break;
      }
      case 'k': {
        const task& t = tasks_.at(id());
        const auto tell = [this, i = id()] { log("d" + std::to_string(i)); };
        if (t.handle) t.handle->add(takt::rx::subscription(tell));
        break;
      }
      case 'c':
        may_fail([&] { perform(op.substr(1), self, action); });
        break;
      case '!':
        throw thrown(self);
      default:
        home_->perform(op);
        break;
    }
  }
  // Calls a function and logs its exception. Returns false if it threw.
  bool may_fail(const std::function<void()>& call) {
    try {
      call();
      return true;
    } catch (const thrown& e) {
      log("!" + std::to_string(e.id));
    }
    return false;
  }
  static std::string state(const task& t) {
    if (t.timer) return t.timer->next_time() == takt::clock::time_point::max() ? "1" : "0";
    if (!t.handle) return "-";
    return t.handle->is_unsubscribed() ? "1" : "0";
  }

  const oracle::script script_;
  std::string trace_;
  int states_ = 0;
  std::map<int, task> tasks_;
  std::unique_ptr<home> home_;
};

// --- marbles -------------------------------------------------------------------------------------

class marbles_oracle {
 public:
  explicit marbles_oracle(oracle::script script) : script_(std::move(script)) {}

  std::string run() {
    if (script_.head == "M1") {
      test_.run([this] { run_phases(); });
    } else {
      run_phases();
    }
    return trace_.substr(1);
  }

 private:
  using observable = takt::rx::marble_observable<std::string>;

  void log(const std::string& what) { trace_ += " " + what; }

  void run_phases() {
    for (const words& phase : script_.phases) {
      log("|");
      for (const std::string& op : phase) {
        may_fail([&] { perform(op); });
      }
      // A diagram that cannot match is expected, so that the mismatch shows the actual one.
      if (&phase == &script_.phases.back()) {
        for (const auto& e : expected_) e.to_be("never");
      }
      may_fail([this] { test_.flush(); });
      log("n" + text_of(test_.elapsed()));
    }
    log("|");
    for (const std::string& seen : seen_) log(seen);
    for (const observable& o : observables_) log("o:" + text_of_all(o.subscriptions()));
  }

  void perform(const std::string& op) {
    const std::string diagram = diagram_of(op.substr(1));
    switch (op.at(0)) {
      case 'p':
        log("p:" + text_of_all(takt::rx::parse_marbles(diagram, test_.syntax())));
        break;
      case 's':
        log("s:" + text(takt::rx::parse_subscription_marbles(diagram, test_.syntax())));
        break;
      case 't':
        log("t:" + text_of(test_.time(diagram)));
        break;
      case 'h':
        observables_.push_back(test_.hot(diagram));
        break;
      case 'c':
        observables_.push_back(test_.cold(diagram));
        break;
      case 'e': {
        const auto which = static_cast<std::size_t>(diagram.at(0) - '0');
        if (which >= observables_.size()) break;
        expected_.push_back(test_.expect(observables_[which], diagram.substr(2)));
        break;
      }
      default:
        throw std::logic_error("not an operation: " + op);
    }
  }
  void may_fail(const std::function<void()>& call) {
    try {
      call();
    } catch (const std::invalid_argument&) {
      log("!");
    }
  }

  // A failed expectation: the last line of the message has the actual diagram or list.
  void see(const std::string& problem) {
    const std::string before = "but was ";
    const std::string drawn = problem.substr(problem.rfind(before) + before.size());
    std::vector<takt::rx::marble> all;
    if (drawn.find('@') == std::string::npos) {
      all = takt::rx::parse_marbles(drawn);
    } else {
      for (const std::string& word : oracle::split(drawn, ' ')) {
        const words parts = oracle::split(word, '@');
        all.push_back(takt::rx::parse_marbles(parts.at(0)).at(0));
        all.back().time = nanoseconds(static_cast<long long>(std::stod(parts.at(1)) * 1e6));
      }
    }
    seen_.push_back("e:" + text_of_all(all));
  }

  static std::string text(const takt::rx::marble& m) {
    using takt::rx::marble_kind;
    if (m.kind == marble_kind::next) return text_of(m.time) + "=" + m.symbol;
    return text_of(m.time) + (m.kind == marble_kind::error ? "#" : "|");
  }
  static std::string text(const takt::rx::subscription_times& s) {
    return text_of(s.subscribed) + "^" + text_of(s.unsubscribed) + "!";
  }
  template <class T>
  static std::string text_of_all(const std::vector<T>& all) {
    std::string line;
    for (const T& one : all) line += (line.empty() ? "" : ",") + text(one);
    return line;
  }

  const oracle::script script_;
  std::string trace_;
  std::vector<std::string> seen_;
  takt::rx::marble_scheduler test_{
      {.report = [this](const std::string& problem) { see(problem); }}};
  std::vector<observable> observables_;
  std::vector<takt::rx::expected_observable<std::string>> expected_;
};

struct rxjs_oracle {
  explicit rxjs_oracle(oracle::script s) : script(std::move(s)) {}
  std::string run() const {
    return script.head.at(0) == 'M' ? marbles_oracle(script).run() : actions_oracle(script).run();
  }
  oracle::script script;
};

}  // namespace

int main() { return oracle::answer_all<rxjs_oracle>("takt_rxjs_oracle"); }
