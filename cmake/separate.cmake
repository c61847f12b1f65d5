# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# EinDecomp::planner and EinDecomp::kernels: what a program of many translation units may compile
# once, include/eindecomp/plan/separate_planner.hpp and kernel/separate_kernels.hpp. Static
# libraries of the project that links them, built with its flags, and not unless it does: an
# installation has headers only.

function(_eindecomp_add_separate name component room)
  set(target eindecomp_${name})
  if(TARGET ${target} OR NOT TARGET EinDecomp::${component})
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/EinDecomp/${name}.cpp)
  file(CONFIGURE OUTPUT ${source}
    CONTENT "#include \"eindecomp/${room}/separate_${name}.hpp\"\n")
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${source})
  add_library(EinDecomp::${name} ALIAS ${target})
  string(TOUPPER EINDECOMP_SEPARATE_${name} definition)
  target_compile_definitions(${target} PUBLIC ${definition})
  target_link_libraries(${target} PUBLIC EinDecomp::${component})
endfunction()

_eindecomp_add_separate(planner core plan)
_eindecomp_add_separate(kernels kokkos kernel)
