#include <takt/rx/schedulers.hpp>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <takt/exec/thread_pool.hpp>
#include <takt/sched/scheduled_pool.hpp>

#include "worker_scheduler_core.hpp"

namespace takt::inline TAKT_ABI {
namespace rx {

namespace {

using std::chrono::nanoseconds;

worker_options workers_of(const schedulers_options& options) {
  return {.interruptible = options.interruptible,
          .missed = options.missed,
          .time = options.time,
          .unhandled = options.unhandled};
}

scheduled_pool_options one_thread(const schedulers_options& options, const std::string& name) {
  scheduled_pool_options one = scheduled_pool::single();
  one.name = options.name + "-" + name;
  one.time = options.time;
  one.unhandled = options.unhandled;
  return one;
}

// immediate() and trampoline(): tasks run on the thread that calls schedule().
class caller_places final : public detail::worker_scheduler_core {
 public:
  caller_places(const schedulers_options& options, detail::worker_place::kind kind)
      : detail::worker_scheduler_core(workers_of(options), *options.time), kind_(kind) {}

 private:
  detail::worker_place next_place() override { return {.access = kind_}; }

  const detail::worker_place::kind kind_;
};

class new_thread_places final : public detail::worker_scheduler_core {
 public:
  explicit new_thread_places(const schedulers_options& options)
      : detail::worker_scheduler_core(workers_of(options), *options.time),
        thread_(one_thread(options, "thread")) {}

 private:
  detail::worker_place next_place() override {
    detail::worker_place place = worker::place_on(std::make_unique<scheduled_pool>(thread_));
    place.access = detail::worker_place::kind::direct;
    return place;
  }

  const scheduled_pool_options thread_;
};

// single() and computation(): each worker uses one of the shared threads.
class loop_places final : public detail::worker_scheduler_core {
 public:
  loop_places(const schedulers_options& options, std::size_t loops, const std::string& name)
      : detail::worker_scheduler_core(workers_of(options), *options.time) {
    for (std::size_t i = 1; i <= loops; ++i) {
      threads_.push_back(one_thread(options, loops == 1 ? name : name + "-" + std::to_string(i)));
    }
    add_pools();
  }

 private:
  struct pools final : detail::shared_threads {
    explicit pools(const std::vector<scheduled_pool_options>& threads) {
      for (const scheduled_pool_options& t : threads) {
        each.push_back(std::make_unique<scheduled_pool>(t));
      }
    }
    void stop() noexcept override {
      for (const auto& pool : each) pool->shutdown_and_cancel();
    }
    std::vector<std::unique_ptr<scheduled_pool>> each;  // constant after construction
  };

  detail::worker_place next_place() override TAKT_REQUIRES(mu_) {
    const pools& now = *pools_.back();
    detail::worker_place place = worker::place_on(*now.each[next_++ % now.each.size()]);
    place.access = detail::worker_place::kind::direct;
    return place;
  }
  void start_threads() override TAKT_REQUIRES(mu_) { add_pools(); }
  detail::shared_threads* threads() noexcept override TAKT_REQUIRES(mu_) {
    return pools_.back().get();
  }
  void add_pools() TAKT_NO_THREAD_SAFETY_ANALYSIS {  // also called by the constructor
    pools_.push_back(std::make_unique<pools>(threads_));
  }

  std::vector<scheduled_pool_options> threads_;  // constant after construction
  std::size_t next_ TAKT_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<pools>> pools_ TAKT_GUARDED_BY(mu_);  // the last entry is in use
};

class io_places final : public detail::worker_scheduler_core {
 public:
  explicit io_places(const schedulers_options& options)
      : detail::worker_scheduler_core(workers_of(options), *options.time),
        threads_(threads_of(options)),
        timer_(one_thread(options, "io-timer")) {
    add_pools();
  }

 private:
  // Destroyed in reverse order: first the timers, which pass tasks on to the threads.
  struct pools final : detail::shared_threads {
    pools(const thread_pool_options& t, const scheduled_pool_options& w) : threads(t), timers(w) {}
    void stop() noexcept override {
      timers.shutdown_and_cancel();
      threads.shutdown_and_cancel();
    }
    thread_pool threads;
    scheduled_pool timers;
  };

  static thread_pool_options threads_of(const schedulers_options& options) {
    thread_pool_options threads = thread_pool::cached();
    if (options.io_threads != unbounded) {
      threads = thread_pool::fixed(options.io_threads);
      threads.core_times_out = true;
    }
    threads.keep_alive = options.io_keep_alive;
    threads.name = options.name + "-io";
    threads.time = options.time;
    threads.unhandled = options.unhandled;
    return threads;
  }
  detail::worker_place next_place() override TAKT_REQUIRES(mu_) {
    detail::worker_place place = worker::place_on(pools_.back()->threads);
    place.timers = &pools_.back()->timers;
    return place;
  }
  void start_threads() override TAKT_REQUIRES(mu_) { add_pools(); }
  detail::shared_threads* threads() noexcept override TAKT_REQUIRES(mu_) {
    return pools_.back().get();
  }
  void add_pools() TAKT_NO_THREAD_SAFETY_ANALYSIS {  // also called by the constructor
    pools_.push_back(std::make_unique<pools>(threads_, timer_));
  }

  const thread_pool_options threads_;
  const scheduled_pool_options timer_;
  std::vector<std::unique_ptr<pools>> pools_ TAKT_GUARDED_BY(mu_);  // the last entry is in use
};

schedulers_options checked(const schedulers_options& options) {
  if (options.computation_threads == 0) {
    throw std::invalid_argument("takt::rx::schedulers: computation_threads is 0");
  }
  if (options.io_threads == 0) throw std::invalid_argument("takt::rx::schedulers: io_threads is 0");
  if (options.io_keep_alive <= nanoseconds(0)) {
    throw std::invalid_argument("takt::rx::schedulers: io_keep_alive is not above 0 (" +
                                std::to_string(options.io_keep_alive.count()) + " ns)");
  }
  if (options.time == nullptr) throw std::invalid_argument("takt::rx::schedulers: time is null");
  if (options.unhandled == nullptr) {
    throw std::invalid_argument("takt::rx::schedulers: unhandled is null");
  }
  return options;
}

}  // namespace

schedulers::schedulers(const options_type& options)
    : immediate_(
          std::make_unique<caller_places>(checked(options), detail::worker_place::kind::immediate)),
      trampoline_(std::make_unique<caller_places>(options, detail::worker_place::kind::trampoline)),
      new_thread_(std::make_unique<new_thread_places>(options)),
      single_(std::make_unique<loop_places>(options, 1, "single")),
      computation_(
          std::make_unique<loop_places>(options, options.computation_threads, "computation")),
      io_(std::make_unique<io_places>(options)) {}

// First shuts down all schedulers, then waits for all of them, before any is destroyed: a task on
// one may use the others. After fork() it does nothing; see worker_scheduler.
schedulers::~schedulers() {
  if (!io_.is_here()) return;
  shutdown();
  for (worker_scheduler* s :
       {&immediate_, &trampoline_, &new_thread_, &single_, &computation_, &io_}) {
    s->end();
  }
}

void schedulers::start() {
  for (worker_scheduler* s :
       {&immediate_, &trampoline_, &new_thread_, &single_, &computation_, &io_}) {
    s->start();
  }
}

void schedulers::shutdown() noexcept {
  for (worker_scheduler* s :
       {&immediate_, &trampoline_, &new_thread_, &single_, &computation_, &io_}) {
    s->shutdown();
  }
}

}  // namespace rx
}  // namespace takt::inline TAKT_ABI
