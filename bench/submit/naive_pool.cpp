#include "peers/naive_pool.hpp"

#include "submit.hpp"

namespace bench {

numbers submit_naive_pool(const request& asked) { return submit_into<naive_pool>(asked); }

}  // namespace bench
