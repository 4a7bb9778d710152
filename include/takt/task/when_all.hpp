/// \file
/// Combines futures: one that is ready when all or any of them are.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <takt/base/config.hpp>
#include <takt/base/detail/sync.hpp>
#include <takt/task/detail/future_state.hpp>
#include <takt/task/detail/when_state.hpp>
#include <takt/task/future.hpp>

namespace takt::inline TAKT_ABI {

/// The result of when_any().
template <class Futures>
struct when_any_result {
  std::size_t index = 0;  ///< Index of the future that was ready first.
  Futures futures;        ///< All futures, in the order of the arguments.
};

/// Returns a future that becomes ready when all `futures` are ready. Its value is these futures, in
/// order, with their values and errors. With no futures the result is ready at once.
///
/// \code
/// auto both = takt::when_all(std::move(a), std::move(b));
/// auto [x, y] = both.get();
/// use(x.get(), y.get());
/// \endcode
///
/// The returned future has the clock and the hook of the first of `futures`. Cancelling the
/// returned future cancels none of `futures`. If its value is never retrieved, `futures` are
/// destroyed with it, and their errors are unobserved.
/// \throws std::future_error (no_state) if one of `futures` is empty; std::bad_alloc. If it throws,
/// `futures` are destroyed.
template <class T>
[[nodiscard]] future<std::vector<future<T>>> when_all(std::vector<future<T>> futures) {
  for (const future<T>& f : futures) static_cast<void>(f.state());
  const std::size_t count = futures.size();
  using all = std::vector<future<T>>;
  return detail::start_when<detail::when_all_state<all>, all>(std::move(futures), count);
}
template <class... T>
[[nodiscard]] future<std::tuple<future<T>...>> when_all(future<T>... futures) {
  (static_cast<void>(futures.state()), ...);
  using all = std::tuple<future<T>...>;
  return detail::start_when<detail::when_all_state<all>, all>(all(std::move(futures)...),
                                                              sizeof...(T));
}

/// Returns a future that becomes ready when the first of `futures` is ready. Its value is the index
/// of that future, and all `futures`; the caller can wait for the others, cancel or destroy them.
///
/// \code
/// auto [first, answers] = takt::when_any(std::move(replicas)).get();    // a vector of futures
/// use(answers[first].get());
/// \endcode
///
/// Clock, hook and cancellation are as for when_all().
/// \throws std::invalid_argument if there are no futures; std::future_error (no_state) if one is
/// empty; std::bad_alloc. If it throws, `futures` are destroyed.
template <class T>
[[nodiscard]] future<when_any_result<std::vector<future<T>>>> when_any(
    std::vector<future<T>> futures) {
  if (futures.empty()) throw std::invalid_argument("takt::when_any: there are no futures");
  for (const future<T>& f : futures) static_cast<void>(f.state());
  const std::size_t count = futures.size();
  using all = std::vector<future<T>>;
  return detail::start_when<detail::when_any_state<all>, when_any_result<all>>(std::move(futures),
                                                                               count);
}
template <class... T>
  requires(sizeof...(T) > 0)
[[nodiscard]] future<when_any_result<std::tuple<future<T>...>>> when_any(future<T>... futures) {
  (static_cast<void>(futures.state()), ...);
  using all = std::tuple<future<T>...>;
  return detail::start_when<detail::when_any_state<all>, when_any_result<all>>(
      all(std::move(futures)...), sizeof...(T));
}

}  // namespace takt::inline TAKT_ABI
