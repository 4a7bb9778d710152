/// \file
/// Options, statistics, errors and outlets of the stages of a pipeline.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/base/move_only_function.hpp>
#include <takt/clock/clock.hpp>
#include <takt/observe/counter.hpp>
#include <takt/service/channel.hpp>
#include <takt/task/errors.hpp>

namespace takt::inline TAKT_ABI {

/// Options of the source of a pipeline.
struct source_options {
  std::string name = "source";  ///< Name in statistics and errors.
  std::size_t threads = 1;      ///< Number of threads, at least 1. Each calls the function once.
};

/// Options of any other stage of a pipeline.
struct stage_options {
  std::string name{};         ///< Name in statistics and errors. Empty: "stage 1" and so on.
  std::size_t threads = 1;    ///< Number of threads; at least 1.
  std::size_t capacity = 64;  ///< Maximum number of queued items; at least 1.
};

/// Totals of a stage.
struct stage_statistics {
  std::string name;
  std::size_t threads = 0;
  std::uint64_t accepted = 0;  ///< Items queued for the stage; 0 for a source.
  std::uint64_t finished = 0;  ///< Items for which the function returned.
  std::uint64_t failed = 0;    ///< Items for which the function threw; 0 for a source.
  /// Items that the function did not finish because of a stop: it threw takt::cancelled, or its
  /// push was refused.
  std::uint64_t cut_off = 0;
  std::uint64_t discarded = 0;  ///< Items for which the function was not called.
  std::uint64_t produced = 0;   ///< Items accepted by the next stage; 0 for the last stage.

  /// Accepted items without an outcome yet.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return accepted - finished - failed - cut_off - discarded;
  }
};

/// Thrown by pipeline::join() if a stage has thrown.
///
/// \code
/// try {
///   indexing.join();
/// } catch (const takt::stage_failed& e) {
///   report(e.what());   // "takt::pipeline: stage 'read' has failed: ..."
///   if (const fs::path* file = e.item<fs::path>()) retry(*file);
/// }
/// \endcode
///
/// what() does not include the cause if there was no memory for its text.
///
/// **Thread safety.** As for any exception. Copies share their contents.
class stage_failed : public std::exception {
 public:
  /// For the pipeline, which makes the exception in advance and fills it in with tell(), so that
  /// reporting a failure needs no memory.
  explicit stage_failed(const std::string& stage);
  void tell(std::string&& text, const std::exception_ptr& cause, std::shared_ptr<const void> item,
            const std::type_info& type) noexcept;

  [[nodiscard]] const char* what() const noexcept override;
  /// Returns the name of the stage.
  [[nodiscard]] const std::string& stage() const noexcept;
  /// Returns the exception of the stage.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept;
  /// Returns the item of the failed call, as the function left it. Null if the item is not a T, the
  /// stage is a source, or there was no memory to keep the item. The exception and its copies own
  /// it.
  template <class T>
  [[nodiscard]] const T* item() const noexcept {
    return item_type() == typeid(T) ? static_cast<const T*>(item_address()) : nullptr;
  }

 private:
  [[nodiscard]] const std::type_info& item_type() const noexcept;
  [[nodiscard]] const void* item_address() const noexcept;

  struct details;
  std::shared_ptr<details> told_;
};

/// Passes the values of one thread of a stage to the next stage. See pipeline for an example. The
/// pipeline owns the outlet.
///
/// **Thread safety.** All members may be called from any thread while the function runs.
template <class T>
class outlet {
 public:
  /// Passes a value to the next stage; waits while the queue of that stage is full.
  /// \throws takt::rejected (shut_down) if the next stage accepts no more values; the value is
  /// destroyed. Let this exception leave the function: the pipeline does not count it as an error.
  /// Also std::bad_alloc.
  void push(T value) {
    if (to_.push_until(clock::time_point::max(), value) == push_result::accepted) return;
    refused_.store(true, std::memory_order_relaxed);  // relaxed: for the thread that throws
    throw rejected(rejection::shut_down);
  }

  /// Returns the token on which stop is requested when the pipeline is cancelled; for a source,
  /// also when the pipeline is shut down.
  [[nodiscard]] const sync::stop_token& stop() const noexcept { return stop_; }
  /// Returns the index of this thread in its stage, from 0.
  [[nodiscard]] std::size_t thread() const noexcept { return thread_; }

  /// For the stages, as the two members below. Once push() was refused, it is always refused.
  outlet(typename channel<T>::producer to, sync::stop_token stop, std::size_t thread)
      : to_(std::move(to)), stop_(std::move(stop)), thread_(thread) {}
  [[nodiscard]] bool was_refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);  // relaxed: as above
  }
  void end() noexcept { to_.end(); }

 private:
  // Constant after construction, until end().
  typename channel<T>::producer to_;
  const sync::stop_token stop_;
  const std::size_t thread_;

  // Atomic. Written by push().
  sync::atomic<bool> refused_{false};
};

}  // namespace takt::inline TAKT_ABI
