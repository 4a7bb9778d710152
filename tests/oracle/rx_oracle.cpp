// Runs scripts on takt::rx. RxOracle.java runs them on RxJava; rx_scripts.py generates and explains
// them; run.py compares the traces.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/exec/manual_executor.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/rx/aggregate_error.hpp>
#include <takt/rx/composite_subscription.hpp>
#include <takt/rx/schedulers.hpp>
#include <takt/rx/serial_subscription.hpp>
#include <takt/rx/subscription.hpp>
#include <takt/rx/task_subscription.hpp>
#include <takt/rx/test_scheduler.hpp>
#include <takt/rx/worker.hpp>
#include <takt/rx/worker_scheduler.hpp>
#include <takt/sched/event_loop.hpp>
#include <takt/sched/missed_runs.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/task.hpp>
#include <takt/task/unhandled.hpp>

#include "script.hpp"
#include "script_clock.hpp"

namespace {

using oracle::words;
using std::chrono::milliseconds;

struct thrown : std::exception {};

class no_hook final : public takt::unhandled_hook {
 public:
  void on_unhandled(takt::unhandled, const std::exception_ptr&) const noexcept override {}
};

// Threads that are held while operations are issued. A task can wait for the script.
class held_pool {
 public:
  explicit held_pool(std::size_t threads) : pool_({.core_threads = threads}) {}

  void execute(takt::task t) {
    const takt::detail::mutex_lock lock(mu_);
    if (stopped_) throw takt::rejected(takt::rejection::shut_down);
    if (held_) {
      queue_.push_back(std::move(t));
    } else {
      start(std::move(t));
    }
  }
  void stop() {
    const takt::detail::mutex_lock lock(mu_);
    stopped_ = true;
  }

  // Runs tasks until none is left. Calls `meanwhile` while a task waits.
  template <class F>
  void run_all(F meanwhile) {
    takt::detail::mutex_lock lock(mu_);
    held_ = false;
    for (; !queue_.empty(); queue_.pop_front()) start(std::move(queue_.front()));
    while (running_ > 0) {
      if (waits_) {
        lock.unlock();
        meanwhile();
        lock.lock();
        waits_ = false;
        changed_.notify_all();
      }
      changed_.wait(lock);
    }
    held_ = true;
  }
  // Called by a task.
  void wait() {
    takt::detail::mutex_lock lock(mu_);
    waits_ = true;
    changed_.notify_all();
    while (waits_) changed_.wait(lock);
  }

 private:
  void start(takt::task t) TAKT_REQUIRES(mu_) {
    ++running_;
    pool_.execute([this, t = std::move(t)]() mutable {
      t.run();
      t = {};
      const takt::detail::mutex_lock lock(mu_);
      --running_;
      changed_.notify_all();
    });
  }

  takt::detail::mutex mu_;
  takt::detail::condition changed_;
  std::deque<takt::task> queue_ TAKT_GUARDED_BY(mu_);
  bool held_ TAKT_GUARDED_BY(mu_) = true;
  bool stopped_ TAKT_GUARDED_BY(mu_) = false;
  bool waits_ TAKT_GUARDED_BY(mu_) = false;
  int running_ TAKT_GUARDED_BY(mu_) = 0;
  takt::thread_pool pool_;
};

struct job {
  std::size_t worker = 0;
  char how = 0;      // n at once, d delayed, p periodic
  bool own = false;  // the task has its own worker
  milliseconds delay{};
  milliseconds period{};
  int runs = 0;
  char end = 0;  // of the last run: n returns, t throws, c cancels itself, w closes its worker
  words ops;

  takt::rx::task_subscription handle;
  bool has_handle = false;
  int ran = 0;
};

using container = std::variant<takt::rx::subscription, takt::rx::composite_subscription,
                               takt::rx::serial_subscription, takt::rx::assignable_subscription>;

class rx_oracle {
 public:
  explicit rx_oracle(oracle::script script) : script_(std::move(script)) {
    for (const auto& [id, parts] : script_.tasks) {
      job& j = jobs_[id];
      j.worker = std::stoul(parts.at(1));
      j.own = std::string("NDP").find(parts.at(2)) != std::string::npos;
      j.how = static_cast<char>(j.own ? parts.at(2).at(0) - 'A' + 'a' : parts.at(2).at(0));
      j.delay = milliseconds(std::stoll(parts.at(3)));
      j.period = milliseconds(std::stoll(parts.at(4)));
      j.runs = std::stoi(parts.at(5));
      j.end = parts.at(6).at(0);
      j.ops = oracle::operations(parts);
    }
    make(script_.head);
  }
  rx_oracle(const rx_oracle&) = delete;
  rx_oracle& operator=(const rx_oracle&) = delete;
  ~rx_oracle() {
    if (named_ != nullptr) named_->shutdown();
    time_.let_go();
  }

  std::string run() {
    for (const words& phase : script_.phases) {
      log("|");
      bool later = false;
      for (const std::string& op : phase) {
        if (op == "h") {
          meanwhile_.emplace_back();
          later = true;
        } else if (later) {
          meanwhile_.back().push_back(op);
        } else {
          perform(op);
        }
      }
      work();
    }
    log("|");
    for (const auto& [id, j] : jobs_) {
      log(std::to_string(id) + "=" + std::to_string(j.ran) + "," + state(j));
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      perform("V" + std::to_string(i));
      workers_[i].unsubscribe();
    }
    work();  // nothing may be left to run
    for (const auto& [id, j] : jobs_) {
      if (!j.own && state(j) == "0") log(std::to_string(id) + " is open");
    }
    for (const takt::rx::worker& w : workers_) {
      if (w.tracked() != 0) log("tracks " + std::to_string(w.tracked()));
    }
    return trace_.substr(1);
  }

 private:
  void make(const std::string& head) {
    kind_ = head.at(0);
    const auto threads = static_cast<std::size_t>(head.at(4) - '0');
    const takt::rx::worker_options how{.timers = &timers_,
                                       .batch = head.at(1) == 'f' ? 1 : takt::unbounded,
                                       .interruptible = head.at(2) == 'i',
                                       .missed = takt::catch_up,
                                       .time = &time_,
                                       .unhandled = &hook_};
    switch (kind_) {
      case 'T':
        test_ = std::make_unique<takt::rx::test_scheduler>();
        scheduler_ = test_.get();
        break;
      case 'F':
        if (threads > 0) pool_ = std::make_unique<held_pool>(threads);
        from_.reset(
            new takt::rx::worker_scheduler(pool_ ? takt::rx::worker_scheduler::from(*pool_, how)
                                                 : takt::rx::worker_scheduler::from(manual_, how)));
        scheduler_ = from_.get();
        break;
      default:
        named_ = std::make_unique<takt::rx::schedulers>(takt::rx::schedulers_options{
            .missed = takt::catch_up, .time = &time_, .unhandled = &hook_});
        scheduler_ = kind_ == 'L'   ? &named_->trampoline()
                     : kind_ == 'S' ? &named_->single()
                                    : &named_->new_thread();
        break;
    }
    for (int i = 0; i < head.at(3) - '0'; ++i) workers_.push_back(scheduler_->create_worker());
    if (has_thread()) {
      workers_.at(0).schedule([this] { tell_end(); });  // starts the thread with the first task
      time_.wait_until_held();
    }
  }
  [[nodiscard]] bool has_thread() const { return kind_ == 'S' || kind_ == 'N'; }
  // Notifies the clock when the calling thread ends.
  void tell_end() {
    struct teller {
      oracle::script_clock* told;
      ~teller() { told->let_go(); }
    };
    static thread_local const teller mine{&time_};
  }

  void log(const std::string& what) { trace_ += " " + what; }

  // --- tasks -------------------------------------------------------------------------------------

  void body(int id, const takt::sync::stop_token& stop) {
    job& j = jobs_.at(id);
    log("r" + std::to_string(id));
    const bool last = ++j.ran == j.runs;
    if (j.ran == 1) {
      for (const std::string& op : j.ops) {
        if (op == "i") {
          log(stop.stop_requested() ? "i1" : "i0");
        } else if (op == "H") {
          if (pool_ != nullptr) pool_->wait();
        } else {
          perform(op);
        }
      }
    }
    if (last && j.end == 'c') perform("-" + std::to_string(id));
    if (last && j.end == 'w') perform("W" + std::to_string(j.worker));
    if (last && j.end == 't') {
      log("x" + std::to_string(id));
      throw thrown();
    }
  }

  void schedule(int id) {
    job& j = jobs_.at(id);
    const auto call = [this, id](const takt::sync::stop_token& stop) { body(id, stop); };
    const takt::rx::task_subscription made =
        j.own ? schedule_on(*scheduler_, j, call) : schedule_on(workers_.at(j.worker), j, call);
    j.handle = made;
    j.has_handle = true;
    if (j.handle.is_rejected()) log("+" + std::to_string(id) + "!");
  }

  template <class Where, class Call>
  static takt::rx::task_subscription schedule_on(Where& where, const job& j, const Call& call) {
    if (j.how == 'p') return where.schedule_at_fixed_rate(j.delay, j.period, call);
    return j.how == 'd' ? where.schedule(j.delay, call) : where.schedule(call);
  }

  // Returns true if the handle of a task is closed.
  static std::string state(const job& j) {
    if (!j.has_handle) return "-";
    return j.handle.is_unsubscribed() ? "1" : "0";
  }

  // --- containers --------------------------------------------------------------------------------

  container& at(const std::string& name) {
    const auto [place, is_new] = containers_.try_emplace(name);
    if (is_new) {
      switch (name.at(0)) {
        case 'c':
          place->second = takt::rx::composite_subscription();
          break;
        case 'l':
          place->second = takt::rx::subscription::empty();
          break;
        case 's':
          place->second = takt::rx::serial_subscription();
          break;
        case 'a':
          place->second = takt::rx::assignable_subscription();
          break;
        default:
          place->second = takt::rx::subscription([this, name] {
            disposals_.push_back("d" + name);
            if (name.at(0) == 'x') throw thrown();
          });
          break;
      }
    }
    return place->second;
  }
  static const takt::rx::subscription& plain(const container& c) {
    return std::visit([](const takt::rx::subscription& s) -> const auto& { return s; }, c);
  }

  // Performs an operation on a container: <letter><digit><operation>[<child>].
  void contain(const std::string& op) {
    const container& own = at(op.substr(0, 2));
    takt::rx::subscription child;
    if (op.size() > 3) {
      const std::string name = op.substr(3);
      if (name.at(0) == 't') {
        const job& j = jobs_.at(std::stoi(name.substr(1)));
        if (!j.has_handle || j.handle.is_rejected()) return;
        child = j.handle;
      } else if (name.at(0) == 'w') {
        child = workers_.at(std::stoul(name.substr(1))).as_subscription();
      } else {
        child = plain(at(name));
      }
    }
    const bool was_open = !child.is_unsubscribed();
    std::size_t errors = 0;
    std::string said;
    try {
      switch (op.at(2)) {
        case '+':
          plain(own).add(child);
          break;
        case '-':
        case '/': {
          const auto& c = std::get<takt::rx::composite_subscription>(own);
          const bool found = op.at(2) == '-' ? c.remove(child) : c.release(child);
          if (was_open) said = found ? "=1" : "=0";
          break;
        }
        case '*':
          std::get<takt::rx::composite_subscription>(own).clear();
          break;
        case '=':
          if (op.at(0) == 'a') {
            std::get<takt::rx::assignable_subscription>(own).set(child);
          } else {
            std::get<takt::rx::serial_subscription>(own).set(child);
          }
          break;
        case '.':
          plain(own).unsubscribe();
          break;
        case '?':
          said = plain(own).is_unsubscribed() ? "1" : "0";
          if (op.at(0) == 'c') {
            said += "," + std::to_string(std::get<takt::rx::composite_subscription>(own).size());
          }
          break;
        default:
          throw std::invalid_argument("not an operation: " + op);
      }
    } catch (const takt::rx::aggregate_error& e) {
      errors = e.errors().size();
    } catch (const thrown&) {
      errors = 1;
    }
    if (op.at(0) != 'l') std::sort(disposals_.begin(), disposals_.end());
    for (const std::string& d : disposals_) log(d);
    disposals_.clear();
    if (errors > 0) log("!" + std::to_string(errors));
    if (!said.empty()) log(op + said);
  }

  // --- operations --------------------------------------------------------------------------------

  void perform(const std::string& op) {
    const auto number = [&op] { return std::stoi(op.substr(1)); };
    switch (op.at(0)) {
      case '+':
        schedule(number());
        break;
      case '-': {
        job& j = jobs_.at(number());
        if (j.has_handle) j.handle.unsubscribe();
        break;
      }
      case '?':
        log(op + "=" + state(jobs_.at(number())));
        break;
      case 'W':
        if (worker_of(op) != nullptr) worker_of(op)->unsubscribe();
        break;
      case 'V':
        if (worker_of(op) != nullptr) log(op + (worker_of(op)->is_unsubscribed() ? "=1" : "=0"));
        break;
      case '>':
        advance(milliseconds(number()));
        break;
      case 'X':
        manual_.shutdown();
        if (pool_ != nullptr) pool_->stop();
        break;
      default:
        contain(op);
        break;
    }
  }
  takt::rx::worker* worker_of(const std::string& op) {
    const std::size_t at = std::stoul(op.substr(1));
    return at < workers_.size() ? &workers_[at] : nullptr;
  }

  void advance(milliseconds time) {
    if (kind_ != 'T') {
      time_.advance(time);
      return;
    }
    const auto target = test_->now() + time;
    for (;;) {
      try {
        test_->advance_to(target);
        return;
      } catch (const thrown&) {
        log("!");
      }
    }
  }

  void perform_meanwhile() {
    if (meanwhile_.empty()) return;
    const words ops = std::move(meanwhile_.front());
    meanwhile_.pop_front();
    for (const std::string& op : ops) perform(op);
  }

  // Runs everything that is due.
  void work() {
    if (kind_ == 'T') advance(milliseconds(0));
    if (has_thread() && !time_.is_gone()) time_.let_work();
    if (kind_ != 'F') return;
    for (;;) {
      do {
        timers_.poll();
        if (pool_ != nullptr) {
          pool_->run_all([this] { perform_meanwhile(); });
        } else {
          manual_.poll();
        }
      } while (timers_.next_deadline() <= time_.now());
      if (meanwhile_.empty()) return;
      while (!meanwhile_.empty()) perform_meanwhile();  // no task has waited for them
    }
  }

  const oracle::script script_;
  oracle::script_clock time_;
  no_hook hook_;
  std::map<int, job> jobs_;
  std::string trace_;
  std::deque<words> meanwhile_;
  std::map<std::string, container> containers_;
  std::vector<std::string> disposals_;  // closed by the current operation on a container
  char kind_ = 0;

  takt::event_loop timers_{{.frame = takt::never, .time = &time_, .unhandled = &hook_}};
  takt::manual_executor manual_;
  std::unique_ptr<held_pool> pool_;
  std::unique_ptr<takt::rx::worker_scheduler> from_;
  std::unique_ptr<takt::rx::test_scheduler> test_;
  std::unique_ptr<takt::rx::schedulers> named_;
  takt::rx::worker_scheduler* scheduler_ = nullptr;  // null or one of the above
  std::vector<takt::rx::worker> workers_;
};

}  // namespace

int main() { return oracle::answer_all<rx_oracle>("takt_rx_oracle"); }
