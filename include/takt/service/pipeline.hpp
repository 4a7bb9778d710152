/// \file
/// Stages of work, connected by bounded queues, each with threads of its own.
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

/// How a pipeline is made.
struct pipeline_options {
  std::string name = "pipeline";  ///< Of its threads.
  const clock* time = &steady;    ///< For waiting. Outlives it, and all of its stages.
  /// For an error that nobody asks for. As above: a stage that destroys it does not wait for them.
  const unhandled_hook* unhandled = &log_unhandled;
};

template <class T>
class pipeline_draft;

/// Stages of work, each of which gets what the one before it makes: a source, any number of stages
/// in between, and a last one. Each has as many threads as it is given, and the queue between two
/// stages is bounded, so that no stage runs away from the next.
///
/// \code
/// takt::pipeline indexing =
///     takt::pipeline::from<fs::path>([&](auto& out) {            // the source: one thread
///           for (const auto& entry : fs::recursive_directory_iterator(root)) {
///             if (entry.is_regular_file()) out.push(entry.path());   // waits if 64 are waiting
///           }
///         })
///         .then([](const fs::path& file) { return read(file); },     // one for each
///               {.name = "read", .threads = 4})
///         .then<word>([](const document& d, auto& out) {             // none, one or many
///           for (const word& w : d.words()) out.push(w);
///         }, {.name = "split"})
///         .into([&](const word& w) { index.add(w); });               // the last stage
///
/// indexing.join();         // all is indexed; or throws: in which stage, at which item, and why
/// \endcode
/// To stop it earlier, from any thread:
/// \code
/// indexing.shutdown();     // at the source: what has been produced goes through to the end
/// if (!indexing.await_termination(5s)) indexing.shutdown_and_cancel();   // or not even that
/// \endcode
///
/// **Life.** It is at work once it is made. It ends by itself when the source has returned on all
/// its threads and all that it produced has gone through, and is shut down from the moment when the
/// source has ended. The end runs down the stages: when the last thread of one has ended, by a
/// return or a throw, the next one gets what is left and then ends; see channel. So the number of
/// threads of each stage is fixed.
///
/// **Items** keep their order if each stage has one thread. With more, threads call the stage's
/// function at the same time. A function is called with an lvalue, which it may move from: the
/// pipeline keeps the item to tell which one failed. It may also take a std::stop_token, which is
/// requested when the pipeline is cancelled; where there is an outlet, `out.stop()` is that token,
/// of a source also after shutdown(). To give up then, throw takt::cancelled: it is no error.
///
/// **Errors.** If a stage throws, the pipeline is cancelled, and the first error is what join()
/// throws and error() tells: as takt::stage_failed, with the stage, the item and the cause. If
/// nobody asks, the unhandled hook is told at the end (unobserved; by default on stderr).
///
/// **Shutdown.** shutdown(): the source is asked to stop; a push of it that waits for room is
/// accepted, a later one throws takt::rejected, which ends the source quietly; all that was
/// produced is processed. shutdown_and_cancel(): all queued items are discarded and counted, all
/// stages are asked to stop, pushes throw takt::rejected; the functions that run are waited for.
/// The destructor does what close(cancel_pending) does, and so discards: call join() or
/// close(drain) before. All of them may be called again, by any thread, and by a stage itself; only
/// waiting for its own end is an error there (resource_deadlock_would_occur). In a child process
/// after fork() the destructor does nothing.
///
/// **Account.** statistics() tells of each stage what became of its items; when the pipeline has
/// terminated, however that came about, each item that a stage accepted is finished, failed, cut
/// off or discarded, and what one stage produced is what the next one accepted.
///
/// The threads are its own: a stage that waits for the next one on a thread of somebody's pool
/// could keep the next one from running there.
///
/// **Thread safety**: all members from any thread, but for the destructor.
class pipeline : public lifecycle_interface<pipeline> {
 public:
  using options = pipeline_options;

  /// Begins one, with a function that makes values of type T: `void(outlet<T>&)`. It is called once
  /// on each of its threads.
  /// \throws std::invalid_argument if `f` is empty, threads 0, time or unhandled null.
  template <class T, class F>
  [[nodiscard]] static pipeline_draft<T> from(F f, const source_options& how = {},
                                              const options& all = {});

  ~pipeline();
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  /// Waits for the end. \throws takt::stage_failed if a stage has failed; std::system_error
  /// (resource_deadlock_would_occur) if called by a stage.
  void join();

  /// No more from the source; what has been produced is processed.
  void shutdown() noexcept;
  /// Discards what is queued, and asks what runs to stop.
  void shutdown_and_cancel() noexcept;

  /// The first error, if a stage has failed.
  [[nodiscard]] std::optional<stage_failed> error() const;

  /// Of each stage, the source first. Exact when it has terminated.
  [[nodiscard]] std::vector<stage_statistics> statistics() const;

  /// For lifecycle_interface.
  [[nodiscard]] const lifecycle& life() const noexcept;
  void throw_if_own_task() const;

 private:
  template <class T>
  friend class pipeline_draft;
  pipeline(detail::stage_list stages, const options& all);
  static void check(const options& all);

  detail::pipeline_core* core_;  // counted: each worker has a reference, too
};

/// A pipeline whose last stage makes values of type T, which nobody takes yet. Each of its members
/// uses it up; see the example of pipeline.
///
/// **Thread safety**: that of a value. **Destruction**: nothing has run yet.
template <class T>
class [[nodiscard]] pipeline_draft {
 public:
  /// Adds a stage. `f` is called with each item, a T&, and
  /// - returns one value for the next stage; it may take a std::stop_token, too; or,
  /// - with Out named, puts as many as it likes into its second parameter, an outlet<Out>&.
  ///
  /// \throws std::invalid_argument if `f` is empty, threads or capacity 0.
  template <class Out = void, class F>
  [[nodiscard]] auto then(F f, const stage_options& how = {}) && {
    if constexpr (std::is_void_v<Out>) {
      static_assert(detail::called_with_item<F, T>,
                    "a stage is called with an lvalue: let it take T& or const T&; or name what it "
                    "makes, then<Out>(f), and let it take an outlet<Out>&, too");
      using made = std::decay_t<detail::item_result<F, T>>;
      static_assert(!std::is_void_v<made>, "a stage has to return what the next one gets");
      refuse_empty(f, how);
      return std::move(*this).template add<made>(
          [call = std::move(f)](T& item, outlet<made>& out) mutable {
            out.push(detail::call_with_item(call, item, out.stop()));
          },
          how);
    } else {
      static_assert(std::invocable<F&, T&, outlet<Out>&>,
                    "a stage is called with an lvalue and its outlet: let it take T& or const T&, "
                    "and an outlet<Out>&");
      refuse_empty(f, how);
      return std::move(*this).template add<Out>(std::move(f), how);
    }
  }

  /// Adds the last stage, whose `f` is called with each item, a T&, and starts the threads. What it
  /// returns is ignored.
  /// \throws std::invalid_argument as above; takt::rejected (no_thread) if the system does not
  /// give as many threads.
  template <class F>
  [[nodiscard]] pipeline into(F f, const stage_options& how = {}) && {
    static_assert(detail::called_with_item<F, T>,
                  "a stage is called with an lvalue: let it take T& or const T&");
    refuse_empty(f, how);
    add_stage<void>(std::move(f), how);
    return {std::move(stages_), all_};
  }

 private:
  friend class pipeline;
  template <class U>
  friend class pipeline_draft;

  pipeline_draft(detail::stage_list stages, detail::producing_stage<T>& last, pipeline_options all)
      : stages_(std::move(stages)), last_(&last), all_(std::move(all)) {}

  std::string name_of(const stage_options& how) const {
    return how.name.empty() ? "stage " + std::to_string(stages_.size()) : how.name;
  }

  template <class F>
  void refuse_empty(const F& f, const stage_options& how) const {
    if (detail::is_empty_callable(f))
      detail::pipeline_stage::refuse(name_of(how), "the function is empty");
  }

  template <class Out, class F>
  detail::producing_stage<Out>& add_stage(F f, const stage_options& how) {
    auto next = std::make_unique<detail::item_stage<T, Out, F>>(std::move(f), how, name_of(how),
                                                                *all_.time);
    detail::producing_stage<Out>& added = *next;
    last_->connect(next->queue());
    stages_.push_back(std::move(next));
    return added;
  }

  template <class Out, class F>
  pipeline_draft<Out> add(F f, const stage_options& how) && {
    detail::producing_stage<Out>& added = add_stage<Out>(std::move(f), how);
    return pipeline_draft<Out>(std::move(stages_), added, all_);
  }

  detail::stage_list stages_;
  detail::producing_stage<T>* last_;
  pipeline_options all_;
};

template <class T, class F>
pipeline_draft<T> pipeline::from(F f, const source_options& how, const options& all) {
  static_assert(std::invocable<F&, outlet<T>&>, "a source is called with an outlet<T>&");
  if (detail::is_empty_callable(f))
    detail::pipeline_stage::refuse(how.name, "the function is empty");
  check(all);
  auto first = std::make_unique<detail::source_stage<T, F>>(std::move(f), how);
  detail::producing_stage<T>& added = *first;
  detail::stage_list stages;
  stages.push_back(std::move(first));
  return pipeline_draft<T>(std::move(stages), added, all);
}

}  // namespace takt::inline TAKT_ABI
