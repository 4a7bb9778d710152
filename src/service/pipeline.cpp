// The lifecycle of a pipeline is that of its private pool. Each worker of each stage is a task of
// the pool that runs for as long as the stage does:
//
//   running     the source may produce
//   shutdown    the source has ended, or its stop is requested and the queue behind it is closed;
//               the stages process what is left and end one after the other
//   stop        all queues are aborted
//   terminated  no worker is left
//
//   running           -> shutdown     shutdown(), or the last worker of the source ends
//   running, shutdown -> stop         shutdown_and_cancel(), or a stage throws
//   shutdown, stop    -> terminated   the last worker ends
//
// Invariants
//   1. All handles of all workers are made before the first worker runs, and each ends with its
//      worker. So a queue is at its end only after all workers of the stage in front of it have
//      ended, and it is aborted when all workers behind it have ended.
//   2. The workers of the source are started last: when the last of them shuts the pool down, all
//      others run.
//   3. From stop on every queue is aborted: producers are refused, consumers get the end.
//   4. Stop is requested, and functions are called, without a lock.
//   5. An unobserved first error goes to the hook: reported by the destructor or, if a stage has
//      called the destructor, which then cannot wait, by a stage that fails after that.
//   6. The stage_failed of a stage is made with the stage: reporting a failure and stopping need
//      no memory.
#include <takt/service/pipeline.hpp>

#include <stdexcept>
#include <system_error>

#include <takt/base/detail/mutex.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/exec/detail/fork_guard.hpp>

#include "../exec/ending_guard.hpp"
#include "../exec/pool_core.hpp"

namespace takt::inline TAKT_ABI {
namespace {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

std::string text_for(const std::string& stage) {
  return "takt::pipeline: stage '" + stage + "' has failed";
}

std::size_t threads_of(const detail::stage_list& stages) {
  std::size_t sum = 0;
  for (const auto& s : stages) sum += s->threads();
  return sum;
}

}  // namespace

struct stage_failed::details {
  std::string stage;
  std::string text;
  std::exception_ptr cause{};
  std::shared_ptr<const void> item{};
  const std::type_info* type = &typeid(void);
};

bool detail::ended_by_stop(const sync::stop_token& stop, bool refused) noexcept {
  try {
    throw;
  } catch (const cancelled&) {
    return refused || stop.stop_requested();  // stop is requested a little after queues are closed
  } catch (const rejected&) {
    return refused;
  } catch (...) {
    return false;
  }
}

stage_failed::stage_failed(const std::string& stage)
    : told_(std::make_shared<details>(details{.stage = stage, .text = text_for(stage)})) {}

void stage_failed::tell(std::string&& text, const std::exception_ptr& cause,
                        std::shared_ptr<const void> item, const std::type_info& type) noexcept {
  if (!text.empty()) told_->text = std::move(text);
  told_->cause = cause;
  told_->item = std::move(item);
  told_->type = &type;
}

const char* stage_failed::what() const noexcept { return told_->text.c_str(); }
const std::string& stage_failed::stage() const noexcept { return told_->stage; }
const std::exception_ptr& stage_failed::cause() const noexcept { return told_->cause; }
const std::type_info& stage_failed::item_type() const noexcept { return *told_->type; }
const void* stage_failed::item_address() const noexcept { return told_->item.get(); }

detail::pipeline_stage::pipeline_stage(std::string name, std::size_t threads)
    : name_(std::move(name)),
      threads_(threads),
      failure_(name_) {  // NOLINT(bugprone-throw-keyword-missing): made for later
  if (threads == 0) refuse(name_, "threads is 0, and has to be at least 1");
}

void detail::pipeline_stage::refuse(const std::string& stage, const std::string& why) {
  throw std::invalid_argument("takt::pipeline: stage '" + stage + "': " + why);
}

std::size_t detail::pipeline_stage::checked_capacity(const std::string& name,
                                                     std::size_t capacity) {
  if (capacity == 0) refuse(name, "capacity is 0, and has to be at least 1");
  return capacity;
}

void detail::pipeline_stage::report(const std::exception_ptr& cause,
                                    std::shared_ptr<const void> item,
                                    const std::type_info& type) noexcept {
  failed_.add();
  of_->failed(failure_, cause, std::move(item), type);
}

stage_statistics detail::pipeline_stage::statistics() {
  stage_statistics all{.name = name_, .threads = threads_};
  // Outcomes are read before `accepted`, so that pending() cannot be negative.
  all.finished = finished_.value();
  all.failed = failed_.value();
  all.cut_off = cut_off_.value();
  if (const std::optional<channel_statistics> of_queue = queue_statistics()) {
    all.discarded = of_queue->discarded;
    all.accepted = of_queue->accepted;
  } else {
    all.failed = 0;  // a source has no items
  }
  return all;
}

namespace detail {

class pipeline_core final : public ref_counted<pipeline_core>, private pipeline_control {
 public:
  pipeline_core(stage_list stages, const pipeline_options& all)
      : unhandled_(*all.unhandled),
        stages_(std::move(stages)),
        sources_(stages_.front()->threads()),
        pool_(*new pool_core({.core_threads = threads_of(stages_),
                              .queue_capacity = 0,
                              .name = all.name,
                              .resizable = false,
                              .time = all.time})) {}

  void start();
  void shutdown() noexcept;
  void cancel() noexcept;
  void destroy() noexcept;
  std::optional<stage_failed> error();
  std::vector<stage_statistics> statistics();
  void end_if_over() noexcept { pool_.end_if_over(); }  // for ending_guard
  [[nodiscard]] const pool_core& pool() const noexcept { return pool_; }

  const fork_guard home_;  // constant after construction

 private:
  friend class ref_counted<pipeline_core>;
  ~pipeline_core();

  // A task of the pool: one thread of a stage.
  class worker {
   public:
    worker(pipeline_core& of, pipeline_stage& stage, std::size_t number) noexcept
        : of_(&of), stage_(&stage), number_(number) {
      of.retain();
    }
    worker(worker&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), stage_(other.stage_), number_(other.number_) {}
    worker& operator=(worker&&) = delete;
    ~worker() {
      if (of_ != nullptr) of_->release();
    }
    void operator()() noexcept { stage_->run(number_); }

   private:
    pipeline_core* of_;
    pipeline_stage* stage_;
    std::size_t number_;
  };

  [[nodiscard]] sync::stop_token stop_of_source() const noexcept override {
    return stop_source_.get_token();
  }
  [[nodiscard]] sync::stop_token stop_of_all() const noexcept override {
    return stop_all_.get_token();
  }
  void release_stages() noexcept;
  void source_ended() noexcept override;
  void failed(stage_failed& failure, const std::exception_ptr& cause,
              std::shared_ptr<const void> item, const std::type_info& type) noexcept override;
  void report_unobserved(const stage_failed& error) const noexcept {
    unhandled_.on_unhandled(unhandled::unobserved, std::make_exception_ptr(error));
  }

  // Constant after construction. destroy() empties stages_ when they are no longer used, although a
  // call that ends the pipeline may still refer to *this.
  const unhandled_hook& unhandled_;
  stage_list stages_;

  sync::stop_source stop_source_;
  sync::stop_source stop_all_;

  // Atomic. Number of source workers that have not ended; each decrements it at its end.
  sync::atomic<std::size_t> sources_;

  mutex mu_;
  std::optional<stage_failed> error_ TAKT_GUARDED_BY(mu_);  // the first error
  bool observed_ TAKT_GUARDED_BY(mu_) = false;              // error() has returned it
  bool destroyed_ TAKT_GUARDED_BY(mu_) = false;             // error() can no longer be called

  pool_core& pool_;  // last: when it has ended, the rest is unused
};

}  // namespace detail

detail::pipeline_core::~pipeline_core() {
  pool_.destroy("takt::pipeline");
  release_stages();
}

void detail::pipeline_core::start() {
  for (const auto& stage : stages_) stage->prepare(*this);
  try {
    for (std::size_t i = stages_.size(); i-- != 0;) {
      for (std::size_t w = 0; w < stages_[i]->threads(); ++w) {
        pool_.execute(task(worker(*this, *stages_[i], w)));
      }
    }
  } catch (const rejected&) {
    const detail::mutex_lock lock(mu_);
    if (error_) return;                    // a stage has failed already: the pipeline ends anyway
    throw rejected(rejection::no_thread);  // a pool with some threads reports them as busy
  }
}

void detail::pipeline_core::shutdown() noexcept {
  const ending_guard ending(*this, pool_.life());
  stages_[1]->close_queue();
  stop_source_.request_stop();
  pool_.shutdown();
}

void detail::pipeline_core::cancel() noexcept {
  const ending_guard ending(*this, pool_.life());
  for (const auto& stage : stages_) stage->abort();
  stop_source_.request_stop();
  stop_all_.request_stop();
  static_cast<void>(pool_.stop(false));
}

void detail::pipeline_core::source_ended() noexcept {
  // relaxed: the pool's lock orders what follows
  if (sources_.fetch_sub(1, std::memory_order_relaxed) == 1) pool_.shutdown();
}

void detail::pipeline_core::failed(stage_failed& failure, const std::exception_ptr& cause,
                                   std::shared_ptr<const void> item,
                                   const std::type_info& type) noexcept {
  std::string text;
  try {
    text = text_for(failure.stage()) + ": " + text_of(cause);
  } catch (...) {  // report the error without the text
  }
  bool unobserved = false;
  {
    const detail::mutex_lock lock(mu_);
    if (!error_) {
      failure.tell(std::move(text), cause, std::move(item), type);
      error_ = failure;
      unobserved = destroyed_;
    }
  }
  cancel();
  if (unobserved) report_unobserved(failure);
}

void detail::pipeline_core::destroy() noexcept {
  cancel();
  // A worker, or a call that ends the pipeline, may be the caller: it keeps the rest alive.
  const bool is_unused = !pool_.is_own_task();
  if (is_unused) pool_.life().await_unused();
  std::optional<stage_failed> unobserved;
  {
    const detail::mutex_lock lock(mu_);
    destroyed_ = true;
    if (!observed_) unobserved = error_;
    if (is_unused) error_.reset();
  }
  if (unobserved) report_unobserved(*unobserved);
  if (is_unused) release_stages();
  release();
}

// Destroys the user's functions and items, first to last: the producers of a stage refer to the
// queue of the next one.
void detail::pipeline_core::release_stages() noexcept {
  for (auto& stage : stages_) stage.reset();
}

std::optional<stage_failed> detail::pipeline_core::error() {
  const detail::mutex_lock lock(mu_);
  observed_ = error_.has_value();  // an empty answer observes nothing
  return error_;
}

std::vector<stage_statistics> detail::pipeline_core::statistics() {
  std::vector<stage_statistics> all;
  all.reserve(stages_.size());
  for (const auto& stage : stages_) all.push_back(stage->statistics());
  for (std::size_t i = 1; i < all.size(); ++i) all[i - 1].produced = all[i].accepted;
  return all;
}

void pipeline::check(const options_type& all) {
  if (all.time == nullptr) throw std::invalid_argument("takt::pipeline: time is null");
  if (all.unhandled == nullptr) throw std::invalid_argument("takt::pipeline: unhandled is null");
}

pipeline::pipeline(detail::stage_list stages, const options_type& all)
    : core_(new detail::pipeline_core(std::move(stages), all)) {
  try {
    core_->start();
  } catch (...) {
    core_->destroy();
    throw;
  }
}

pipeline::~pipeline() {
  // After fork() the threads are not in this process, and the mutexes are in an unknown state.
  if (core_->home_.is_here()) core_->destroy();
}

void pipeline::join() {
  const lifecycle::user here(life());  // at the end, another thread may destroy the pipeline
  await_termination();
  if (const std::optional<stage_failed> e = core_->error()) throw stage_failed(*e);
}

void pipeline::shutdown() noexcept { core_->shutdown(); }
void pipeline::shutdown_and_cancel() noexcept { core_->cancel(); }
std::optional<stage_failed> pipeline::error() const { return core_->error(); }
std::vector<stage_statistics> pipeline::statistics() const { return core_->statistics(); }
const lifecycle& pipeline::life() const noexcept { return core_->pool().life(); }
void pipeline::throw_if_own_task() const { core_->pool().throw_if_own_task(); }

}  // namespace takt::inline TAKT_ABI
