#include <takt/task/task.hpp>

#include <exception>
#include <new>

namespace takt::inline TAKT_ABI {
namespace {

detail::future_core*& state_in(void* storage) noexcept {
  return *std::launder(static_cast<detail::future_core**>(storage));
}

void release_state(void* storage) noexcept {
  const detail::intrusive_ptr<detail::future_core> last(state_in(storage));
  last->abandon();
}

void* find_in_state(void* storage, const void* type) noexcept {
  return state_in(storage)->target(type);
}

}  // namespace

constexpr task::table task::with_future{[](task& self) {
                                          self.state_->run();
                                          return self.state_->outcome();
                                        },
                                        nullptr,
                                        &release_state,
                                        &find_in_state,
                                        nullptr,
                                        true};

constexpr task::table task::without_future{[](task& self) {
                                             self.state_->run();
                                             const task_outcome outcome = self.state_->outcome();
                                             if (outcome == task_outcome::failed)
                                               std::rethrow_exception(self.state_->take_error());
                                             return outcome;
                                           },
                                           nullptr,
                                           &release_state,
                                           &find_in_state,
                                           nullptr,
                                           true};

constexpr task::table task::with_periods{
    [](task& self) {
      return self.state_->run_and_reset() ? task_outcome::again : self.state_->outcome();
    },
    nullptr,
    &release_state,
    &find_in_state,
    nullptr,
    true};

}  // namespace takt::inline TAKT_ABI
