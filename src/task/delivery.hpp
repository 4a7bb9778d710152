// How deep continuations are nested on the calling thread.
#pragma once

#include <cstddef>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/owed_calls.hpp>
#include <takt/base/sync.hpp>

namespace takt::inline TAKT_ABI {

// Has no destructor: a thread's last futures may end after its thread-local data.
struct delivery_depth {
  std::size_t value = 0;

  [[nodiscard]] static std::size_t& here() noexcept {
    return sync::tls<delivery_depth>::get().value;
  }
};

// While it exists, the thread runs tasks that are not part of a continuation, though one may have
// called who runs them. What was deferred before is called first.
class delivery_scope {
 public:
  delivery_scope() noexcept {
    owed_calls::make();
    outer_ = std::exchange(delivery_depth::here(), 0);
  }
  ~delivery_scope() { delivery_depth::here() = outer_; }
  delivery_scope(const delivery_scope&) = delete;
  delivery_scope& operator=(const delivery_scope&) = delete;

 private:
  std::size_t outer_;
};

}  // namespace takt::inline TAKT_ABI
