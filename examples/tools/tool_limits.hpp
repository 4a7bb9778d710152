// Limits parallel work to the available file descriptors.
#pragma once

#include <cstddef>
#include <string>

namespace tool {

// Returns the number of descriptors that are available for the program's work. Raises the soft
// limit to the hard limit, and reserves some descriptors for the program itself.
std::size_t free_descriptors();

// Describes work that is done in parallel.
struct parallel_work {
  std::string doing;   // "checking"
  std::string things;  // "hosts"
  std::string option;  // the option that sets the number: "--parallel"
  std::size_t descriptors_each = 1;
};

// Returns how many to run in parallel: `wanted`, or the maximum possible if that is less and the
// user has not set the option (`is_given`). \throws misuse if the user wants more than possible, or
// if not even one is possible.
std::size_t parallel_limit(const parallel_work& work, std::size_t wanted, bool is_given);

}  // namespace tool
