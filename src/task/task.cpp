#include <takt/task/task.hpp>

#include <exception>

namespace takt::inline TAKT_ABI {
namespace {

future_core*& state_in(void* storage) noexcept {
  return *std::launder(static_cast<future_core**>(storage));
}

task_outcome outcome_of(const future_core& state) noexcept {
  // Not ready: it did not run, as another thread is just cancelling it.
  if (!state.is_ready() || state.is_cancelled()) return task_outcome::cancelled;
  return state.has_value() ? task_outcome::finished : task_outcome::failed;
}

void let_go(void* storage) noexcept {
  const state_ref<future_core> last(state_in(storage));
  last->abandon();
}

void* find_in_state(void* storage, const void* type) noexcept {
  return state_in(storage)->target(type);
}

}  // namespace

constexpr task::table task::with_future{[](task& self) {
                                          self.state_->run();
                                          return outcome_of(*self.state_);
                                        },
                                        nullptr, &let_go, &find_in_state, true};

constexpr task::table task::without_future{[](task& self) {
                                             self.state_->run();
                                             const task_outcome outcome = outcome_of(*self.state_);
                                             if (outcome == task_outcome::failed)
                                               std::rethrow_exception(self.state_->take_error());
                                             return outcome;
                                           },
                                           nullptr, &let_go, &find_in_state, true};

}  // namespace takt::inline TAKT_ABI
