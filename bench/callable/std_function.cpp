#include <functional>

#include "callable.hpp"

bench::numbers bench::callable_std_function(const request& asked) {
  return callable_life_of_size<std::function<void()>>(asked);
}
