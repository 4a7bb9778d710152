#include <takt/sched/wheel_scheduler.hpp>

#include <stdexcept>
#include <utility>

#include "wheel_core.hpp"

namespace takt::inline TAKT_ABI {

wheel_scheduler::wheel_scheduler(const options_type& options)
    : core_(detail::wheel_core::make(options)) {}

wheel_scheduler::~wheel_scheduler() { core_.destroy(); }

timer_handle wheel_scheduler::execute(due_time due, any_executor executor, task t,
                                      const timer_options& options) {
  if (!t) throw std::invalid_argument("takt::wheel_scheduler: the task is empty");
  wheel_view::check_slack(options.slack);
  if (!options.name.empty()) t.set_name(options.name);
  detail::wheel_core& core = core_;  // the task may destroy *this before insert() returns
  const timer_id id =
      core.insert(due, t, executor, {.slack = options.slack, .run_at_close = options.run_at_close});
  if (id.index == timer_nodes::none) return {};
  return {detail::timer_ref(core, id), {}};
}

wheel_view wheel_scheduler::on(any_executor executor) noexcept {
  const options_type& options = core_.options();
  return {core_, {.time = options.time, .unhandled = options.unhandled}, options.missed, executor};
}

void wheel_scheduler::shutdown() noexcept { core_.shutdown(); }
task_list wheel_scheduler::shutdown_now() noexcept { return core_.stop(true); }
void wheel_scheduler::shutdown_and_cancel() noexcept { static_cast<void>(core_.stop(false)); }
task_list wheel_scheduler::close_within(std::chrono::nanoseconds timeout, at_close policy) {
  return core_.close(timeout, policy);
}

double wheel_scheduler::max_frequency() const noexcept {
  return 1e9 / static_cast<double>(core_.options().tick.count());
}
std::chrono::nanoseconds wheel_scheduler::max_delay() const noexcept { return core_.max_delay(); }
task_totals wheel_scheduler::totals() const { return core_.totals(); }
histogram_snapshot wheel_scheduler::lateness() const noexcept { return core_.lateness(); }
clock::time_point wheel_scheduler::now() const noexcept { return core_.options().time->now(); }
const lifecycle& wheel_scheduler::life() const noexcept { return core_.life(); }
void wheel_scheduler::throw_if_own_task() const { core_.throw_if_own_task(); }

}  // namespace takt::inline TAKT_ABI
