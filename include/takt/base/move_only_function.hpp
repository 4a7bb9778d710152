/// \file
/// Any callable in one cache line.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/call_signature.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/fwd.hpp>

namespace takt::inline TAKT_ABI {

/// Holds anything that can be called with the given signature: a lambda, a function pointer, a
/// pointer to a member, an object with operator(). Unlike std::function it never copies what it
/// holds, so that this may be move-only, and calls it as it is meant to be called:
///
/// - `move_only_function<R(Args...)>` calls its target as an lvalue, any number of times;
/// - `move_only_function<R(Args...) &&>` is called as an rvalue, `std::move(f)(args...)`, and calls
///   its target as one. The target stays in place, and is destroyed with the function.
///
/// \code
/// auto file = std::make_unique<log_file>("takt.log");
/// takt::move_only_function<void(std::string_view)> log =
///     [file = std::move(file)](std::string_view line) { file->write(line); };
/// log("started");
///
/// takt::move_only_function<void() &&> once = [p = std::move(promise)]() mutable {
///   std::move(p).set_value();
/// };
/// std::move(once)();
/// \endcode
///
/// **Size and allocation.** 64 bytes, of which 56 hold the target. A target that fits, is aligned
/// to at most std::max_align_t and moves without throwing is held inside and never allocates; any
/// other is allocated once, when it is given, and not again when moved. A move never throws, and
/// is a copy of the bytes unless the target inside has a move constructor that does more.
///
/// **Empty** is what is default-constructed, made from nullptr, from a null pointer to a function
/// or member, or from an empty std::function or move_only_function of any signature; and what has
/// been moved from. Calling it throws std::bad_function_call.
///
/// **Exceptions.** If giving it a target throws (the allocation, or the target's own constructor)
/// nothing has changed. What the target throws passes through.
///
/// **Replacing.** Assignment destroys the old target when the new one is in place, so that a
/// destructor which looks at this function, or calls it, finds the new target. A target may
/// replace or destroy, while it runs, the very function that holds it; as with `delete this`, it
/// is destroyed at once, and must not touch its captures afterwards.
///
/// **Thread safety**: as for an int: one object, one thread at a time. A call counts as a write.
///
/// **Destruction** destroys the target.
///
/// Parts follows from Signature (see takt/fwd.hpp) and is never written.
template <class Signature, class Parts>
class move_only_function;

template <class Signature, bool AsRvalue, class R, class... Args>
class alignas(std::max_align_t)
    move_only_function<Signature, detail::call_parts<AsRvalue, R, Args...>> {
  // How the target is seen by the caller.
  template <class F>
  using called_as = std::conditional_t<AsRvalue, F&&, F&>;

  template <class F>
  static constexpr bool accepts = std::is_invocable_r_v<R, called_as<F>, Args...>;

 public:
  /// What it returns.
  using result_type = R;

  /// Empty. Constant initialisation: can be used before main() begins.
  constexpr move_only_function() noexcept {}
  constexpr move_only_function(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  /// Holds `f`, decayed; or is empty if `f` is null or empty.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, move_only_function> &&
             accepts<std::decay_t<F>> && std::is_constructible_v<std::decay_t<F>, F>)
  move_only_function(F&& f) {  // NOLINT(google-explicit-constructor): converts, as in std
    if (detail::is_empty_callable(f)) return;
    emplace<std::decay_t<F>>(std::forward<F>(f));
  }

  /// Holds a T made in place out of the arguments.
  template <class T, class... CtorArgs>
    requires(std::is_same_v<T, std::decay_t<T>> && accepts<T> &&
             std::is_constructible_v<T, CtorArgs...>)
  explicit move_only_function(std::in_place_type_t<T>, CtorArgs&&... args) {
    emplace<T>(std::forward<CtorArgs>(args)...);
  }

  /// Takes over the target; `other` is empty afterwards.
  move_only_function(move_only_function&& other) noexcept { take(other); }

  /// As above. The own target, if any, is destroyed last. Self-assignment changes nothing.
  move_only_function& operator=(move_only_function&& other) noexcept {
    if (this != &other) {
      const move_only_function old(std::move(*this));
      take(other);
    }
    return *this;
  }

  /// Destroys the target. The function is empty already when the target's destructor runs.
  move_only_function& operator=(std::nullptr_t) noexcept {
    const move_only_function old(std::move(*this));
    return *this;
  }

  /// Replaces the target by `f`. If that throws, the old one is still there.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, move_only_function> &&
             std::is_constructible_v<move_only_function, F>)
  move_only_function& operator=(F&& f) {
    return *this = move_only_function(std::forward<F>(f));
  }

  ~move_only_function() {
    if (table_ != nullptr && table_->destroy != nullptr) table_->destroy(bytes_);
  }

  /// Calls the target. \throws std::bad_function_call if empty.
  R operator()(Args... args)
    requires(!AsRvalue)
  {
    return call(std::forward<Args>(args)...);
  }

  /// Calls the target as an rvalue. \throws std::bad_function_call if empty.
  auto operator()(Args... args) && -> R
    requires(AsRvalue)
  {
    return call(std::forward<Args>(args)...);
  }

  /// Whether there is a target.
  explicit operator bool() const noexcept { return table_ != nullptr; }
  friend bool operator==(const move_only_function& f, std::nullptr_t) noexcept { return !f; }

  /// The target, if it is of exactly this type; else nullptr. Works without run-time type
  /// information, by the address of a table: between shared libraries that hide their symbols
  /// from each other it may miss.
  template <class T>
  [[nodiscard]] T* target() noexcept {
    if constexpr (std::is_same_v<T, std::decay_t<T>> && accepts<T>) {
      if (table_ == &table_of<T>) return std::addressof(target_in<T>(bytes_));
    }
    return nullptr;
  }

 private:
  struct table {
    R (*invoke)(void* storage, Args&&... args);
    void (*relocate)(void* from, void* to) noexcept;  // null: copying the bytes does it
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
  };

  static constexpr std::size_t capacity = 64 - sizeof(const table*);

  template <class F>
  static constexpr bool held_inside =
      sizeof(F) <= capacity && alignof(F) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<F>;

  // A target that is not held inside has a pointer to it there.
  template <class F>
  static F& target_in(void* storage) noexcept {
    if constexpr (held_inside<F>) {
      return *std::launder(static_cast<F*>(storage));
    } else {
      return **std::launder(static_cast<F**>(storage));
    }
  }

  // The target may destroy its storage: nothing is touched after the call.
  template <class F>
  static R invoke(void* storage, Args&&... args) {
    F& target = target_in<F>(storage);
    if constexpr (std::is_void_v<R>) {
      static_cast<void>(
          std::invoke(static_cast<called_as<F>>(target), std::forward<Args>(args)...));
    } else {
      return std::invoke(static_cast<called_as<F>>(target), std::forward<Args>(args)...);
    }
  }

  template <class F>
  static void relocate(void* from, void* to) noexcept {
    F& target = target_in<F>(from);
    ::new (to) F(std::move(target));
    target.~F();  // NOLINT(bugprone-use-after-move): moved-from objects are destroyed, too
  }

  template <class F>
  static void destroy(void* storage) noexcept {
    if constexpr (held_inside<F>) {
      target_in<F>(storage).~F();
    } else {
      delete &target_in<F>(storage);
    }
  }

  template <class F>
  static constexpr bool is_bytes = std::is_trivially_copyable_v<F> || !held_inside<F>;

  template <class F>
  static constexpr table table_of{
      &invoke<F>,
      is_bytes<F> ? nullptr : &relocate<F>,
      !held_inside<F> || !std::is_trivially_destructible_v<F> ? &destroy<F> : nullptr,
  };

  template <class F, class... CtorArgs>
  void emplace(CtorArgs&&... args) {
    if constexpr (held_inside<F>) {
      ::new (static_cast<void*>(bytes_)) F(std::forward<CtorArgs>(args)...);
    } else {
      ::new (static_cast<void*>(bytes_)) F*(new F(std::forward<CtorArgs>(args)...));
    }
    table_ = &table_of<F>;
  }

  // Needs to be empty, and leaves `other` empty.
  void take(move_only_function& other) noexcept {
    TAKT_ASSERT(table_ == nullptr);
    if (other.table_ == nullptr) return;
    if (other.table_->relocate == nullptr) {
      std::memcpy(bytes_, other.bytes_, capacity);
    } else {
      other.table_->relocate(other.bytes_, bytes_);
    }
    table_ = std::exchange(other.table_, nullptr);
  }

  R call(Args&&... args) {
    if (table_ == nullptr) throw std::bad_function_call();
    return table_->invoke(bytes_, std::forward<Args>(args)...);
  }

  // First, for the alignment of the class to be theirs.
  union {
    std::byte none_{};  // so that an empty function is a constant
    std::byte bytes_[capacity];
  };
  const table* table_ = nullptr;  // null: empty
};

static_assert(sizeof(move_only_function<void()>) == 64, "one cache line");

}  // namespace takt::inline TAKT_ABI
