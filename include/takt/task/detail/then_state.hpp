/// \file
/// The shared state of the future that then() returns.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <takt/base/config.hpp>
#include <takt/base/detail/intrusive_ptr.hpp>
#include <takt/fwd.hpp>  // future: complete where these templates are instantiated
#include <takt/task/detail/callable.hpp>
#include <takt/task/detail/future_state.hpp>

namespace takt::inline TAKT_ABI {
namespace detail {

/// The continuation of then() together with the state of the returned future, in one allocation. It
/// owns the source future, whose state keeps a reference to it until the continuation is called.
template <class T, class F>
class then_state final : public future_state<typename then_result<T, F>::type>,
                         public continuation {
  using result = typename then_result<T, F>::type;

 public:
  template <class G>
  then_state(const future_options& options, G&& f, future<T>&& source)
      : future_state<result>(options),
        call_(std::in_place, std::forward<G>(f)),
        source_(std::move(source)) {}

  void start() noexcept {
    this->retain();  // for the continuation
    source_.state().set_continuation(*this);
  }

 private:
  void on_ready() noexcept override {
    const intrusive_ptr<future_core> mine(this);
    future<T> source = std::move(source_);
    if (!this->begin()) {  // cancelled: discards the late result, an error included
      if (!source.state().has_value()) static_cast<void>(source.state().take_error());
      return;
    }
    if constexpr (!takes_value<T, F>) {
      this->run_body([&]() -> result {
        return std::invoke(static_cast<one_shot<F, future<T>>>(*call_), std::move(source));
      });
    } else if (source.state().has_value()) {
      this->run_body([&]() -> result {
        if constexpr (std::is_void_v<T>) {
          return std::invoke(static_cast<one_shot<F>>(*call_));
        } else {
          return std::invoke(static_cast<one_shot<F, T>>(*call_), source.get());
        }
      });
    } else {  // an error or a cancellation skips the callable
      {
        const body_scope here(*this);
        drop_closure();
      }
      this->finish_like(source.state());
    }
  }
  void drop_closure() noexcept override { call_.reset(); }

  std::optional<F> call_;  // before source_: if this throws, source_ has not been moved from
  future<T> source_;
};

}  // namespace detail
}  // namespace takt::inline TAKT_ABI
