/// \file
/// A mutex whose blocking the checker sees.
#pragma once

#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Drop-in for std::mutex. Locking it twice, unlocking it from another thread and destroying it
/// while it is locked fail the run.
class mutex : public object {
 public:
  mutex() noexcept : object("mutex") {}
  ~mutex();

  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

  /// Who holds it: 0 for nobody.
  [[nodiscard]] std::size_t owner() const noexcept { return owner_; }

 private:
  std::size_t owner_ = 0;
  vector_clock released_{};  // what the last owner had seen
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
