/// \file
/// A move-only std::function that stores targets of up to 56 bytes inside.
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

/// Holds a callable of the given signature. Unlike std::function it never copies its target, so the
/// target may be move-only.
///
/// \code
/// auto file = std::make_unique<log_file>("takt.log");
/// takt::move_only_function<void(std::string_view)> log =
///     [file = std::move(file)](std::string_view line) { file->write(line); };
/// log("started");
///
/// takt::move_only_function<void() &&> once = [p = std::move(promise)]() mutable {
///   p.set_value();
/// };
/// std::move(once)();
/// \endcode
///
/// `R(Args...)` calls its target as an lvalue, any number of times. `R(Args...) &&` is for one-shot
/// callables: it is called as an rvalue and calls its target as one.
///
/// **Cost.** 64 bytes, 56 of them for the target. A target that fits, is aligned to at most
/// std::max_align_t and moves without throwing is stored inside. Others are allocated once.
///
/// **Errors.** Construction and assignment have the strong guarantee; moves are noexcept. Calling
/// an empty or moved-from function throws std::bad_function_call.
///
/// **Thread safety.** None; a call counts as a write. See docs/base.md.
template <class Signature, class Parts>
class move_only_function;

template <class Signature, bool AsRvalue, class R, class... Args>
class alignas(std::max_align_t)
    move_only_function<Signature, detail::call_parts<AsRvalue, R, Args...>> {
  template <class F>
  using called_as = std::conditional_t<AsRvalue, F&&, F&>;

  template <class F>
  static constexpr bool accepts = std::is_invocable_r_v<R, called_as<F>, Args...>;

 public:
  /// The return type of a call.
  using result_type = R;

  /// Constructs an empty function. Constant initialisation: usable before main() begins.
  constexpr move_only_function() noexcept {}
  constexpr move_only_function(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  /// Holds `f`, decayed. Empty if `f` is a null pointer, or an empty std::function or
  /// move_only_function of any signature.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, move_only_function> &&
             accepts<std::decay_t<F>> && std::is_constructible_v<std::decay_t<F>, F>)
  move_only_function(F&& f) {  // NOLINT(google-explicit-constructor): converts, as in std
    if (detail::is_empty_callable(f)) return;
    emplace<std::decay_t<F>>(std::forward<F>(f));
  }

  /// Holds a T constructed in place from the arguments.
  template <class T, class... CtorArgs>
    requires(std::is_same_v<T, std::decay_t<T>> && accepts<T> &&
             std::is_constructible_v<T, CtorArgs...>)
  explicit move_only_function(std::in_place_type_t<T>, CtorArgs&&... args) {
    emplace<T>(std::forward<CtorArgs>(args)...);
  }

  /// Moves the target of `other`, which is empty afterwards.
  move_only_function(move_only_function&& other) noexcept { take(other); }

  /// As above; the old target is destroyed last. Self-assignment has no effect.
  move_only_function& operator=(move_only_function&& other) noexcept {
    if (this != &other) {
      const move_only_function old(std::move(*this));
      take(other);
    }
    return *this;
  }

  /// Destroys the target. The function is already empty while the target's destructor runs.
  move_only_function& operator=(std::nullptr_t) noexcept {
    const move_only_function old(std::move(*this));
    return *this;
  }

  /// Replaces the target with `f`, then destroys the old target. If constructing the new target
  /// throws, the old target remains.
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

  /// True if there is a target.
  explicit operator bool() const noexcept { return table_ != nullptr; }
  friend bool operator==(const move_only_function& f, std::nullptr_t) noexcept { return !f; }

  /// Returns the target if its type is exactly T, otherwise nullptr. target() compares the
  /// addresses of static tables instead of std::type_info. So it may return nullptr for a target
  /// that was set in a shared library with hidden symbols.
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
    void (*relocate)(void* from, void* to) noexcept;  // null: copy the bytes
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
  };

  static constexpr std::size_t capacity = 64 - sizeof(const table*);

  template <class F>
  static constexpr bool held_inside =
      sizeof(F) <= capacity && alignof(F) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<F>;

  // Storage contains the target if held_inside<F>, otherwise a pointer to it.
  template <class F>
  static F& target_in(void* storage) noexcept {
    if constexpr (held_inside<F>) {
      return *std::launder(static_cast<F*>(storage));
    } else {
      return **std::launder(static_cast<F**>(storage));
    }
  }

  // The target may destroy its storage, so the storage is not accessed after the call.
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
    target.~F();  // NOLINT(bugprone-use-after-move): moved-from, not destroyed yet
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

  // Requires an empty *this; leaves `other` empty.
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

  // The first member, so that the bytes have the alignment of the class.
  union {
    std::byte none_{};  // makes the empty function a constant expression
    std::byte bytes_[capacity];
  };
  const table* table_ = nullptr;  // null: empty
};

static_assert(sizeof(move_only_function<void()>) == 64, "one cache line");

}  // namespace takt::inline TAKT_ABI
