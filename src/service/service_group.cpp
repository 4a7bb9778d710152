// Phases
//
//   adding     services may be added
//   starting   start() starts the services
//   running    all services are started
//   stopping   one thread stops the services in reverse order
//   stopped    final
//
//   adding   -> starting   start()
//   adding   -> stopped    stop(): no service was started
//   starting -> running    all services have started
//   starting -> stopped    a service threw; the services before it have been stopped
//   starting -> adding     there was no memory for the report
//   running  -> stopping   stop(), the destructor
//   stopping -> stopped    the report is complete
//
// Invariants
//   1. Services are called without the lock, by one thread at a time: driver_, the thread that
//      entered starting or stopping. Other threads wait for the end of that phase; driver_ must
//      not wait for itself.
//   2. Each started service is stopped once, after shutdown() of all services started later.
//   3. The report has room for all services before the first one is started. It belongs to the
//      driver until the group is stopped.
#include <takt/service/service_group.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <takt/base/detail/mutex.hpp>
#include <takt/clock/detail/timed_condition.hpp>

namespace takt::inline TAKT_ABI {
namespace {

using std::chrono::nanoseconds;

std::string format_duration(nanoseconds took) {
  std::string text(32, '\0');
  const auto ns = static_cast<double>(took.count());
  const int length = took < std::chrono::seconds(1)
                         ? std::snprintf(text.data(), text.size(), "%.0f ms", ns / 1e6)
                         : std::snprintf(text.data(), text.size(), "%.1f s", ns / 1e9);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

// Calls an action of a service. Its first exception is the outcome of the service.
template <class Call>
void call(stop_report::service& s, Call callable) noexcept {
  try {
    callable();
  } catch (...) {
    if (s.outcome == stop_outcome::failed) return;
    s.outcome = stop_outcome::failed;
    s.error = std::current_exception();
  }
}

}  // namespace

std::string_view to_string(stop_outcome o) noexcept {
  switch (o) {
    case stop_outcome::ended:
      return "ended";
    case stop_outcome::forced:
      return "forced";
    case stop_outcome::still_running:
      return "still running";
    case stop_outcome::failed:
      break;
  }
  return "failed";
}

bool stop_report::is_clean() const noexcept {
  return std::ranges::all_of(services,
                             [](const service& s) { return s.outcome == stop_outcome::ended; });
}

std::string stop_report::to_string() const {
  std::string text = "stopped:";
  if (services.empty()) text += " nothing";
  for (const service& s : services) {
    if (&s != &services.front()) text += ',';
    text += ' ' + s.name + ' ';
    text += takt::to_string(s.outcome);
    text += " (" + format_duration(s.took) + ')';
  }
  return text;
}

class service_group::impl {
 public:
  explicit impl(const options_type& options) : time_(*options.time), linger_(options.linger) {}
  ~impl();

  void add(std::string name, service_actions actions, std::function<void()> throw_if_inside);
  void start();
  stop_report stop_until(clock::time_point deadline, const sync::stop_token& force);
  void request_stop() noexcept;
  void wait_for_request(const sync::stop_token& stop);

  const clock& time_;  // constant after construction

 private:
  struct member {
    std::string name;
    service_actions actions;
    std::function<void()> throw_if_inside;
    // Used by the driver while it stops the group.
    clock::time_point began{};
    bool is_forced = false;
  };
  enum class phase : std::uint8_t { adding, starting, running, stopping, stopped };

  bool is_busy() const TAKT_REQUIRES(mu_) {
    return phase_ == phase::starting || phase_ == phase::stopping;
  }
  void begin(phase as) TAKT_REQUIRES(mu_);
  void finish(phase as) noexcept;
  void stop_members(clock::time_point deadline, nanoseconds linger,
                    const sync::stop_token& force) noexcept;

  // Constant after construction.
  const nanoseconds linger_;

  // Constant once the group is started, except for the driver's fields.
  std::vector<member> members_;

  detail::mutex mu_;
  detail::timed_condition changed_ TAKT_GUARDED_BY(mu_);
  phase phase_ TAKT_GUARDED_BY(mu_) = phase::adding;
  bool requested_ TAKT_GUARDED_BY(mu_) = false;
  sync::thread::id driver_ TAKT_GUARDED_BY(mu_);  // valid in starting and stopping

  // The driver's; constant in stopped. Holds the started services, the last one first.
  stop_report report_;
};

service_group::impl::~impl() {
  {
    const detail::mutex_lock lock(mu_);
    if (phase_ != phase::running) return;
    begin(phase::stopping);
  }
  stop_members(clock::time_point::min(), never, {});
}

void service_group::impl::begin(phase as) {
  phase_ = as;
  driver_ = sync::this_thread_id();
}

void service_group::impl::finish(phase as) noexcept {
  const detail::mutex_lock lock(mu_);
  phase_ = as;
  changed_.notify_all();
}

void service_group::impl::add(std::string name, service_actions actions,
                              std::function<void()> throw_if_inside) {
  if (name.empty()) throw std::invalid_argument("takt::service_group: a service has no name");
  if (!actions.shutdown || !actions.await_end) {
    throw std::invalid_argument("takt::service_group: the service " + name +
                                " has no shutdown or no await_end");
  }
  const detail::mutex_lock lock(mu_);
  if (phase_ != phase::adding) {
    throw std::logic_error("takt::service_group: the service " + name +
                           " was added after start() or stop()");
  }
  if (!actions.force) actions.force = actions.shutdown;
  members_.push_back({std::move(name), std::move(actions), std::move(throw_if_inside)});
}

void service_group::impl::start() {
  {
    const detail::mutex_lock lock(mu_);
    if (phase_ != phase::adding) {
      throw std::logic_error("takt::service_group: the group was started or stopped before");
    }
    begin(phase::starting);
  }
  try {
    report_.services.reserve(members_.size());
    for (const member& m : members_) report_.services.push_back({.name = m.name});
  } catch (...) {
    report_.services.clear();
    finish(phase::adding);
    throw;
  }
  std::ranges::reverse(report_.services);
  std::size_t started = 0;
  try {
    for (; started < members_.size(); ++started) {
      if (members_[started].actions.start) members_[started].actions.start();
    }
  } catch (...) {
    const auto none = report_.services.begin();
    report_.services.erase(none, none + static_cast<std::ptrdiff_t>(members_.size() - started));
    stop_members(clock::time_point::min(), linger_, {});
    finish(phase::stopped);
    throw;
  }
  finish(phase::running);
}

stop_report service_group::impl::stop_until(clock::time_point deadline,
                                            const sync::stop_token& force) {
  for (const member& m : members_) {
    if (m.throw_if_inside) m.throw_if_inside();
  }
  {
    detail::mutex_lock lock(mu_);
    while (is_busy()) {
      if (driver_ == sync::this_thread_id()) {
        throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                                "takt::service_group: stop() called by an action of a service; "
                                "call request_stop() there");
      }
      changed_.wait_until(lock, time_, clock::time_point::max());
    }
    if (phase_ == phase::adding) phase_ = phase::stopped;
    if (phase_ == phase::stopped) return report_;
    begin(phase::stopping);
  }
  stop_members(deadline, linger_, force);
  try {
    stop_report report = report_;
    finish(phase::stopped);  // from here on another thread may destroy the group
    return report;
  } catch (...) {  // no memory for the copy
    finish(phase::stopped);
    throw;
  }
}

// Stops the services that are in the report.
void service_group::impl::stop_members(clock::time_point deadline, nanoseconds linger,
                                       const sync::stop_token& force) noexcept {
  const std::size_t count = report_.services.size();
  const auto report_of = [&](std::size_t i) -> stop_report::service& {
    return report_.services[count - 1 - i];
  };
  bool forcing = false;
  for (std::size_t i = count; i-- > 0;) {
    member& m = members_[i];
    m.began = time_.now();
    bool ended = false;
    call(report_of(i), [&] { m.actions.shutdown(); });
    const auto has_failed = [&] { return report_of(i).outcome == stop_outcome::failed; };
    if (!forcing && !has_failed()) {
      call(report_of(i), [&] { ended = m.actions.await_end(deadline, force); });
    }
    if (!ended) {
      if (!has_failed()) forcing = true;  // the time is up; a service that throws is forced alone
      call(report_of(i), [&] { m.actions.force(); });
      m.is_forced = true;
    }
    report_of(i).took = time_between(m.began, time_.now());
  }
  const clock::time_point last = deadline_after(time_.now(), linger);
  for (std::size_t i = count; i-- > 0;) {
    const member& m = members_[i];
    if (!m.is_forced) continue;
    bool ended = false;
    call(report_of(i), [&] { ended = m.actions.await_end(last, {}); });
    if (report_of(i).outcome == stop_outcome::ended) {
      report_of(i).outcome = ended ? stop_outcome::forced : stop_outcome::still_running;
    }
    report_of(i).took = time_between(m.began, time_.now());
  }
}

void service_group::impl::request_stop() noexcept {
  const detail::mutex_lock lock(mu_);
  requested_ = true;
  changed_.notify_all();
}

void service_group::impl::wait_for_request(const sync::stop_token& stop) {
  detail::mutex_lock lock(mu_);
  while (!requested_ && !stop.stop_requested()) {
    changed_.wait_until(lock, time_, clock::time_point::max(), stop);
  }
}

service_group::service_group(const options_type& options) {
  if (options.time == nullptr) throw std::invalid_argument("takt::service_group: time is null");
  if (options.linger < nanoseconds(0)) {
    throw std::invalid_argument("takt::service_group: linger is negative (" +
                                std::to_string(options.linger.count()) + " ns)");
  }
  impl_ = new impl(options);
}

service_group::~service_group() {
  if (home_.is_here()) delete impl_;
}

void service_group::add(std::string name, service_actions actions,
                        std::function<void()> throw_if_inside) {
  impl_->add(std::move(name), std::move(actions), std::move(throw_if_inside));
}
void service_group::start() { impl_->start(); }
stop_report service_group::stop_until(clock::time_point deadline, const sync::stop_token& force) {
  return impl_->stop_until(deadline, force);
}
void service_group::request_stop() noexcept { impl_->request_stop(); }
void service_group::wait_for_request(const sync::stop_token& stop) {
  impl_->wait_for_request(stop);
}
const clock& service_group::time() const noexcept { return impl_->time_; }

}  // namespace takt::inline TAKT_ABI
