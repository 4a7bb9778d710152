// rxjs, run by node; see Actions.js.
#include <string>

#include "peers/java.hpp"
#include "rx.hpp"

bench::numbers bench::rx_rxjs(const request& asked) {
  return ask_node("rx/Actions.js", std::to_string(asked.amount(rx_actions)) + ' ' +
                                       std::to_string(rx_batch) + ' ' + std::to_string(rx_chains));
}
