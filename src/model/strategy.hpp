// Who goes next: the strategies of explore().
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

// A small generator (splitmix64); its whole state is one number, which goes into the token.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept;
  std::uint32_t below(std::uint32_t n) noexcept;  // in [0, n)

 private:
  std::uint64_t state_;
};

// An enabled thread and what it would do.
struct candidate {
  std::size_t thread = 0;
  operation next;
};

// Decides one run. Called by the engine in the order of events, so that equal decisions give an
// equal run.
class scheduler {
 public:
  virtual ~scheduler() = default;
  // One of `enabled`, which is not empty and ordered by thread; `current` ran last.
  virtual std::size_t pick(std::span<const candidate> enabled, std::size_t current) = 0;
  // `done` is about to happen on `thread`.
  virtual void executed(std::size_t /*thread*/, const operation& /*done*/) {}
  // `thread` is waiting for somebody else's progress.
  virtual void yielded(std::size_t /*thread*/) {}
  // A number in [0, n), n > 1: which store a load reads, who is notified.
  virtual std::uint32_t choose(std::uint32_t n) = 0;
  // How old a store a load reads, in [0, n), n > 0; 0 is the newest.
  virtual std::uint32_t age(std::uint32_t n) { return n < 2 ? 0 : choose(n); }
  // True with a chance of 1 in n; exhaustive search never takes such a chance.
  virtual bool chance(std::uint32_t n) { return choose(n) == 0; }
};

// A sampling strategy and what it needs to be repeated.
struct sample {
  strategy how = strategy::random;
  std::uint32_t depth = 3;
  std::uint64_t length = 100;  // estimated steps of the run
  std::uint64_t seed = 1;
};

std::unique_ptr<scheduler> make_scheduler(const sample& s);
std::string to_token(const sample& s);
sample sample_from_token(std::string_view token);  // throws std::invalid_argument

// Depth-first search with sleep sets: one run after the other, until next_run() says no.
// `reduced` is off for its own tests only: then nothing is taken for equivalent.
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

  bool next_run();                          // false when everything has been seen
  [[nodiscard]] std::string token() const;  // the decisions of the current run
  [[nodiscard]] bool fits() const;          // the token's decisions were all possible
  void replay(std::string_view token);      // throws std::invalid_argument

 private:
  struct node;
  struct path;
  std::unique_ptr<path> path_;
};

}  // namespace model
}  // namespace takt::inline TAKT_ABI
