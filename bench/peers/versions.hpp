/// \file
/// Versions of the peers.
#pragma once

#include <map>
#include <string>

namespace bench {

/// Returns the versions that takt_bench was built with or will run. Missing peers are not listed.
std::map<std::string, std::string> peer_versions();

}  // namespace bench
