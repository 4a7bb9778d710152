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

# takt_library(<target>): what the components and the model build have in common.
function(takt_library target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(TAKT_PORTABLE_PARKING)
    target_compile_definitions(${target} PUBLIC TAKT_PORTABLE_PARKING)
  endif()
endfunction()

# takt_precompile(<target> <owner>): the target's sources begin with precompiled headers of the standard library, which
# <owner> makes and shares with all targets of the same options. Only headers that never change with takt are
# precompiled, so that ccache and incremental builds stay as fine-grained as without. Builds of other presets, of the
# package and clang-tidy go without, and so find a header that a source forgot to include.
set(takt_precompiled <algorithm> <array> <atomic> <chrono> <concepts> <condition_variable> <coroutine> <cstdint>
    <exception> <functional> <memory> <mutex> <optional> <span> <stop_token> <string> <string_view> <system_error>
    <thread> <tuple> <utility> <variant> <vector>)
function(takt_precompile target owner)
  if(NOT TAKT_PRECOMPILE)
    return()
  endif()
  if(NOT target STREQUAL owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${takt_precompiled} ${ARGN})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")  # or ccache would never find it
    endif()
  endif()
endfunction()

# takt_test_base(<name> [<library>]): owns the precompiled headers of all tests that link <library>, or the components.
function(takt_test_base name)
  file(WRITE "${PROJECT_BINARY_DIR}/${name}.cpp" "// Owns the precompiled headers of the tests.\n")
  add_library(${name} OBJECT "${PROJECT_BINARY_DIR}/${name}.cpp")
  takt_own(${name})
  takt_library(${name})
  target_link_libraries(${name} PRIVATE ${ARGN} GTest::gmock GTest::gtest)
  takt_precompile(${name} ${name} <gtest/gtest.h> <gmock/gmock.h>)
endfunction()

# takt_component(<name> MODULES <module>... [USES <component>...])
# Adds the library takt::<name> with the modules in src/. `takt_components` lists all of them.
set(takt_components "")
function(takt_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "MODULES;USES")
  set(component takt_${name})
  add_library(${component})
  add_library(takt::${name} ALIAS ${component})
  takt_own(${component})
  takt_library(${component})
  list(TRANSFORM arg_USES PREPEND takt_ OUTPUT_VARIABLE used)
  target_link_libraries(${component} PUBLIC ${used})
  takt_precompile(${component} takt_core)
  # Before 1.0 each minor version has an ABI of its own.
  set_target_properties(${component} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  foreach(module IN LISTS arg_MODULES)
    add_subdirectory(src/${module})
  endforeach()
  set(takt_components ${takt_components} ${component} PARENT_SCOPE)
endfunction()

# takt_module(<module> SOURCES x.cpp ... TESTS x_test.cpp ...)
# Adds the sources to the component that takt_component() is adding; the tests become takt_<module>_tests, which link
# that component only.
function(takt_module module)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;TESTS")
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  target_sources(${component} PRIVATE ${arg_SOURCES})
  if(TAKT_BUILD_TESTS AND arg_TESTS)
    add_executable(takt_${module}_tests ${arg_TESTS})
    takt_own(takt_${module}_tests)
    target_link_libraries(takt_${module}_tests PRIVATE ${component} GTest::gmock GTest::gtest_main)
    takt_precompile(takt_${module}_tests takt_test_base)
    gtest_discover_tests(takt_${module}_tests DISCOVERY_MODE PRE_TEST)
  endif()
endfunction()
