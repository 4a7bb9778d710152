# The functions with which takt's own targets are made.

# Warnings for takt's own code. Never part of what consumers get; errors only where
# CMAKE_COMPILE_WARNING_AS_ERROR asks for it, as the presets do.
if(PROJECT_IS_TOP_LEVEL)
  add_library(takt_warnings INTERFACE)
  target_compile_options(takt_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wcast-qual -Wundef -Wextra-semi
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wduplicated-branches -Wlogical-op>
    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wimplicit-fallthrough>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # It guesses, inside of std::optional for one, and each version of the compiler guesses otherwise.
    target_compile_options(takt_warnings INTERFACE -Wno-error=maybe-uninitialized)
  endif()
endif()

# takt_own(<target>): a target of takt's own, not a consumer's.
function(takt_own target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  if(PROJECT_IS_TOP_LEVEL)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:takt_warnings>)
  endif()
endfunction()

# takt_library(<target>): what takt and its model build have in common.
function(takt_library target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(TAKT_PORTABLE_PARKING)
    target_compile_definitions(${target} PUBLIC TAKT_PORTABLE_PARKING)
  endif()
endfunction()

# takt_room(<room> SOURCES x.cpp ... TESTS x_test.cpp ...)
# Adds the sources to takt, and hence to takt_model; the tests become takt_<room>_tests.
function(takt_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TESTS")
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(takt PRIVATE ${arg_SOURCES})
  if(TAKT_BUILD_TESTS AND arg_TESTS)
    add_executable(takt_${room}_tests ${arg_TESTS})
    takt_own(takt_${room}_tests)
    target_link_libraries(takt_${room}_tests PRIVATE takt::takt GTest::gmock GTest::gtest_main)
    gtest_discover_tests(takt_${room}_tests DISCOVERY_MODE PRE_TEST)
  endif()
endfunction()
