/// \file
/// Plain shared data whose accesses are checked for races.
#pragma once

#include <utility>

#include <takt/model/engine.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

/// Race detection for one variable: the clocks of its last write and of its reads.
class race_check : public object {
 public:
  race_check() noexcept : object("variable") { on_write(); }
  ~race_check() { retire(); }
  void on_read() const noexcept;
  void on_write() noexcept;

 private:
  mutable vector_clock reads_{};
  std::size_t writer_ = 0;
  std::uint32_t written_ = 0;
};

/// Plain data whose accesses are checked for races; see sync::var.
template <class T>
class var {
 public:
  var() = default;
  explicit var(T value) : value_(std::move(value)) {}
  var(const var&) = delete;
  var& operator=(const var&) = delete;
  [[nodiscard]] const T& read() const noexcept {
    check_.on_read();
    return value_;
  }
  [[nodiscard]] T& write() noexcept {
    check_.on_write();
    return value_;
  }

 private:
  race_check check_;
  T value_{};
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
