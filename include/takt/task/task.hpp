/// \file
/// A piece of work on its way to a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/assert.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/clock/clock.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/errors.hpp>
#include <takt/task/future_task.hpp>

namespace takt::inline TAKT_ABI {

/// What a task is called in traces and lists: a string literal, which needs no owner. Anything else
/// does not compile.
class task_name {
 public:
  constexpr task_name() noexcept = default;
  consteval task_name(const char* literal)  // NOLINT(google-explicit-constructor): literals are it
      : text_(literal) {}
  [[nodiscard]] constexpr std::string_view view() const noexcept { return text_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return *text_ == '\0'; }

 private:
  const char* text_ = "";
};

/// What can be said of a task beside what it does.
struct task_options {
  task_name name{};
  /// Larger goes first, in a thread_pool with queue_order::priority; all others ignore it.
  std::int16_t priority = 0;
};

/// Whether an F is moved by copying its bytes and forgetting the source. Specialize it for a type
/// of which that is true, though it has a destructor: a task that holds it is moved faster.
template <class F>
inline constexpr bool moves_as_bytes = std::is_trivially_copyable_v<F>;

/// A piece of work on its way to a thread: what executors take, queue and run. A callable, with or
/// without a future that waits for its result, and a name.
///
/// \code
/// class my_executor {                                     // that is all it takes
///  public:
///   void execute(takt::task t) {
///     my_loop.post([t = std::move(t)]() mutable { t.run(); });
///   }
/// };
///
/// pool.execute([] { step(); });                           // becomes a task by itself
/// for (takt::task& t : pool.shutdown_now()) t.run();      // what has not begun; fulfils futures
/// \endcode
///
/// Each task comes to one end: it is run, or cancel()led, or reject()ed, or dropped, and then its
/// future, if it has one, ends accordingly: with its outcome, `cancelled`, `rejected`,
/// `broken_promise`.
///
/// The callable takes a `std::stop_token` or nothing, and is called as an rvalue, if it can be. A
/// token's stop is requested by the executor that runs it, when that is told to stop at once. A
/// callable of up to 32 bytes that can be moved without throwing is held inside; one that takes a
/// token is not. If it has a member `void cancelled() noexcept`, no token and no future, that is
/// called when it is cancelled before it has begun.
///
/// **Size**: 64 bytes, one cache line. **Thread safety**: as for an int. **Destruction** drops it.
class alignas(std::max_align_t) task {
  static constexpr std::size_t capacity = 32;

 public:
  /// Whether a callable of this type, without a token, is held inside: nothing is allocated for it.
  template <class F>
  static constexpr bool held_inside =
      sizeof(F) <= capacity && alignof(F) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<F>;

  /// Empty.
  task() noexcept = default;

  /// Holds `f`, decayed. \throws std::invalid_argument if `f` is null or empty.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, task> &&
             (detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>))
  task(F&& f, const task_options& more = {})  // NOLINT(google-explicit-constructor)
      : task(more) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::task: the callable is empty");
    if constexpr (detail::takes_stop_token<call>) {
      state_ = new detail::task_state<void, call>({}, std::forward<F>(f));
      table_ = &without_future;
    } else {
      emplace<call>(std::forward<F>(f));
    }
  }

  /// Holds what fills a future.
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): as a callable does
  task(future_task<T>&& f, const task_options& more = {}) : task(more) {
    state_ = f.release().detach();
    table_ = &with_future;
  }

  /// Holds what fills a future, by its state. If it is periodic, run() leaves it there and says
  /// `again`, until it throws or is cancelled: for executors that know when.
  task(detail::intrusive_ptr<detail::future_core> state, const task_options& more,
       bool periodic) noexcept
      : task(more) {
    state_ = state.detach();
    table_ = periodic ? &with_periods : &with_future;
  }
  [[nodiscard]] bool is_periodic() const noexcept { return table_ == &with_periods; }
  /// The next run is the last one, which makes its future ready.
  void end_periods() noexcept {
    if (is_periodic()) table_ = &with_future;
  }

  task(task&& other) noexcept : state_(nullptr) { take(other); }
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~task() { drop(); }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it has a count

  /// Whether there is something in it.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// Does the work, and leaves nothing to do unless it is periodic. Not for an empty task.
  /// \throws what the callable throws, if there is no future that gets it; but takt::cancelled is
  /// an outcome.
  task_outcome run() {
    TAKT_ASSERT(table_ != nullptr);
    return table_->run(*this);
  }

  /// Ends it without running it; its future is cancelled. A callable without future and token that
  /// has a member cancelled() is told by it.
  void cancel() noexcept {
    if (detail::future_core* core = state()) {
      core->cancel();
    } else if (table_ != nullptr && table_->cancelled != nullptr) {
      table_->cancelled(bytes_);
    }
    drop();
  }

  /// Ends it without running it; its future throws takt::rejected.
  void reject(rejection reason) noexcept {
    if (detail::future_core* core = state()) core->reject(reason);
    drop();
  }

  /// Whether its future was cancelled: running it does nothing.
  [[nodiscard]] bool is_cancelled() const noexcept {
    const detail::future_core* core = state();
    return core != nullptr && core->is_cancelled();
  }

  /// The callable, if it is of exactly this type and still there; else nullptr.
  template <class F>
  [[nodiscard]] F* target() noexcept {
    return table_ == nullptr ? nullptr
                             : static_cast<F*>(table_->target(bytes_, &detail::type_key<F>));
  }

  [[nodiscard]] std::string_view name() const noexcept { return about_.name.view(); }
  [[nodiscard]] std::int16_t priority() const noexcept {
    return static_cast<std::int16_t>(about_.priority);
  }
  /// Given by the executor that took it; unique among its tasks.
  [[nodiscard]] std::uint64_t id() const noexcept { return about_.id; }
  /// When it was to begin, by the clock of the executor that took it, if that keeps such times.
  [[nodiscard]] clock::time_point deadline() const noexcept { return about_.deadline; }

  /// For executors: what id() and deadline() tell.
  void set_id(std::uint64_t id) noexcept { about_.id = id & ((std::uint64_t{1} << 48) - 1); }
  void set_deadline(clock::time_point deadline) noexcept { about_.deadline = deadline; }
  void set_name(task_name name) noexcept { about_.name = name; }
  [[nodiscard]] task_name literal_name() const noexcept { return about_.name; }
  /// For executors: takes over name, priority, id and deadline.
  void describe_as(const task& other) noexcept { about_ = other.about_; }
  /// Whether somebody waits for its result.
  [[nodiscard]] bool has_future() const noexcept { return table_ == &with_future || is_periodic(); }
  /// For schedulers that keep many: moves what it does into `storage`, which is large and aligned
  /// enough for a callable that is held inside, and leaves the rest behind. \return what unpack()
  /// needs to make a task of it again.
  [[nodiscard]] const void* pack(void* storage) noexcept {
    move_bytes(*this, storage);
    return std::exchange(table_, nullptr);
  }
  [[nodiscard]] static task unpack(void* storage, const void* packed) noexcept {
    task made;
    const auto* const held = static_cast<const table*>(packed);
    if (held->relocate != nullptr) {
      held->relocate(storage, made.bytes_);
    } else {
      copy_words(storage, made.bytes_);
    }
    made.table_ = held;
    return made;
  }
  /// Whether ending it without running it, or what was packed, leaves nothing to do. Not for an
  /// empty task.
  [[nodiscard]] bool is_plain() const noexcept { return is_plain(table_); }
  [[nodiscard]] static bool is_plain(const void* packed) noexcept {
    const auto* const held = static_cast<const table*>(packed);
    return held->destroy == nullptr && held->cancelled == nullptr;
  }
  /// For executors: what it shares with its future, or with its stop token; null if it has neither.
  /// Stays until the task is dropped or moved, also when it has run.
  [[nodiscard]] detail::future_core* state() const noexcept {
    return table_ != nullptr && table_->has_state ? state_ : nullptr;
  }

 private:
  struct table {
    task_outcome (*run)(task& self);
    void (*relocate)(void* from, void* to) noexcept;  // null: copying the bytes does it
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
    void* (*target)(void* storage, const void* type) noexcept;
    void (*cancelled)(void* storage) noexcept;  // null: it does not want to know
    bool has_state;
  };

  explicit task(const task_options& more) noexcept
      : about_{.name = more.name, .priority = more.priority} {}

  // A callable that is not held inside has a pointer to it there.
  template <class F>
  static F& target_in(void* storage) noexcept {
    if constexpr (held_inside<F>) {
      return *std::launder(static_cast<F*>(storage));
    } else {
      return **std::launder(static_cast<F**>(storage));
    }
  }

  template <class F>
  static task_outcome run_callable(task& self) {
    struct dropped_after {
      task& spent;
      ~dropped_after() { spent.drop(); }
    } const guard{self};
    try {
      static_cast<void>(std::invoke(static_cast<detail::one_shot<F>>(target_in<F>(self.bytes_))));
    } catch (const takt::cancelled&) {
      return task_outcome::cancelled;
    }
    return task_outcome::finished;
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
  static void* find(void* storage, const void* type) noexcept {
    return type == &detail::type_key<F> ? std::addressof(target_in<F>(storage)) : nullptr;
  }

  template <class F>
  static constexpr bool hears_of_cancel = requires(F& f) {
    { f.cancelled() } noexcept;
  };

  template <class F>
  static void tell_cancelled(void* storage) noexcept {
    if constexpr (hears_of_cancel<F>) target_in<F>(storage).cancelled();
  }

  template <class F>
  static constexpr bool is_bytes = moves_as_bytes<F> || !held_inside<F>;

  template <class F>
  static constexpr table table_of{
      &run_callable<F>,
      is_bytes<F> ? nullptr : &relocate<F>,
      !held_inside<F> || !std::is_trivially_destructible_v<F> ? &destroy<F> : nullptr,
      &find<F>,
      hears_of_cancel<F> ? &tell_cancelled<F> : nullptr,
      false,
  };

  // Tasks with a state, which they own a reference to.
  static const table with_future;
  static const table without_future;
  static const table with_periods;

  template <class F, class Arg>
  void emplace(Arg&& f) {
    if constexpr (held_inside<F>) {
      ::new (static_cast<void*>(bytes_)) F(std::forward<Arg>(f));
    } else {
      ::new (static_cast<void*>(bytes_)) F*(new F(std::forward<Arg>(f)));
    }
    table_ = &table_of<F>;
  }

  void drop() noexcept {
    if (const table* const held = std::exchange(table_, nullptr)) {
      if (held->destroy != nullptr) held->destroy(bytes_);
    }
  }

  static void move_bytes(task& from, void* to) noexcept {
    if (from.table_ != nullptr && from.table_->relocate != nullptr) {
      from.table_->relocate(from.bytes_, to);
    } else {
      copy_words(from.bytes_, to);
    }
  }

  // Word by word: a callable has often just been written so, and a wider load would have to wait
  // until all of it has left the store buffer.
  static void copy_words(const void* from, void* to) noexcept {
    for (std::size_t i = 0; i < capacity; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(from) + i, sizeof(word));
      asm("" : "+r"(word));  // keeps the compiler from joining them
      std::memcpy(static_cast<std::byte*>(to) + i, &word, sizeof(word));
    }
  }

  // Needs to be empty, and leaves `other` empty.
  void take(task& other) noexcept {
    move_bytes(other, bytes_);
    table_ = std::exchange(other.table_, nullptr);
    about_ = other.about_;
  }

  // First, for the alignment of the class to be theirs.
  union {
    std::byte bytes_[capacity]{};
    detail::future_core* state_;
  };
  const table* table_ = nullptr;  // null: empty
  struct {
    task_name name;
    clock::time_point deadline{};
    std::uint64_t id : 48 = 0;  // enough for ten million a second through ten months
    std::int64_t priority : 16 = 0;
  } about_;
};

static_assert(sizeof(task) == 64, "one cache line");

}  // namespace takt::inline TAKT_ABI
