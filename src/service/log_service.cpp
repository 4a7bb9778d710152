// A channel of lines and at most one drain: a task of the executor that writes the queued lines.
// While a drain runs or fails the service, it counts as a worker of the lifecycle. The executor is
// the given one or a private pool of one thread.
//
//   idle      no line is queued, or the service is in stop; no drain exists
//   draining  a drain is queued in the executor or runs
//
//   idle     -> draining   log() has added a line and submits a drain
//   draining -> idle       the drain finds no line, or stop; or it was rejected or dropped
//
// The states of the lifecycle mean:
//
//   shutdown    the channel is closed; ends when the channel is at its end and no drain runs
//   stop        the channel is aborted by shutdown_now() and its kin, or because the sink failed
//   tidying     the sink is closed
//
// Invariants
//   1. Only one thread at a time uses the sink: the drain, and after the last drain the thread that
//      tidies. That is the private thread, if there is one; else the drain or the thread that shuts
//      the service down.
//   2. The drain tests the queue and clears draining_ under one lock, and log() takes that lock
//      after it has added a line: either the drain sees the line, or log() submits the next drain.
//   3. A popped line is counted as written or failed before its drain stops being a worker. Aborted
//      lines are counted under the lock of the abort. So at the end all lines are counted.
//   4. error_ is set before the channel is aborted for it: a refused producer finds the error.
//   5. Sink, hook and executor are called without the lock.
#include <takt/service/log_service.hpp>

#include <stdexcept>
#include <system_error>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/exec/detail/fork_guard.hpp>
#include <takt/exec/thread_pool.hpp>
#include <takt/service/channel.hpp>
#include <takt/task/detail/executor_scope.hpp>

#include "../exec/drain_task.hpp"
#include "../exec/ending_guard.hpp"

namespace takt::inline TAKT_ABI {

class log_service::impl : public detail::ref_counted<impl> {
 public:
  impl(std::unique_ptr<log_sink> sink, const options_type& options);

  bool log(std::string&& line, const sync::stop_token& stop);
  void shutdown() noexcept;
  std::list<std::string> stop(bool return_lines) noexcept;
  void destroy() noexcept;
  void end_if_over() noexcept;  // for ending_guard
  std::exception_ptr error() const;
  log_statistics statistics() const;

  const detail::fork_guard home_;  // constant after construction
  lifecycle life_;

 private:
  // Marks the thread that uses the sink.
  class runner final : public detail::executor_scope {
   public:
    explicit runner(const impl& of) noexcept : detail::executor_scope(&of) {}
    [[nodiscard]] bool begin_wait(detail::task_wait& /*w*/) noexcept override { return true; }
  };

  friend class ref_counted<impl>;
  friend class drain_task<impl>;  // a dropped drain fails the service
  ~impl() = default;

  [[noreturn]] void throw_closed() const;
  void wake_writer() noexcept;
  void run_drain() noexcept;
  void drain_dropped() noexcept;
  void write_some() noexcept;
  void fail(const std::exception_ptr& why, std::list<std::string> unflushed) noexcept;
  [[nodiscard]] bool is_last(detail::mutex_lock& lock) noexcept;
  void finish() noexcept;
  void finish_in_background() noexcept;

  // Constant after construction.
  const std::size_t flush_every_;
  const when_full full_;
  const unhandled_hook& unhandled_;
  const std::exception_ptr dropped_ = std::make_exception_ptr(  // made in advance: needs memory
      std::runtime_error("takt::log_service: the executor has rejected or dropped the task that "
                         "writes the lines"));
  std::unique_ptr<log_sink> sink_;  // its contents: see invariant 1

  channel<std::string> queue_;
  channel<std::string>::producer intake_;
  channel<std::string>::consumer outlet_;

  mutable detail::mutex mu_;
  bool draining_ TAKT_GUARDED_BY(mu_) = false;
  std::exception_ptr error_ TAKT_GUARDED_BY(mu_);
  std::list<std::string> failed_ TAKT_GUARDED_BY(mu_);  // for shutdown_now() to return
  log_statistics counts_ TAKT_GUARDED_BY(mu_);          // of lines with an outcome

  // Constant after construction. Destroyed first: the pool ends when all drains have ended.
  std::optional<thread_pool> own_;
  any_executor executor_;
};

namespace {

thread_pool_options one_thread(const log_service_options& options) {
  thread_pool_options made = thread_pool::single();
  made.name = options.name;
  made.time = options.time;
  return made;
}

}  // namespace

log_service::impl::impl(std::unique_ptr<log_sink> sink, const options_type& options)
    : life_(*options.time),
      flush_every_(options.flush_every),
      full_(options.rejection),
      unhandled_(*options.unhandled),
      sink_(std::move(sink)),
      queue_({.capacity = options.capacity, .rejection = options.rejection, .time = options.time}),
      intake_(queue_.make_producer()),
      outlet_(queue_.make_consumer()),
      own_(options.executor ? std::optional<thread_pool>()
                            : std::optional<thread_pool>(one_thread(options))),
      executor_(options.executor ? *options.executor : any_executor(*own_)) {
  if (own_ && own_->prestart(1) == 0) throw rejected(rejection::no_thread);
}

bool log_service::impl::log(std::string&& line, const sync::stop_token& stop) {
  bool accepted = false;
  if (full_.waits() && detail::executor_scope::of(this) != nullptr) {
    // Called by the sink itself: waiting for room would never end.
    const push_result result = intake_.try_push(line);
    if (result == push_result::full) throw rejected(rejection::saturated);
    if (result == push_result::closed) throw_closed();
    accepted = true;
  } else {
    try {
      accepted = intake_.push(std::move(line), stop);
    } catch (const rejected& e) {
      if (e.reason() == rejection::shut_down) throw_closed();
      throw;
    }
  }
  if (accepted) wake_writer();
  return accepted;
}

void log_service::impl::throw_closed() const {
  if (const std::exception_ptr why = error()) std::rethrow_exception(why);
  throw rejected(rejection::shut_down);
}

void log_service::impl::wake_writer() noexcept {
  {
    const detail::mutex_lock lock(mu_);
    if (draining_ || life_.state() >= life_state::stop) return;
    draining_ = true;
    retain();  // the sink may destroy *this
  }
  any_executor executor = executor_;
  try {
    executor.execute(task(drain_task(*this)));
  } catch (...) {  // the destructor of the drain has failed the service
  }
  release();
}

void log_service::impl::run_drain() noexcept {
  const runner here(*this);
  detail::mutex_lock lock(mu_);
  const bool is_worker = life_.add_worker();
  while (is_worker && life_.state() < life_state::stop && queue_.size() != 0) {
    lock.unlock();
    write_some();
    lock.lock();
  }
  draining_ = false;
  if (is_worker) life_.remove_worker();
  if (is_last(lock)) finish();
}

void log_service::impl::write_some() noexcept {
  std::list<std::string> lines;
  try {
    while (lines.size() < flush_every_ && life_.state() < life_state::stop &&
           outlet_.try_pop(lines)) {
      sink_->write(lines.back());
    }
    if (lines.empty()) return;
    sink_->flush();
  } catch (...) {
    fail(std::current_exception(), std::move(lines));
    return;
  }
  const detail::mutex_lock lock(mu_);
  counts_.written += lines.size();
}

// Called by a worker.
void log_service::impl::fail(const std::exception_ptr& why,
                             std::list<std::string> unflushed) noexcept {
  {
    const detail::mutex_lock lock(mu_);
    if (error_ == nullptr) error_ = why;
    life_.advance_to(life_state::stop);
    unflushed.splice(unflushed.end(), queue_.abort());
    counts_.failed += unflushed.size();
    failed_.splice(failed_.end(), unflushed);
  }
  unhandled_.on_unhandled(unhandled::uncaught, why);
}

void log_service::impl::drain_dropped() noexcept {
  const runner here(*this);
  detail::mutex_lock lock(mu_);
  draining_ = false;
  const bool is_worker = life_.add_worker();
  lock.unlock();
  if (is_worker) {
    fail(dropped_, {});
  }
  lock.lock();
  if (is_worker) life_.remove_worker();
  if (is_last(lock)) finish();
}

// Unlocks. \return true for one caller, after the last drain: it has to finish the service.
bool log_service::impl::is_last(detail::mutex_lock& lock) noexcept TAKT_NO_THREAD_SAFETY_ANALYSIS {
  const bool last = life_.try_tidy(queue_.is_at_end());
  lock.unlock();
  return last;
}

// For shutdown and stop, which must not wait for a slow disk.
void log_service::impl::finish_in_background() noexcept {
  if (!own_) {
    finish();
    return;
  }
  retain();
  const auto finish_there = [this]() noexcept {
    finish();
    release();
  };
  try {
    own_->execute(finish_there);
  } catch (...) {  // no memory
    finish_there();
  }
}

// The caller has a reference, because the sink may destroy the service.
void log_service::impl::finish() noexcept {
  {
    const runner here(*this);
    try {
      sink_->close();
    } catch (...) {
      const std::exception_ptr why = std::current_exception();
      {
        const detail::mutex_lock lock(mu_);
        if (error_ == nullptr) error_ = why;
      }
      unhandled_.on_unhandled(unhandled::uncaught, why);
    }
    sink_.reset();  // now, because what it refers to may not outlive the service; a drain may keep
                    // *this
  }
  if (own_) own_->shutdown();
  life_.terminate();
}

void log_service::impl::end_if_over() noexcept {
  detail::mutex_lock lock(mu_);
  if (is_last(lock)) finish_in_background();
}

void log_service::impl::shutdown() noexcept {
  const ending_guard ending(*this, life_);
  queue_.close();
  const detail::mutex_lock lock(mu_);
  life_.advance_to(life_state::shutdown);
}

std::list<std::string> log_service::impl::stop(bool return_lines) noexcept {
  const ending_guard ending(*this, life_);
  const detail::mutex_lock lock(mu_);
  life_.advance_to(life_state::stop);
  std::list<std::string> rest = queue_.abort();
  (return_lines ? counts_.returned : counts_.discarded) += rest.size();
  if (return_lines) rest.splice(rest.begin(), failed_);
  return rest;
}

void log_service::impl::destroy() noexcept {
  static_cast<void>(stop(false));
  if (detail::executor_scope::of(this) == nullptr) {
    life_.await_unused();
    if (own_) own_->await_termination();
  }
  release();
}

std::exception_ptr log_service::impl::error() const {
  const detail::mutex_lock lock(mu_);
  return error_;
}

log_statistics log_service::impl::statistics() const {
  detail::mutex_lock lock(mu_);
  log_statistics all = counts_;
  lock.unlock();
  const channel_statistics intake = queue_.statistics();
  all.accepted = intake.accepted;
  all.dropped = intake.dropped;
  all.refused = intake.refused;
  return all;
}

log_service::log_service(std::unique_ptr<log_sink> sink, const options_type& options) {
  const auto refuse = [](const char* why) {
    throw std::invalid_argument(std::string("takt::log_service: ") + why);
  };
  if (sink == nullptr) refuse("sink is null");
  if (options.capacity == 0) refuse("capacity is 0, and has to be at least 1");
  if (options.flush_every == 0) refuse("flush_every is 0, and has to be at least 1");
  if (options.time == nullptr) refuse("time is null");
  if (options.unhandled == nullptr) refuse("unhandled is null");
  impl_ = new impl(std::move(sink), options);
}

log_service::~log_service() {
  // After fork() the threads are not in this process, and the mutex is in an unknown state.
  if (impl_->home_.is_here()) impl_->destroy();
}

bool log_service::log(std::string line, const sync::stop_token& stop) {
  return impl_->log(std::move(line), stop);
}

void log_service::shutdown() noexcept { impl_->shutdown(); }
std::list<std::string> log_service::shutdown_now() noexcept { return impl_->stop(true); }
void log_service::shutdown_and_cancel() noexcept { static_cast<void>(impl_->stop(false)); }

std::exception_ptr log_service::error() const { return impl_->error(); }
log_statistics log_service::statistics() const { return impl_->statistics(); }
const lifecycle& log_service::life() const noexcept { return impl_->life_; }

void log_service::throw_if_own_task() const {
  if (detail::executor_scope::of(impl_) == nullptr) return;
  throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                          "takt::log_service: the sink cannot wait for the end of its own service");
}

}  // namespace takt::inline TAKT_ABI
