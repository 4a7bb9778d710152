// The strategies of explore(): which thread takes the next step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <takt/model/engine.hpp>
#include <takt/model/explore.hpp>

namespace takt::inline TAKT_ABI {
namespace model {

// The generator splitmix64. Its state is one number, which the token holds.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept;
  std::uint32_t below(std::uint32_t n) noexcept;  // in [0, n)

 private:
  std::uint64_t state_;
};

// An enabled thread and its next operation.
struct candidate {
  std::size_t thread = 0;
  operation next;
};

// Makes the decisions of one run. The engine calls it in the order of events, so equal decisions
// give an equal run.
class scheduler {
 public:
  virtual ~scheduler() = default;
  // Returns a thread of `enabled`, which is not empty and is ordered by thread. `current` ran last.
  virtual std::size_t pick(std::span<const candidate> enabled, std::size_t current) = 0;
  // Called before `done` is executed by `thread`.
  virtual void executed(std::size_t /*thread*/, const operation& /*done*/) {}
  // Called when `thread` yields to the progress of other threads.
  virtual void yielded(std::size_t /*thread*/) {}
  // Returns a number in [0, n), n > 1, such as the store that a load reads or the waiter to notify.
  virtual std::uint32_t choose(std::uint32_t n) = 0;
  // Returns the age of the store that a load reads, in [0, n), n > 0; 0 is the newest.
  virtual std::uint32_t age(std::uint32_t n) { return n < 2 ? 0 : choose(n); }
  // Returns true with probability 1/n; in exhaustive search, never.
  virtual bool chance(std::uint32_t n) { return choose(n) == 0; }
};

// A sampling strategy with the parameters that repeat its run.
struct sample {
  strategy how = strategy::random;
  std::uint32_t depth = 3;
  std::uint64_t length = 100;  // estimated number of steps of the run
  std::uint64_t seed = 1;
};

std::unique_ptr<scheduler> make_scheduler(const sample& s);
std::string to_token(const sample& s);
sample sample_from_token(std::string_view token);  // throws std::invalid_argument

// Depth-first search with sleep sets (Godefroid): makes runs until next_run() returns false.
// `reduced` is false only in tests of the search itself: then no runs are treated as equivalent.
class exhaustive_search : public scheduler {
 public:
  explicit exhaustive_search(bool reduced);
  ~exhaustive_search() override;
  exhaustive_search(const exhaustive_search&) = delete;
  exhaustive_search& operator=(const exhaustive_search&) = delete;

  std::size_t pick(std::span<const candidate> enabled, std::size_t current) override;
  void executed(std::size_t thread, const operation& done) override;
  void yielded(std::size_t thread) override;
  std::uint32_t choose(std::uint32_t n) override;
  bool chance(std::uint32_t) override { return false; }

  bool next_run();                          // false when the search is complete
  [[nodiscard]] std::string token() const;  // the decisions of the current run
  [[nodiscard]] bool fits() const;          // all decisions of the token were possible
  void replay(std::string_view token);      // throws std::invalid_argument

 private:
  struct node;
  struct path;
  std::unique_ptr<path> path_;
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
