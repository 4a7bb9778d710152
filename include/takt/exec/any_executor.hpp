/// \file
/// A reference to an executor of any type.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/exec/executor.hpp>
#include <takt/task/detail/future_state.hpp>
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
      : object_(const_cast<std::remove_const_t<E>*>(std::addressof(e))),  // NOLINT: E says it
        table_(&table_of<E, false>) {}

  /// Holds a copy of `e`.
  template <executor E>
    requires(!std::is_same_v<E, any_executor> && !std::is_const_v<E> && is_small<E>)
  any_executor(E&& e) noexcept  // NOLINT(google-explicit-constructor)
      : object_(nullptr), table_(&table_of<E, true>) {
    if constexpr (!std::is_empty_v<E>) std::memcpy(&object_, std::addressof(e), sizeof(E));
  }

  void execute(task t) { table_->execute(&object_, std::move(t)); }
  [[nodiscard]] takt::future_options future_options() const { return table_->options(&object_); }

  /// Whether it has a try_execute(), which then is called; see executor.
  [[nodiscard]] bool takes_many() const noexcept { return table_->try_execute != nullptr; }
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept {
    return takes_many() ? table_->try_execute(&object_, tasks) : 0;
  }

  /// Whether the executor has set may_defer_resumption; see executor.
  [[nodiscard]] bool defers_resumption() const noexcept { return table_->defers_resumption; }

  /// Whether both refer to the same executor, or hold equal ones of the same type.
  friend bool operator==(const any_executor& a, const any_executor& b) noexcept {
    return a.object_ == b.object_ && a.table_ == b.table_;
  }

 private:
  struct table {
    void (*execute)(void** object, task&& t);
    takt::future_options (*options)(void* const* object);
    std::size_t (*try_execute)(void** object, std::span<task> tasks) noexcept;  // null: has none
    bool defers_resumption;
  };

  // The executor: what `object` points to, or, if it is held, `object` itself.
  template <class E, bool Held>
  static E& executor_in(void** object) noexcept {
    return *static_cast<E*>(Held ? static_cast<void*>(object) : *object);
  }

  template <class E, bool Held>
  static void execute_in(void** object, task&& t) {
    executor_in<E, Held>(object).execute(std::move(t));
  }

  template <class E, bool Held>
  static takt::future_options options_in(void* const* object) {
    void* copy = *object;
    return options_of(executor_in<E, Held>(&copy));
  }

  template <class E>
  static constexpr bool tries = requires(E& e, std::span<task> tasks) {
    { e.try_execute(tasks) } noexcept;
  };

  template <class E, bool Held>
  static std::size_t try_execute_in(void** object, std::span<task> tasks) noexcept {
    if constexpr (tries<E>) return executor_in<E, Held>(object).try_execute(tasks);
    return 0;
  }

  template <class E, bool Held>
  static constexpr table table_of{&execute_in<E, Held>, &options_in<E, Held>,
                                  tries<E> ? &try_execute_in<E, Held> : nullptr,
                                  may_defer_resumption<E>};

  void* object_;
  const table* table_;
};

}  // namespace takt::inline TAKT_ABI
