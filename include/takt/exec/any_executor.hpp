/// \file
/// A type-erased reference to an executor.
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

/// A type-erased reference to an executor, for functions and members that are not templates. The
/// executor must outlive the reference.
///
/// \code
/// void fetch(const url& from, takt::any_executor executor, callback done);
///
/// fetch(page, pool, show);                       // refers to the pool
/// fetch(page, takt::inline_executor(), show);    // stores a copy: trivial and small
/// \endcode
///
/// An rvalue converts only if it is trivially copyable and no larger than a pointer; any_executor
/// then stores a copy. Other rvalues would have no owner.
///
/// **Cost.** The object has the size of two pointers, is trivially copyable, and never allocates.
///
/// **Thread safety.** As for a pointer; execute() is as safe as execute() of the executor.
/// **Destruction** does not affect the executor.
class any_executor : public executor_interface<any_executor> {
  template <class E>
  static constexpr bool is_small =
      sizeof(E) <= sizeof(void*) && alignof(E) <= alignof(void*) && std::is_trivially_copyable_v<E>;

 public:
  /// Refers to `e`.
  template <executor E>
    requires(!std::is_same_v<std::remove_const_t<E>, any_executor>)
  any_executor(E& e) noexcept  // NOLINT(google-explicit-constructor): as a reference would bind
      : object_(const_cast<std::remove_const_t<E>*>(std::addressof(e))),  // NOLINT: E keeps const
        table_(&table_of<E, false>) {}

  /// Stores a copy of `e`.
  template <executor E>
    requires(!std::is_same_v<E, any_executor> && !std::is_const_v<E> && is_small<E>)
  any_executor(E&& e) noexcept  // NOLINT(google-explicit-constructor)
      : object_(nullptr), table_(&table_of<E, true>) {
    if constexpr (!std::is_empty_v<E>) std::memcpy(&object_, std::addressof(e), sizeof(E));
  }

  /// Calls execute() of the executor. \throws what that throws.
  void execute(task t) { table_->execute(&object_, std::move(t)); }
  /// Returns options_of() of the executor.
  [[nodiscard]] takt::future_options future_options() const { return table_->options(&object_); }

  /// Returns true if the executor has try_execute(); see executor.
  [[nodiscard]] bool takes_many() const noexcept { return table_->try_execute != nullptr; }
  /// Calls try_execute() of the executor; returns 0 if the executor has none.
  [[nodiscard]] std::size_t try_execute(std::span<task> tasks) noexcept {
    return takes_many() ? table_->try_execute(&object_, tasks) : 0;
  }

  /// Returns true if the executor sets may_defer_resumption; see executor.
  [[nodiscard]] bool defers_resumption() const noexcept { return table_->defers_resumption; }

  /// Returns true if both refer to the same executor, or store equal ones of the same type.
  friend bool operator==(const any_executor& a, const any_executor& b) noexcept {
    return a.object_ == b.object_ && a.table_ == b.table_;
  }

 private:
  struct table {
    void (*execute)(void** object, task&& t);
    takt::future_options (*options)(void* const* object);
    std::size_t (*try_execute)(void** object, std::span<task> tasks) noexcept;  // may be null
    bool defers_resumption;
  };

  // The executor: `*object`, or `object` itself if it stores the executor.
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
