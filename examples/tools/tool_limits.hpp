// How many things a program may do at a time: as many as it has descriptors for.
#pragma once

#include <cstddef>
#include <string>

namespace tool {

// How many descriptors the work of this program may take. Raises the limit as far as the system
// lets a process do that; leaves some for the program itself.
std::size_t free_descriptors();

// Work that is done many times at once.
struct parallel_work {
  std::string doing;   // "checking"
  std::string things;  // "hosts"
  std::string option;  // the one that says how many: "--parallel"
  std::size_t descriptors_each = 1;
};

// How many of these to do at a time: `wanted`; if that is too many and not `is_given` by the user,
// as many as possible. \throws misuse if the user wants more than possible, or not even one is.
std::size_t parallel_limit(const parallel_work& work, std::size_t wanted, bool is_given);

}  // namespace tool
