# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# EinDecomp::planner, ::kernels and ::executor: what a program may compile once and apart from its
# own sources, include/eindecomp/tools/separate_planner.hpp, kernel/separate_kernels.hpp and
# run/separate_executor.hpp. Static libraries of the project that links them, built with its flags,
# and not unless it does: an installation has headers only.

# _eindecomp_add_separate(NAME ROOM target...): the library of that name, linked to those targets;
# none if one of them is not there.
function(_eindecomp_add_separate name room)
  set(target eindecomp_${name})
  if(TARGET ${target})
    return()
  endif()
  foreach(needed IN LISTS ARGN)
    if(NOT TARGET ${needed})
      return()
    endif()
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/EinDecomp/${name}.cpp)
  file(CONFIGURE OUTPUT ${source}
    CONTENT "#include \"eindecomp/${room}/separate_${name}.hpp\"\n")
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${source})
  add_library(EinDecomp::${name} ALIAS ${target})
  string(TOUPPER EINDECOMP_SEPARATE_${name} definition)
  target_compile_definitions(${target} PUBLIC ${definition})
  target_link_libraries(${target} PUBLIC ${ARGN})
endfunction()

_eindecomp_add_separate(planner tools EinDecomp::core)
_eindecomp_add_separate(kernels kernel EinDecomp::kokkos)
_eindecomp_add_separate(executor run EinDecomp::eindecomp EinDecomp::planner EinDecomp::kernels)
