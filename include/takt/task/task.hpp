/// \file
/// The unit of work that executors queue and run.
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

/// Name of a task in traces and lists: a string literal, so that no object owns the text. A string
/// that is not a constant expression does not compile.
class task_name {
 public:
  constexpr task_name() noexcept = default;
  consteval task_name(const char* literal)  // NOLINT(google-explicit-constructor): a literal
      : text_(literal) {}
  [[nodiscard]] constexpr std::string_view view() const noexcept { return text_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return *text_ == '\0'; }

 private:
  const char* text_ = "";
};

/// Options of a task.
struct task_options {
  task_name name{};
  /// Priority in a thread_pool with queue_order::priority, where larger values run first. All other
  /// executors ignore it.
  std::int16_t priority = 0;
};

/// True if an F can be moved by copying its bytes and not destroying the source. Specialize it for
/// a type that has a destructor and can be moved so: tasks that hold an F move faster.
template <class F>
inline constexpr bool moves_as_bytes = std::is_trivially_copyable_v<F>;

/// The unit of work of executors: a callable, with or without a future for its result, and a name.
///
/// \code
/// class my_executor {
///  public:
///   void execute(takt::task t) {
///     my_loop.post([t = std::move(t)]() mutable { t.run(); });
///   }
/// };
///
/// pool.execute([] { step(); });                           // converts the callable to a task
/// for (takt::task& t : pool.shutdown_now()) t.run();      // queued tasks; completes their futures
/// \endcode
///
/// **Outcome.** Each task ends once, and its future gets the result: that of run(), takt::cancelled
/// by cancel(), takt::rejected by reject(), takt::broken_promise if the task is dropped.
///
/// **Cancellation.** The callable takes a `std::stop_token` or nothing. Executors request stop in
/// shutdown_now() and shutdown_and_cancel(). If the task has no future and its callable takes no
/// token, cancel() calls the callable's member `void cancelled() noexcept`, if it has one.
///
/// **Cost.** 64 bytes, one cache line. A callable of up to 32 bytes that takes no token and moves
/// without throwing is stored inside; others are allocated.
///
/// **Thread safety.** As for an int. **Destruction** drops the task.
class alignas(std::max_align_t) task {
  static constexpr std::size_t capacity = 32;

 public:
  /// True if a callable of this type, without a token, is stored inside without an allocation.
  template <class F>
  static constexpr bool held_inside =
      sizeof(F) <= capacity && alignof(F) <= alignof(std::max_align_t) &&
      std::is_nothrow_move_constructible_v<F>;

  /// Constructs an empty task.
  task() noexcept = default;

  /// Holds `f`, decayed. \throws std::invalid_argument if `f` is null or empty; std::bad_alloc.
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, task> &&
             (detail::takes_stop_token<std::decay_t<F>> || detail::callable_once<std::decay_t<F>>))
  task(F&& f, const task_options& options = {})  // NOLINT(google-explicit-constructor)
      : task(options) {
    using call = std::decay_t<F>;
    detail::require_callable(f, "takt::task: the callable is empty");
    if constexpr (detail::takes_stop_token<call>) {
      state_ = new detail::task_state<void, call>({}, std::forward<F>(f));
      table_ = &without_future;
    } else {
      emplace<call>(std::forward<F>(f));
    }
  }

  /// Holds a future_task.
  template <class T>
  // NOLINTNEXTLINE(google-explicit-constructor): like a callable
  task(future_task<T>&& f, const task_options& options = {}) : task(options) {
    state_ = f.release().detach();
    table_ = &with_future;
  }

  /// Holds the shared state of a future. If the task is periodic, run() keeps it and returns
  /// `again` until the callable throws or the task is cancelled: for executors that schedule runs.
  task(detail::intrusive_ptr<detail::future_core> state, const task_options& options,
       bool periodic) noexcept
      : task(options) {
    state_ = state.detach();
    table_ = periodic ? &with_periods : &with_future;
  }
  /// Returns true if run() keeps the task for another run.
  [[nodiscard]] bool is_periodic() const noexcept { return table_ == &with_periods; }
  /// Makes the next run the last one, which makes the future ready.
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
  ~task() { drop(); }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): reference-counted

  /// Returns true if the task is not empty.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  /// Calls the callable, as an rvalue if it can be called so. Only a periodic task can be run
  /// again. Requires a task that is not empty.
  /// \throws what the callable throws, if the task has no future, except takt::cancelled: run()
  /// then returns task_outcome::cancelled.
  task_outcome run() {
    TAKT_ASSERT(table_ != nullptr);
    return table_->run(*this);
  }

  /// Cancels the task and its future, if any. If the task has no future and its callable takes no
  /// token, this calls the callable's member cancelled(), if it has one. The task is empty
  /// afterwards.
  void cancel() noexcept {
    if (detail::future_core* core = state()) {
      core->cancel();
    } else if (table_ != nullptr && table_->cancelled != nullptr) {
      table_->cancelled(bytes_);
    }
    drop();
  }

  /// Rejects the task: its future fails with takt::rejected. The task is empty afterwards.
  void reject(rejection reason) noexcept {
    if (detail::future_core* core = state()) core->reject(reason);
    drop();
  }

  /// Returns true if the task's future was cancelled: run() would do nothing.
  [[nodiscard]] bool is_cancelled() const noexcept {
    const detail::future_core* core = state();
    return core != nullptr && core->is_cancelled();
  }

  /// Returns the callable if its type is F and it has not been destroyed, otherwise nullptr.
  template <class F>
  [[nodiscard]] F* target() noexcept {
    return table_ == nullptr ? nullptr
                             : static_cast<F*>(table_->target(bytes_, &detail::type_key<F>));
  }

  [[nodiscard]] std::string_view name() const noexcept { return about_.name.view(); }
  [[nodiscard]] std::int16_t priority() const noexcept {
    return static_cast<std::int16_t>(about_.priority);
  }
  /// Number assigned by the executor that accepted the task; unique among its tasks.
  [[nodiscard]] std::uint64_t id() const noexcept { return about_.id; }
  /// Due time on the clock of the executor that accepted the task, if the executor records it.
  [[nodiscard]] clock::time_point deadline() const noexcept { return about_.deadline; }

  /// For executors: set the values of id(), deadline() and name().
  void set_id(std::uint64_t id) noexcept { about_.id = id & ((std::uint64_t{1} << 48) - 1); }
  void set_deadline(clock::time_point deadline) noexcept { about_.deadline = deadline; }
  void set_name(task_name name) noexcept { about_.name = name; }
  /// Returns the name as a task_name, for set_name() of another task.
  [[nodiscard]] task_name literal_name() const noexcept { return about_.name; }
  /// For executors: copies name, priority, id and deadline.
  void describe_as(const task& other) noexcept { about_ = other.about_; }
  /// Returns true if the task has a future.
  [[nodiscard]] bool has_future() const noexcept { return table_ == &with_future || is_periodic(); }
  /// For schedulers that store many tasks: moves the callable or the state into `storage`, which
  /// has the size and alignment of a callable that is stored inside. Name, priority, id and
  /// deadline stay behind. \return the value that unpack() needs to rebuild the task.
  [[nodiscard]] const void* pack(void* storage) noexcept {
    move_bytes(*this, storage);
    return std::exchange(table_, nullptr);
  }
  /// Rebuilds the task from `storage` and the result of pack().
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
  /// Returns true if cancelling or dropping the task, or a packed one, does nothing: no destructor
  /// and no cancelled() to call. Requires a task that is not empty.
  [[nodiscard]] bool is_plain() const noexcept { return is_plain(table_); }
  [[nodiscard]] static bool is_plain(const void* packed) noexcept {
    const auto* const held = static_cast<const table*>(packed);
    return held->destroy == nullptr && held->cancelled == nullptr;
  }
  /// For executors: the state shared with the future or the stop token; null if the task has
  /// neither. It stays valid until the task is dropped or moved, also after a run.
  [[nodiscard]] detail::future_core* state() const noexcept {
    return table_ != nullptr && table_->has_state ? state_ : nullptr;
  }

 private:
  struct table {
    task_outcome (*run)(task& self);
    void (*relocate)(void* from, void* to) noexcept;  // null: copy the bytes
    void (*destroy)(void* storage) noexcept;          // null: nothing to do
    void* (*target)(void* storage, const void* type) noexcept;
    void (*cancelled)(void* storage) noexcept;  // null: has no member cancelled()
    bool has_state;
  };

  explicit task(const task_options& options) noexcept
      : about_{.name = options.name, .priority = options.priority} {}

  // For a callable that is not stored inside, `storage` holds a pointer to it.
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

  // For tasks that own a reference to a state.
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

  // Word by word: a callable has often just been written in words. A wider load cannot be forwarded
  // from several stores and would wait until all of them have left the store buffer.
  static void copy_words(const void* from, void* to) noexcept {
    for (std::size_t i = 0; i < capacity; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(from) + i, sizeof(word));
      asm("" : "+r"(word));  // keeps the compiler from merging the words
      std::memcpy(static_cast<std::byte*>(to) + i, &word, sizeof(word));
    }
  }

  // Requires an empty task; leaves `other` empty.
  void take(task& other) noexcept {
    move_bytes(other, bytes_);
    table_ = std::exchange(other.table_, nullptr);
    about_ = other.about_;
  }

  // First member: the class has the alignment of the callable.
  union {
    std::byte bytes_[capacity]{};
    detail::future_core* state_;
  };
  const table* table_ = nullptr;  // null: empty
  struct {
    task_name name;
    clock::time_point deadline{};
    std::uint64_t id : 48 = 0;  // wraps after ten months at ten million tasks per second
    std::int64_t priority : 16 = 0;
  } about_;
};

static_assert(sizeof(task) == 64, "one cache line");

}  // namespace takt::inline TAKT_ABI
