// Runs scripts on takt::scheduled_pool. JavaOracle.java runs them on the JDK; pool_scripts.py
// generates and explains them; run.py compares the traces.
//
// Only scripts move the time, and the clock holds the one worker while operations are issued, in
// any state of the pool.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <takt/sched/scheduled_pool.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/unhandled.hpp>

#include "script.hpp"
#include "script_clock.hpp"

namespace {

using std::chrono::nanoseconds;
using takt::cancel_result;

class no_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
};

struct job {
  char how = 0;  // x execute, s submit, e execute later, d schedule, r fixed rate, w fixed delay
  nanoseconds delay{};
  nanoseconds period{};
  int runs = 0;
  char end = 0;  // of the last run: n returns, t throws, c cancels itself
  oracle::words ops;

  takt::future<void> result;  // of s, d, r, w
  takt::timer_handle timer;   // of e, d, r, w
  takt::detail::future_core* state = nullptr;
  bool submitted = false;
  bool rejected = false;
  bool returned = false;
  bool cancelled = false;  // of e
  int ran = 0;
};

class pool_oracle {
 public:
  explicit pool_oracle(oracle::script script) : phases_(std::move(script.phases)) {
    perform("P" + script.head);
    for (const auto& [id, parts] : script.tasks) add_job(id, parts);
  }

  std::string run() {
    pool_.prestart();
    time_.wait_until_held();
    for (const auto& ops : phases_) {
      trace_ += " |";
      for (const std::string& op : ops) perform(op);
      if (!time_.is_gone()) time_.let_work();
    }
    if (!stopped_) {
      trace_ += " |";
      stop();
      if (!time_.is_gone()) time_.let_work();
    }
    pool_.await_termination();
    for (auto& [id, j] : jobs_) trace_ += " " + std::to_string(id) + "=" + outcome(j);
    const takt::task_totals tasks = pool_.totals();
    if (tasks.pending() != 0 || tasks.running() != 0 || pool_.statistics().delayed != 0) {
      trace_ += " unbalanced";
    }
    return trace_.substr(1);
  }

 private:
  // The body of a task.
  struct body {
    pool_oracle* self;
    int id;
    void operator()() const { self->run_body(id); }
  };

  void add_job(int id, const oracle::words& parts) {
    job j;
    j.how = parts.at(1).at(0);
    j.delay = parts.at(2) == "never" ? takt::never : nanoseconds(std::stoll(parts.at(2)));
    j.period = nanoseconds(std::stoll(parts.at(3)));
    j.runs = std::stoi(parts.at(4));
    j.end = parts.at(5).at(0);
    j.ops = oracle::operations(parts);
    jobs_.emplace(id, std::move(j));
  }

  void run_body(int id) {
    job& j = jobs_.at(id);
    current_ = id;
    trace_ += " r" + std::to_string(id);
    const bool last = ++j.ran == j.runs;
    if (j.ran == 1) {
      for (const std::string& op : j.ops) perform(op);
    }
    if (last && j.end == 'c') perform("-" + std::to_string(id));
    current_ = -1;
    if (last && j.end == 't') throw std::runtime_error("thrown");
  }

  template <class Future>
  void keep(job& j, Future made) {
    j.timer = static_cast<const takt::timer_handle&>(made);
    j.result = static_cast<takt::future<void>&&>(made);
    j.state = &j.result.state();
  }

  void submit(int id) {
    job& j = jobs_.at(id);
    const body call{this, id};
    j.submitted = true;
    try {
      switch (j.how) {
        case 'x':
          pool_.execute(call);
          break;
        case 's':
          j.result = pool_.submit(call);
          j.state = &j.result.state();
          break;
        case 'e':
          j.timer = pool_.execute(j.delay, call);
          break;
        case 'd':
          keep(j, pool_.schedule(j.delay, call));
          break;
        case 'r':
          keep(j, pool_.schedule_at_fixed_rate(j.delay, j.period, call));
          break;
        default:
          keep(j, pool_.schedule_with_fixed_delay(j.delay, j.period, call));
          break;
      }
    } catch (const takt::rejected&) {
      j.rejected = true;
      trace_ += " +" + std::to_string(id) + "!";
    }
    if (j.how == 'x' || j.how == 's') time_.advance(nanoseconds(1));  // see pool_scripts.py
  }

  void cancel(int id) {
    job& j = jobs_.at(id);
    if (!j.submitted || j.rejected || j.how == 'x') return;
    if (j.how == 'e' && (current_ == id || j.returned)) return;
    const cancel_result result = j.how == 's' ? j.result.cancel() : j.timer.cancel();
    j.cancelled = j.cancelled || result != cancel_result::done;
    trace_ += " -" + std::to_string(id) + (result == cancel_result::done ? "=0" : "=1");
  }

  void perform(const std::string& op) {
    switch (op.at(0)) {
      case '+':
        submit(std::stoi(op.substr(1)));
        break;
      case '-':
        cancel(std::stoi(op.substr(1)));
        break;
      case '>':
        time_.advance(nanoseconds(std::stoll(op.substr(1))));
        break;
      case 'S':
        pool_.shutdown();
        break;
      case 'N':
        stop();
        break;
      case 'P':
        pool_.keep_after_shutdown({.delayed = op.at(1) == '1', .periodic = op.at(2) == '1'});
        break;
      default:
        throw std::invalid_argument("not an operation: " + op);
    }
  }

  void stop() {
    std::set<int> ids;
    rest_.push_back(pool_.shutdown_now());
    for (takt::task& t : rest_.back()) {
      if (const body* const call = t.target<body>()) ids.insert(call->id);
      for (const auto& [id, j] : jobs_) {
        if (j.state != nullptr && j.state == t.state()) ids.insert(id);
      }
    }
    stopped_ = true;
    trace_ += " N";
    for (const int id : ids) {
      jobs_.at(id).returned = true;
      trace_ += "," + std::to_string(id);
    }
  }

  static std::string outcome(job& j) {
    if (j.rejected) return "rejected";
    if (!j.submitted) return "none";
    if (j.how == 'x' || j.how == 'e') {
      if (j.ran > 0) return "ran";
      return j.returned && !j.cancelled ? "returned" : "cancelled";
    }
    if (!j.result.is_ready()) return j.returned ? "returned" : "pending";
    try {
      j.result.get();
    } catch (const takt::cancelled&) {
      return "cancelled";
    } catch (const std::exception&) {
      return "failed";
    }
    return "finished";
  }

  oracle::script_clock time_;
  no_hook hook_;
  std::map<int, job> jobs_;
  std::vector<oracle::words> phases_;
  std::string trace_;
  int current_ = -1;  // the running task
  bool stopped_ = false;
  std::vector<takt::task_list> rest_;
  takt::scheduled_pool pool_{{.threads = 1,
                              .missed = takt::catch_up,
                              .thread = {.on_exit = [this] { time_.let_go(); }},
                              .time = &time_,
                              .unhandled = &hook_}};
};

}  // namespace

int main() { return oracle::answer_all<pool_oracle>("takt_oracle"); }
