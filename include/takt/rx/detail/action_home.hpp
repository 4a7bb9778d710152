/// \file
/// Where actions find their scheduler.
#pragma once

#include <takt/base/config.hpp>
#include <takt/base/detail/ref_counted.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// Where actions find their scheduler, as long as that is there. For the rx module; belongs to the
/// thread of the scheduler.
class action_home final : public ref_counted<action_home> {
 public:
  explicit action_home(rx::action_scheduler& of) noexcept : scheduler(&of) {}
  rx::action_scheduler* scheduler;  ///< Null once it is gone.

 private:
  friend class ref_counted<action_home>;
  ~action_home() = default;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
