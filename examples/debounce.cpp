// Debounces input events: work runs once per burst, because scheduling an action again replaces its
// pending run. The test is a marble diagram.
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <takt/takt.hpp>

using namespace std::chrono_literals;

namespace {

using source = takt::rx::test_observable<std::string>;

// Emits the last event of a burst after a quiet period.
class debounced {
 public:
  debounced(std::chrono::milliseconds quiet, takt::rx::action_scheduler& timers,
            takt::rx::test_subscriber<std::string> to)
      : quiet_(quiet),
        late_(timers.schedule(
            takt::never, [to = std::move(to)](const std::string& event) { to.next(event); },
            std::string())) {}

  void push(const std::string& event) const { late_.schedule(quiet_, event); }
  [[nodiscard]] const takt::rx::subscription& as_subscription() const { return late_; }

 private:
  std::chrono::milliseconds quiet_;
  takt::rx::action<std::string> late_;
};

source debounce(std::chrono::milliseconds quiet, takt::rx::action_scheduler& timers,
                const source& events) {
  return source([&timers, quiet, events](const takt::rx::test_subscriber<std::string>& to) {
    const debounced d(quiet, timers, to);
    to.subscription().add(d.as_subscription());
    to.subscription().add(
        events.subscribe({.next = [d](const std::string& event) { d.push(event); },
                          .error = [to](const std::exception_ptr& e) { to.error(e); },
                          .complete = [to] { to.complete(); }}));
  });
}

}  // namespace

int main() {
  takt::rx::marble_scheduler test;
  takt::rx::async_scheduler timers{test.loop()};
  try {
    test.run([&] {
      const auto keys = test.hot("-ab--c-------d----------|");
      test.expect(debounce(5ms, timers, keys)).to_be("----------c-------d-----|");
    });
  } catch (const takt::rx::marble_mismatch& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
  std::printf("keys   -ab--c-------d----------|\nquiet  ----------c-------d-----|\n");
  return 0;
}
