#include "peers/naive_pool.hpp"

#include "wake.hpp"

namespace bench {

numbers wake_naive_pool(const request& asked) { return wake_in<naive_pool>(asked); }

}  // namespace bench
