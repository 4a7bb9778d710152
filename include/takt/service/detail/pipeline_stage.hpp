/// \file
/// The type-erased stages of a pipeline and their implementations.
#pragma once

#include <concepts>
#include <cstddef>
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
#include <takt/clock/clock.hpp>
#include <takt/observe/counter.hpp>
#include <takt/service/channel.hpp>
#include <takt/service/pipeline_stage.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The signatures of a stage's function: it takes an item and, optionally, a stop token.
template <class F, class T>
inline constexpr bool takes_item_and_token = std::invocable<F&, T&, const sync::stop_token&>;
template <class F, class T>
concept called_with_item = std::invocable<F&, T&> || takes_item_and_token<F, T>;

/// Calls the function of a stage, with the token if it takes one, as for tasks.
template <class F, class T>
decltype(auto) call_with_item(F& f, T& item, const sync::stop_token& stop) {
  if constexpr (takes_item_and_token<F, T>) {
    return std::invoke(f, item, stop);
  } else {
    return std::invoke(f, item);
  }
}
template <class F, class T>
using item_result = decltype(call_with_item(std::declval<F&>(), std::declval<T&>(),
                                            std::declval<const sync::stop_token&>()));

/// The interface of a pipeline that its stages use.
class pipeline_control {
 public:
  /// The tokens of the source and of all other stages.
  [[nodiscard]] virtual sync::stop_token stop_of_source() const noexcept = 0;
  [[nodiscard]] virtual sync::stop_token stop_of_all() const noexcept = 0;
  /// Called by each thread of the source as its last act.
  virtual void source_ended() noexcept = 0;
  /// Called when a stage has thrown. Fills in `failure` if it is the first error.
  virtual void failed(stage_failed& failure, const std::exception_ptr& cause,
                      std::shared_ptr<const void> item, const std::type_info& type) noexcept = 0;

 protected:
  pipeline_control() = default;
  pipeline_control(const pipeline_control&) = default;
  pipeline_control& operator=(const pipeline_control&) = default;
  ~pipeline_control() = default;
};

/// A stage without its types, as pipeline_core sees it. For pipeline only.
class pipeline_stage {
 public:
  virtual ~pipeline_stage() = default;
  pipeline_stage(const pipeline_stage&) = delete;
  pipeline_stage& operator=(const pipeline_stage&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t threads() const noexcept { return threads_; }
  [[nodiscard]] stage_statistics statistics();  ///< Without `produced`.

  /// Makes the handles of its threads. Called for all stages before any thread runs.
  virtual void prepare(pipeline_control& of) = 0;
  /// The body of a thread, called once for each index. Ends the handles of that thread.
  virtual void run(std::size_t thread) noexcept = 0;
  /// Totals of the queue in front of the stage; empty for a source.
  [[nodiscard]] virtual std::optional<channel_statistics> queue_statistics() const { return {}; }
  /// Closes that queue.
  virtual void close_queue() noexcept {}
  /// Aborts that queue: discards its items and releases all waiting threads.
  virtual void abort() noexcept {}

  /// Always throws std::invalid_argument, with the name of the stage.
  [[noreturn]] static void refuse(const std::string& stage, const std::string& why);

 protected:
  /// \throws std::invalid_argument, with the name, if threads is 0.
  pipeline_stage(std::string name, std::size_t threads);
  /// \return the capacity. \throws std::invalid_argument, with the name, if it is 0.
  static std::size_t checked_capacity(const std::string& name, std::size_t capacity);

  /// Reports the exception being handled. `item` is the item of the failed call, or null.
  template <class T>
  void report(T* item) noexcept {
    const std::exception_ptr cause = std::current_exception();
    std::shared_ptr<const void> kept;
    try {
      if (item != nullptr) kept = std::make_shared<T>(std::move(*item));
    } catch (...) {  // report the error without the item
    }
    report(cause, std::move(kept), typeid(T));
  }

  pipeline_control* of_ = nullptr;  // constant after prepare()

  counter finished_;
  counter cut_off_;

 private:
  void report(const std::exception_ptr& cause, std::shared_ptr<const void> item,
              const std::type_info& type) noexcept;

  // Constant after construction.
  const std::string name_;
  const std::size_t threads_;
  stage_failed failure_;  // its contents: see pipeline_control::failed()

  counter failed_;
};

using stage_list = std::vector<std::unique_ptr<pipeline_stage>>;

/// A stage that produces values of type Out, or no values if Out is void.
template <class Out>
class producing_stage : public pipeline_stage {
 public:
  /// Sets the channel in front of the next stage.
  void connect(channel<Out>& next) noexcept { next_ = &next; }

 protected:
  using pipeline_stage::pipeline_stage;

  void make_outlets(const sync::stop_token& stop) {
    for (std::size_t i = 0; i < threads(); ++i) {
      outlets_.push_back(std::make_unique<outlet<Out>>(next_->make_producer(), stop, i));
    }
  }
  [[nodiscard]] outlet<Out>& outlet_of(std::size_t thread) noexcept { return *outlets_[thread]; }

 private:
  channel<Out>* next_ = nullptr;                       // constant after connect()
  std::vector<std::unique_ptr<outlet<Out>>> outlets_;  // constant after prepare()
};
template <>
class producing_stage<void> : public pipeline_stage {
 protected:
  using pipeline_stage::pipeline_stage;
};

/// True if the exception being handled answers a stop: takt::cancelled after stop was requested or
/// a push was refused, or takt::rejected after a push was refused.
[[nodiscard]] bool ended_by_stop(const sync::stop_token& stop, bool refused) noexcept;

/// The first stage.
template <class Out, class F>
class source_stage final : public producing_stage<Out> {
 public:
  source_stage(F f, const source_options& options)
      : producing_stage<Out>(options.name, options.threads), call_(std::move(f)) {}

  void prepare(pipeline_control& of) override {
    this->of_ = &of;
    this->make_outlets(of.stop_of_source());
  }
  void run(std::size_t thread) noexcept override {
    outlet<Out>& out = this->outlet_of(thread);
    try {
      std::invoke(call_, out);
    } catch (...) {
      if (!ended_by_stop(out.stop(), out.was_refused())) this->report(static_cast<Out*>(nullptr));
    }
    out.end();
    this->of_->source_ended();
  }

 private:
  F call_;
};

/// Any stage but the first. Out is void for the last stage.
template <class In, class Out, class F>
class item_stage final : public producing_stage<Out> {
 public:
  item_stage(F f, const stage_options& options, std::string name, const clock& time)
      : producing_stage<Out>(std::move(name), options.threads),
        call_(std::move(f)),
        queue_({.capacity = pipeline_stage::checked_capacity(this->name(), options.capacity),
                .time = &time}) {}

  [[nodiscard]] channel<In>& queue() noexcept { return queue_; }
  [[nodiscard]] std::optional<channel_statistics> queue_statistics() const override {
    return queue_.statistics();
  }
  void close_queue() noexcept override { queue_.close(); }
  void abort() noexcept override { queue_.abort(); }

  void prepare(pipeline_control& of) override {
    this->of_ = &of;
    stop_ = of.stop_of_all();
    for (std::size_t i = 0; i < this->threads(); ++i) handles_.push_back(queue_.make_consumer());
    if constexpr (!std::is_void_v<Out>) this->make_outlets(stop_);
  }
  void run(std::size_t thread) noexcept override {
    auto& in = handles_[thread];
    try {
      while (std::optional<In> item = in.pop()) {
        if (!process(*item, thread)) break;
      }
    } catch (...) {  // the move of an item has thrown
      this->report(static_cast<In*>(nullptr));
    }
    if constexpr (!std::is_void_v<Out>) this->outlet_of(thread).end();
    in.end();
  }

 private:
  bool process(In& item, std::size_t thread) noexcept {
    try {
      if constexpr (std::is_void_v<Out>) {
        static_cast<void>(thread);
        static_cast<void>(call_with_item(call_, item, stop_));
      } else {
        std::invoke(call_, item, this->outlet_of(thread));
      }
      this->finished_.add();
      return true;
    } catch (...) {
      bool refused = false;
      if constexpr (!std::is_void_v<Out>) refused = this->outlet_of(thread).was_refused();
      if (ended_by_stop(stop_, refused)) {
        this->cut_off_.add();
      } else {
        this->report(&item);
      }
      return false;
    }
  }

  F call_;
  channel<In> queue_;
  std::vector<typename channel<In>::consumer>
      handles_;            // constant after prepare(): one for each thread
  sync::stop_token stop_;  // constant after prepare()
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
