#include <takt/base/parker.hpp>

#include "park.hpp"

bench::numbers bench::park_takt(const request& asked) { return ping_pong<takt::parker>(asked); }
