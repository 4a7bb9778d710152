// Runs a script of operations on a few functions, two bytes each. The model of a function is the
// number that its target returns, or nothing if it is empty; each target is counted.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

#include <takt/base/move_only_function.hpp>

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

int alive = 0;  // targets of the counted kinds

template <std::size_t Size, std::size_t Align, bool NothrowMove>
struct alignas(Align) target {
  explicit target(int n) noexcept : number(n) { ++alive; }
  target(target&& other) noexcept(NothrowMove) : number(std::exchange(other.number, -1)) {
    rest = other.rest;
    ++alive;
  }
  target(const target& other) : number(other.number) {
    if (number % 3 == 0) throw std::runtime_error("copy");
    ++alive;
  }
  target& operator=(const target&) = delete;
  ~target() { --alive; }
  int operator()(int add) {
    rest.back() = static_cast<unsigned char>(add);
    return number + add;
  }

  int number;
  std::array<unsigned char, Size - sizeof(int)> rest{};
};

using small = target<16, 4, true>;
using just_fits = target<56, 8, true>;
using too_large = target<60, 4, true>;
using over_aligned = target<64, 64, true>;
using throwing_move = target<16, 4, false>;

using function = takt::move_only_function<int(int)>;

class script {
 public:
  void step(std::uint8_t operation, std::uint8_t argument) {
    const std::size_t a = argument % functions_.size();
    const std::size_t b = argument / functions_.size() % functions_.size();
    const int number = argument;
    switch (operation % 14) {
      case 0:
        return put(a, small(number), number);
      case 1:
        return put(a, just_fits(number), number);
      case 2:
        return put(a, too_large(number), number);
      case 3:
        return put(a, over_aligned(number), number);
      case 4:
        return put(a, throwing_move(number), number);
      case 5:
        return put(a, [number](int add) { return number + add; }, number);
      case 6:
        return put(a, static_cast<int (*)(int)>(nullptr), std::nullopt);
      case 7:
        return copy_in<small>(a, number);
      case 8:
        return copy_in<too_large>(a, number);
      case 9:
        functions_[a] = nullptr;
        models_[a].reset();
        return;
      case 10:
        functions_[a] = std::move(functions_[b]);
        if (a != b) models_[a] = std::exchange(models_[b], std::nullopt);
        return;
      case 11:
        std::swap(functions_[a], functions_[b]);
        std::swap(models_[a], models_[b]);
        return;
      case 12: {  // into another signature and back: wrapped twice, or still empty
        takt::move_only_function<long(int) &&> other = std::move(functions_[a]);
        require(static_cast<bool>(other) == models_[a].has_value());
        if (models_[a].has_value()) require(std::move(other)(1) == *models_[a] + 1);
        models_[a].reset();
        return;
      }
      case 13:
        functions_[a] = function(std::in_place_type<just_fits>, number);
        models_[a] = number;
        return;
    }
  }

  void check() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      require(static_cast<bool>(functions_[i]) == models_[i].has_value());
      try {
        require(functions_[i](7) == *models_[i] + 7);
      } catch (const std::bad_function_call&) {
        require(!models_[i].has_value());
      }
    }
    require(alive <= static_cast<int>(functions_.size()));
  }

 private:
  template <class F>
  void put(std::size_t a, F f, std::optional<int> number) {
    functions_[a] = std::move(f);
    models_[a] = number;
  }

  // The copy may throw; then nothing has changed.
  template <class F>
  void copy_in(std::size_t a, int number) {
    const F original(number);
    try {
      functions_[a] = original;
      models_[a] = number;
    } catch (const std::runtime_error&) {
      require(number % 3 == 0);
    }
  }

  std::array<function, 4> functions_;
  std::array<std::optional<int>, 4> models_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  {
    script s;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      s.step(data[i], data[i + 1]);
      s.check();
    }
  }
  require(alive == 0);
  return 0;
}
