#include <takt/model/explore.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "run.hpp"
#include "sanitizer.hpp"
#include "strategy.hpp"

namespace takt::inline TAKT_ABI {
namespace model {
namespace {

// What a crash handler may still tell: the run under way.
struct {
  std::string token;  // empty for exhaustive search, which knows its token only at the end
  const exhaustive_search* search = nullptr;
} under_way;

void tell_which_run() noexcept {
  if (!exploring()) return;
  const std::string token =
      under_way.search == nullptr ? under_way.token : under_way.search->token();
  std::fprintf(stderr, "takt::model: the process ends within the run with the token %s\n",
               token.c_str());
}

// A crash cannot be unwound or abandoned; at least its run can be replayed in a debugger.
class crash_report {
 public:
  crash_report() noexcept {
    sanitizer::tell_before_death(&tell_which_run);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (sanitizer::handles(signals[i])) continue;
      before_[i] = std::signal(signals[i], [](int number) {
        tell_which_run();
        std::signal(number, SIG_DFL);
        std::raise(number);
      });
    }
  }
  ~crash_report() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (!sanitizer::handles(signals[i])) std::signal(signals[i], before_[i]);
    }
  }
  crash_report(const crash_report&) = delete;
  crash_report& operator=(const crash_report&) = delete;

 private:
  static constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  std::array<void (*)(int), signals.size()> before_{};
};

struct outcome {
  std::string failure;
  std::string trace;
  std::uint64_t steps = 0;
};

outcome run_once(const options& opts, scheduler& who, bool trace,
                 const std::function<void()>& body) {
  run r(opts, who, trace);
  r.execute(body);
  return {std::move(r.failure), std::move(r.trace), r.steps};
}

// Makes the failing run once more, now with its trace.
void explain(failure& f, const options& opts, scheduler& again, const std::function<void()>& body) {
  outcome second = run_once(opts, again, true, body);
  f.trace = std::move(second.trace);
  if (second.failure != f.message) {
    f.message += "\n  (the replay differs: " +
                 (second.failure.empty() ? std::string("it passes") : second.failure) +
                 "; does the body depend on addresses, real time or state outside of it?)";
  }
}

result search_all(const options& given, const std::function<void()>& body) {
  options opts = given;
  opts.unfair_yields = 0;  // otherwise a spin loop has no end
  result r;
  exhaustive_search search(opts.reduced);
  const bool replaying = !opts.token.empty();
  if (replaying) search.replay(opts.token);
  under_way.search = replaying ? nullptr : &search;
  under_way.token = opts.token;
  while (r.runs < opts.runs) {
    outcome o = run_once(opts, search, false, body);
    if (!search.fits()) {
      throw std::invalid_argument("takt::model: replay token '" + opts.token +
                                  "': it is not of this body");
    }
    ++r.runs;
    r.steps += o.steps;
    if (!o.failure.empty()) {
      r.failure =
          failure{std::move(o.failure), replaying ? opts.token : search.token(), {}, r.runs};
      exhaustive_search again(opts.reduced);
      again.replay(r.failure->token);
      explain(*r.failure, opts, again, body);
      return r;
    }
    if (!search.next_run()) {
      r.complete = !replaying;
      return r;
    }
  }
  return r;
}

// The rotation: none of them is best alone.
constexpr std::array<std::pair<strategy, std::uint32_t>, 6> rotation{{
    {strategy::random, 0},
    {strategy::pct, 3},
    {strategy::pos, 0},
    {strategy::sticky, 0},
    {strategy::pct, 5},
    {strategy::pct, 2},
}};

result sample_many(const options& opts, const std::function<void()>& body) {
  result r;
  random_stream seeds(opts.seed);
  std::uint64_t length = 50;  // of a run, as far as is known
  const bool replaying = !opts.token.empty();
  while (r.runs < (replaying ? 1 : opts.runs)) {
    sample s{opts.how, opts.depth, length, seeds.next() >> 16U};
    if (opts.how == strategy::rotating) {
      std::tie(s.how, s.depth) = rotation[r.runs % rotation.size()];
    }
    if (replaying) s = sample_from_token(opts.token);
    under_way.search = nullptr;
    under_way.token = to_token(s);
    outcome o = run_once(opts, *make_scheduler(s), false, body);
    ++r.runs;
    r.steps += o.steps;
    length = std::max(length, o.steps);
    if (!o.failure.empty()) {
      r.failure = failure{std::move(o.failure), to_token(s), {}, r.runs};
      explain(*r.failure, opts, *make_scheduler(s), body);
      return r;
    }
  }
  return r;
}

}  // namespace

result explore(const options& opts, const std::function<void()>& body) {
  if (exploring()) fail("explore() inside of a run");
  const crash_report report;
  const bool search =
      opts.token.empty() ? opts.how == strategy::exhaustive : opts.token.starts_with("dfs");
  return search ? search_all(opts, body) : sample_many(opts, body);
}

std::ostream& operator<<(std::ostream& out, const result& r) {
  out << r.runs << " runs, " << r.steps << " steps" << (r.complete ? ", complete" : "");
  if (r.failure) {
    out << "\nfailed in run " << r.failure->run << ": " << r.failure->message
        << "\ntoken: " << r.failure->token << "\ntrace:" << r.failure->trace << "\n";
  }
  return out;
}

}  // namespace model
}  // namespace takt::inline TAKT_ABI
