/// \file
/// Which versions the peers are of.
#pragma once

#include <map>
#include <string>

namespace bench {

/// What takt_bench was built with, or will run. A peer that is not here is left out.
std::map<std::string, std::string> peer_versions();

}  // namespace bench
