# Ends the configuration, with the reason, on a compiler that cannot build takt.
function(takt_check_compiler id version features)
  set(needed_GNU 12)
  set(needed_Clang 16)
  set(needed "takt needs GCC ${needed_GNU} or Clang ${needed_Clang}, or newer")
  if(DEFINED needed_${id} AND version VERSION_LESS needed_${id})
    message(FATAL_ERROR "The C++ compiler found is ${id} ${version}, which is too old: ${needed}. "
                        "Choose another one with -DCMAKE_CXX_COMPILER=...")
  endif()
  if(NOT "cxx_std_20" IN_LIST features)
    message(FATAL_ERROR "The C++ compiler found, ${id} ${version}, does not know C++20: ${needed}. "
                        "Choose another one with -DCMAKE_CXX_COMPILER=...")
  endif()
endfunction()
