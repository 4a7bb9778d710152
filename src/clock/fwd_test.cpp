// takt/fwd.hpp alone is enough to name templates with default arguments and aliases.
#include <takt/fwd.hpp>

#include <type_traits>

namespace {

using incomplete = void(takt::move_only_function<void()>&, takt::move_only_function<int(char) &&>&,
                        takt::clock&, takt::wall_clock&, takt::manual_clock&,
                        takt::manual_wall_clock&);
static_assert(std::is_function_v<incomplete>);
static_assert(std::is_same_v<takt::clock, takt::basic_clock<std::chrono::steady_clock>>);

}  // namespace
