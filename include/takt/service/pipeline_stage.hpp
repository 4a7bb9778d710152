/// \file
/// The stages of a pipeline: what their functions are given, and what is known of them.
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

/// How the first stage of a pipeline is made.
struct source_options {
  std::string name = "source";  ///< For statistics and errors.
  std::size_t threads = 1;      ///< Each of which calls the function once; at least 1.
};

/// How another stage of a pipeline is made.
struct stage_options {
  std::string name{};         ///< For statistics and errors; empty: "stage 1" and so on.
  std::size_t threads = 1;    ///< At least 1.
  std::size_t capacity = 64;  ///< How many items wait for it at most; at least 1.
};

/// What became of the items of a stage. Plain values.
struct stage_statistics {
  std::string name;
  std::size_t threads = 0;
  std::uint64_t accepted = 0;  ///< Items that came in; of a source none.
  std::uint64_t finished = 0;  ///< Its function has returned.
  std::uint64_t failed = 0;    ///< Its function has thrown.
  /// Its function gave up, or could not pass on what it made, as all was stopped.
  std::uint64_t cut_off = 0;
  std::uint64_t discarded = 0;  ///< Its function was not called, as all was stopped.
  std::uint64_t produced = 0;   ///< What it has passed on to the next stage; of the last one none.

  /// Accepted, and without an end yet.
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return accepted - finished - failed - cut_off - discarded;
  }
};

/// Thrown by pipeline::join(): a stage has thrown.
///
/// \code
/// try {
///   indexing.join();
/// } catch (const takt::stage_failed& e) {
///   report(e.what());   // "takt::pipeline: stage 'read' has failed: ..."; but for the cause if
///                       // there was no memory for its text
///   if (const fs::path* file = e.item<fs::path>()) retry(*file);
/// }
/// \endcode
///
/// **Thread safety**: that of a std::exception; copies share what they tell.
class stage_failed : public std::exception {
 public:
  /// For the pipeline: it is made while there is memory, and told of the failure later, if there is
  /// one.
  explicit stage_failed(const std::string& stage);
  void tell(std::string&& text, const std::exception_ptr& cause, std::shared_ptr<const void> item,
            const std::type_info& type) noexcept;

  [[nodiscard]] const char* what() const noexcept override;
  [[nodiscard]] const std::string& stage() const noexcept;
  /// What the stage has thrown.
  [[nodiscard]] const std::exception_ptr& cause() const noexcept;
  /// The item at which it did, as the function has left it; null if it is not a T, the stage is a
  /// source, or there was no memory to keep it.
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

/// Where the function of a stage puts what it makes, for the next stage. One for each thread.
/// pipeline has an example.
///
/// **Thread safety**: all members from any thread while the function runs. **Destruction**: the
/// pipeline's; it tells the next stage that this thread is done.
template <class T>
class outlet {
 public:
  /// Passes on a value; waits while the next stage has as many as it can take.
  /// \throws takt::rejected (shut_down) if no more is wanted: let it pass, and the stage ends
  /// quietly. The value is gone then.
  void push(T value) {
    if (to_.push_until(clock::time_point::max(), value) == push_result::accepted) return;
    refused_.store(true, std::memory_order_relaxed);  // relaxed: for who throws it
    throw rejected(rejection::shut_down);
  }

  /// Requested when the pipeline is cancelled; of a source also when it is shut down.
  [[nodiscard]] const sync::stop_token& stop() const noexcept { return stop_; }
  /// Which of the threads of its stage this is, from 0.
  [[nodiscard]] std::size_t thread() const noexcept { return thread_; }

  /// For the stages. Once refused, always refused: the next stage takes no more.
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
