#include <takt/base/move_only_function.hpp>

#include "callable.hpp"

bench::numbers bench::callable_takt(const request& asked) {
  return callable_life_of_size<takt::move_only_function<void()>>(asked);
}
