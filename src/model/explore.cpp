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

// The run in progress, for crash handlers.
struct {
  std::string token;  // empty in exhaustive search, whose token is known only at the end
  const exhaustive_search* search = nullptr;
} current_run;

void report_run() noexcept {
  if (!exploring()) return;
  const std::string token =
      current_run.search == nullptr ? current_run.token : current_run.search->token();
  std::fprintf(stderr, "takt::model: the process crashes in the run with the token %s\n",
               token.c_str());
}

// Reports the token of the run at a crash, so that the run can be replayed in a debugger.
class crash_report {
 public:
  crash_report() noexcept {
    sanitizer::set_death_callback(&report_run);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (sanitizer::handles(signals[i])) continue;
      before_[i] = std::signal(signals[i], [](int number) {
        report_run();
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

outcome run_once(const options& opts, scheduler& chooser, bool trace,
                 const std::function<void()>& body) {
  run r(opts, chooser, trace);
  r.execute(body);
  return {std::move(r.failure), std::move(r.trace), r.steps};
}

// Repeats the failing run with a trace.
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
  opts.unfair_yields = 0;  // otherwise a spin loop would not end
  result r;
  exhaustive_search search(opts.reduced);
  const bool replaying = !opts.token.empty();
  if (replaying) search.replay(opts.token);
  current_run.search = replaying ? nullptr : &search;
  current_run.token = opts.token;
  while (r.runs < opts.runs) {
    outcome o = run_once(opts, search, false, body);
    if (!search.fits()) {
      throw std::invalid_argument("takt::model: replay token '" + opts.token +
                                  "': it belongs to another body");
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

// The strategies of `rotating`: no single one is best.
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
  std::uint64_t length = 50;  // estimated steps of a run
  const bool replaying = !opts.token.empty();
  while (r.runs < (replaying ? 1 : opts.runs)) {
    sample s{opts.how, opts.depth, length, seeds.next() >> 16U};
    if (opts.how == strategy::rotating) {
      std::tie(s.how, s.depth) = rotation[r.runs % rotation.size()];
    }
    if (replaying) s = sample_from_token(opts.token);
    current_run.search = nullptr;
    current_run.token = to_token(s);
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
  if (exploring()) fail("explore() called inside a run");
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
