/// \file
/// Pipelines: stages with threads of their own, connected by bounded channels.
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
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/require_callable.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/clock/clock.hpp>
#include <takt/exec/lifecycle.hpp>
#include <takt/service/detail/pipeline_stage.hpp>
#include <takt/service/pipeline_stage.hpp>
#include <takt/task/unhandled.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {
class pipeline_core;
}  // namespace detail

/// Options of a pipeline.
struct pipeline_options {
  std::string name = "pipeline";  ///< Name of the pipeline's threads.
  const clock* time = &steady;    ///< Clock for deadlines. Must outlive all stages.
  /// Receives an error that neither join() nor error() has reported. Must outlive all stages. If a
  /// stage calls the destructor, the stages end after the destructor has returned.
  const unhandled_hook* unhandled = &log_unhandled;
};

template <class T>
class pipeline_draft;

/// Stages of work with threads of their own: a source, any number of item stages, and a last stage.
/// Bounded channels connect the stages; a full channel blocks the stage in front of it.
///
/// \code
/// takt::pipeline indexing =
///     takt::pipeline::from<fs::path>([&](auto& out) { list_files(root, out); })
///         .then([](const fs::path& file) { return read(file); }, {.name = "read", .threads = 4})
///         .then<word>([](const document& d, auto& out) { split(d, out); }, {.name = "split"})
///         .into([&](const word& w) { index.add(w); });
/// indexing.join();      // all is indexed; throws stage_failed: stage, item and cause
/// \endcode
///
/// **Order.** Items keep their order if every stage has one thread.
///
/// **Errors.** The first exception of a stage cancels the pipeline. join() throws and error()
/// returns it as stage_failed; if neither has reported it, the unhandled hook receives it
/// (unobserved).
///
/// **Shutdown.** A pipeline ends when the source has returned and all items are processed.
/// shutdown() requests stop of the source only. shutdown_and_cancel() and the destructor discard
/// queued items and request stop of all stages: call join() or close(drain) first. In a child
/// process after fork() the destructor does nothing. See docs/services.md.
///
/// **Thread safety.** All members may be called from any thread, except the destructor. A stage may
/// end or destroy its own pipeline, but not wait for its end.
class pipeline : public lifecycle_interface<pipeline> {
 public:
  using options_type = pipeline_options;

  /// Begins a pipeline whose source calls `f`, a `void(outlet<T>&)`, once on each of its threads.
  /// The options `all` are those of the whole pipeline.
  /// \throws std::invalid_argument if `f` is empty, threads is 0, or time or unhandled is null.
  template <class T, class F>
  [[nodiscard]] static pipeline_draft<T> from(F f, const source_options& options = {},
                                              const options_type& all = {});

  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  /// Waits until all stages have ended. \throws takt::stage_failed if a stage has failed;
  /// std::system_error (resource_deadlock_would_occur) if called by a stage.
  void join();

  /// Requests stop of the source. All items that the source has produced are processed.
  void shutdown() noexcept;
  /// Discards queued items and requests stop of all stages.
  void shutdown_and_cancel() noexcept;

  /// Returns the first error, which the hook then does not receive; empty if no stage has failed.
  [[nodiscard]] std::optional<stage_failed> error() const;

  /// Returns the totals of each stage, the source first. They are exact once the pipeline is
  /// terminated.
  [[nodiscard]] std::vector<stage_statistics> statistics() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  template <class T>
  friend class pipeline_draft;
  pipeline(detail::stage_list stages, const options_type& all);
  static void check(const options_type& all);

  detail::pipeline_core* core_;  // reference-counted: each worker has a reference, too
};

/// A pipeline under construction, whose last stage produces values of type T. Each member consumes
/// the draft; nothing runs before into(). See pipeline for an example.
///
/// **Thread safety.** One thread at a time may use a draft.
template <class T>
class [[nodiscard]] pipeline_draft {
 public:
  /// Adds a stage that calls `f` for each item, as a T&.
  /// - Without Out, `f` returns one value for the next stage, and may take a std::stop_token, too.
  /// - With Out, `f` pushes any number of values into its second parameter, an outlet<Out>&.
  ///
  /// \throws std::invalid_argument if `f` is empty, or threads or capacity is 0.
  template <class Out = void, class F>
  [[nodiscard]] auto then(F f, const stage_options& options = {}) && {
    if constexpr (std::is_void_v<Out>) {
      static_assert(detail::called_with_item<F, T>,
                    "a stage is called with an lvalue: let it take T& or const T&; or name what it "
                    "makes, then<Out>(f), and let it take an outlet<Out>&, too");
      using made = std::decay_t<detail::item_result<F, T>>;
      static_assert(!std::is_void_v<made>, "a stage has to return what the next one gets");
      refuse_empty(f, options);
      return std::move(*this).template add<made>(
          [call = std::move(f)](T& item, outlet<made>& out) mutable {
            out.push(detail::call_with_item(call, item, out.stop()));
          },
          options);
    } else {
      static_assert(std::invocable<F&, T&, outlet<Out>&>,
                    "a stage is called with an lvalue and its outlet: let it take T& or const T&, "
                    "and an outlet<Out>&");
      refuse_empty(f, options);
      return std::move(*this).template add<Out>(std::move(f), options);
    }
  }

  /// Adds the last stage, which calls `f` for each item, as a T&, and ignores its result; then
  /// starts all threads.
  /// \throws std::invalid_argument as above; takt::rejected (no_thread) if the system cannot start
  /// all threads.
  template <class F>
  [[nodiscard]] pipeline into(F f, const stage_options& options = {}) && {
    static_assert(detail::called_with_item<F, T>,
                  "a stage is called with an lvalue: let it take T& or const T&");
    refuse_empty(f, options);
    add_stage<void>(std::move(f), options);
    return {std::move(stages_), all_};
  }

 private:
  friend class pipeline;
  template <class U>
  friend class pipeline_draft;

  pipeline_draft(detail::stage_list stages, detail::producing_stage<T>& last, pipeline_options all)
      : stages_(std::move(stages)), last_(&last), all_(std::move(all)) {}

  std::string name_of(const stage_options& options) const {
    return options.name.empty() ? "stage " + std::to_string(stages_.size()) : options.name;
  }

  template <class F>
  void refuse_empty(const F& f, const stage_options& options) const {
    if (detail::is_empty_callable(f))
      detail::pipeline_stage::refuse(name_of(options), "the function is empty");
  }

  template <class Out, class F>
  detail::producing_stage<Out>& add_stage(F f, const stage_options& options) {
    auto next = std::make_unique<detail::item_stage<T, Out, F>>(std::move(f), options,
                                                                name_of(options), *all_.time);
    detail::producing_stage<Out>& added = *next;
    last_->connect(next->queue());
    stages_.push_back(std::move(next));
    return added;
  }

  template <class Out, class F>
  pipeline_draft<Out> add(F f, const stage_options& options) && {
    detail::producing_stage<Out>& added = add_stage<Out>(std::move(f), options);
    return pipeline_draft<Out>(std::move(stages_), added, all_);
  }

  detail::stage_list stages_;
  detail::producing_stage<T>* last_;
  pipeline_options all_;
};

template <class T, class F>
pipeline_draft<T> pipeline::from(F f, const source_options& options, const options_type& all) {
  static_assert(std::invocable<F&, outlet<T>&>, "a source is called with an outlet<T>&");
  if (detail::is_empty_callable(f))
    detail::pipeline_stage::refuse(options.name, "the function is empty");
  check(all);
  auto first = std::make_unique<detail::source_stage<T, F>>(std::move(f), options);
  detail::producing_stage<T>& added = *first;
  detail::stage_list stages;
  stages.push_back(std::move(first));
  return pipeline_draft<T>(std::move(stages), added, all);
}

}  // namespace takt::inline TAKT_ABI
