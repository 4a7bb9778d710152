/// \file
/// Peers in Java.
#pragma once

#include <string>

#include "harness.hpp"

namespace bench {

/// Asks the JVM that runs a source file of this folder, which measures itself. There is one for
/// each such file; it is started by the first question, and answers a line with a line of numbers.
/// Throws unavailable if there is no JDK, std::runtime_error if the answer is something else.
numbers ask_java(const std::string& source, const std::string& question);

}  // namespace bench
