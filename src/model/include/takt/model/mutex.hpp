/// \file
/// A mutex under the control of the checker.
#pragma once

#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Drop-in for std::mutex. The run fails if a thread locks it twice or unlocks it without owning
/// it, or if it is destroyed while locked.
class mutex : public object {
 public:
  mutex() noexcept : object("mutex") {}
  ~mutex();

  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

  /// Number of the owning thread; 0 if unlocked.
  [[nodiscard]] std::size_t owner() const noexcept { return owner_; }

 private:
  std::size_t owner_ = 0;
  vector_clock released_{};  // the last owner's clock at its unlock
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
