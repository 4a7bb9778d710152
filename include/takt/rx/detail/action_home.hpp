/// \file
/// The link from actions to their scheduler.
#pragma once

#include <takt/base/config.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Points actions to their scheduler as long as it exists. Only the scheduler's thread uses it.
class action_home final : public ref_counted<action_home> {
 public:
  explicit action_home(rx::action_scheduler& of) noexcept : scheduler(&of) {}
  rx::action_scheduler* scheduler;  ///< Null after the scheduler's destruction.

 private:
  friend class ref_counted<action_home>;
  ~action_home() = default;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
