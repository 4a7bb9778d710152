// Constructs functions with targets of every kind of storage, moves, swaps, calls and empties them;
// compares with a table of expected results, and counts live targets.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <takt/base/move_only_function.hpp>

#include "fuzz.hpp"

namespace {

using function = takt::move_only_function<int()>;

// A target of Size bytes, aligned to Align; Throws: its move constructor may throw.
template <std::size_t Size, std::size_t Align, bool Throws>
class alignas(Align) target {
 public:
  target(int& alive, int answer) : alive_(&alive), answer_(answer) { ++alive; }
  target(target&& other) noexcept(!Throws) : alive_(other.alive_), answer_(other.answer_) {
    ++*alive_;
  }
  target& operator=(target&&) = delete;
  ~target() { --*alive_; }

  int operator()() const { return answer_; }

 private:
  int* alive_;
  int answer_;
  std::array<char, Size> rest_{};
};

function make(std::size_t kind, int& alive, int answer) {
  switch (kind) {
    case 0:
      return [answer] { return answer; };
    case 1:
      return [p = std::make_unique<int>(answer)] { return *p; };
    case 2:
      return target<16, 8, false>(alive, answer);
    case 3:
      return target<16, 8, true>(alive, answer);
    case 4:
      return target<200, 8, false>(alive, answer);
    case 5:
      return target<16, 64, false>(alive, answer);
    case 6:
      return function(std::in_place_type<target<32, 16, false>>, alive, answer);
    default:
      return std::function<int()>([answer] { return answer; });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  int alive = 0;
  {
    std::array<function, 4> functions;
    std::array<std::optional<int>, 4> answers;
    script input(data, size);
    int next_answer = 0;

    while (!input.done()) {
      const std::size_t operation = input.next(5);
      const std::size_t i = input.next(functions.size());
      const std::size_t j = input.next(functions.size());
      switch (operation) {
        case 0:
          functions[i] = make(input.next(8), alive, ++next_answer);
          answers[i] = next_answer;
          break;
        case 1:
          functions[i] = std::move(functions[j]);
          if (i != j) answers[i] = std::exchange(answers[j], std::nullopt);
          break;
        case 2:
          std::swap(functions[i], functions[j]);
          std::swap(answers[i], answers[j]);
          break;
        case 3:
          functions[i] = nullptr;
          answers[i].reset();
          break;
        default: {
          function moved(std::move(functions[i]));
          EXPECT(!functions[i]);
          functions[i] = std::move(moved);
          break;
        }
      }
      for (std::size_t k = 0; k < functions.size(); ++k) {
        EXPECT(static_cast<bool>(functions[k]) == answers[k].has_value());
        try {
          const int answer = functions[k]();
          EXPECT(answers[k] == answer);
        } catch (const std::bad_function_call&) {
          EXPECT(!answers[k]);
        }
      }
    }
  }
  EXPECT(alive == 0);
  return 0;
}
