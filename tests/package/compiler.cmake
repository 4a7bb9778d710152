# Runs the compiler check for the compiler ID VERSION.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/compiler.cmake")
takt_check_compiler("${ID}" "${VERSION}" "${FEATURES}")
