/// \file
/// A reference to an executor of any type.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/future_state.hpp>
#include <takt/task/task.hpp>

namespace takt::inline TAKT_ABI {

/// Some executor, whatever its type: for functions and members that take "where" without being
/// templates. It borrows: the executor has to outlive it.
///
/// \code
/// void fetch(const url& from, takt::any_executor where, callback done);
///
/// fetch(here, pool, show);                       // a reference to the pool
/// fetch(here, takt::inline_executor(), show);    // holds it: small, and copied like an int
/// \endcode
///
/// Two pointers in size, copied like an int, never allocates. An executor that is neither an lvalue
/// nor as small and trivial as a pointer does not convert: who would own it?
///
/// **Thread safety**: as for a pointer; execute() is that of the executor. **Destruction**: nothing
/// happens to the executor.
class any_executor : public executor_interface<any_executor> {
  template <class E>
  static constexpr bool is_small =
      sizeof(E) <= sizeof(void*) && alignof(E) <= alignof(void*) && std::is_trivially_copyable_v<E>;

 public:
  /// Refers to `e`.
  template <executor E>
    requires(!std::is_same_v<std::remove_const_t<E>, any_executor>)
  any_executor(E& e) noexcept  // NOLINT(google-explicit-constructor): as a reference would bind
      : object_(const_cast<std::remove_const_t<E>*>(std::addressof(e))),  // NOLINT: see table_of
        table_(&borrowed<E>) {}

  /// Holds a copy of `e`.
  template <executor E>
    requires(!std::is_same_v<E, any_executor> && !std::is_const_v<E> && is_small<E>)
  any_executor(E&& e) noexcept  // NOLINT(google-explicit-constructor)
      : object_(nullptr), table_(&held<E>) {
    if constexpr (!std::is_empty_v<E>) std::memcpy(&object_, std::addressof(e), sizeof(E));
  }

  void execute(task t) { table_->execute(*this, std::move(t)); }
  [[nodiscard]] task_options future_options() const { return table_->options(*this); }

  /// Whether both refer to the same executor, or hold equal ones of the same type.
  friend bool operator==(const any_executor&, const any_executor&) = default;

 private:
  struct table {
    void (*execute)(any_executor& self, task&& t);
    task_options (*options)(const any_executor& self);
  };

  template <class E>
  static constexpr table borrowed{
      [](any_executor& self, task&& t) { static_cast<E*>(self.object_)->execute(std::move(t)); },
      [](const any_executor& self) { return options_of(*static_cast<const E*>(self.object_)); }};

  template <class E>
  static constexpr table held{
      [](any_executor& self, task&& t) {
        static_cast<E*>(static_cast<void*>(&self.object_))->execute(std::move(t));
      },
      [](const any_executor& self) {
        return options_of(*static_cast<const E*>(static_cast<const void*>(&self.object_)));
      }};

  void* object_;
  const table* table_;
};

}  // namespace takt::inline TAKT_ABI
