# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# EinDecomp::planner, ::kernels and ::executor: what a program may compile once and apart from its
# own sources, include/eindecomp/tools/separate_planner.hpp, kernel/separate_kernels.hpp and
# run/separate_executor.hpp. Static libraries of the project that links them, built with its flags,
# and not unless it does: an installation has headers only.
#
# EINDECOMP_KERNEL_SETS, set before EinDecomp is found or added, lists machines of -march from x86-64
# to x86-64-v4: the kernels are compiled for each, and a program uses those for its processor.

# _eindecomp_compile_kernel_sets(OUT TARGET set...): the sources that make a library of the usual
# kernels for these sets, the choice among them with it. TARGET begins the names of targets made.
function(_eindecomp_compile_kernel_sets out target)
  execute_process(COMMAND ${CMAKE_LINKER} --help OUTPUT_VARIABLE help ERROR_QUIET)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_READELF OR NOT CMAKE_OBJCOPY
      OR NOT help MATCHES "--force-group-allocation")
    message(FATAL_ERROR "EINDECOMP_KERNEL_SETS is for x86-64 and GNU binutils (ld, objcopy and "
      "readelf make functions local); leave it empty and choose one -march")
  endif()
  list(SORT ARGN)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/EinDecomp)
  set(sources)
  set(names "")
  set(number 0)
  foreach(set IN LISTS ARGN)
    if(NOT set MATCHES "^x86-64(-v[234])?$")
      message(FATAL_ERROR "EINDECOMP_KERNEL_SETS has ${set} (it may list x86-64, x86-64-v2, "
        "x86-64-v3 and x86-64-v4)")
    endif()
    set(object ${target}_${set})
    set(source ${folder}/${object}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"eindecomp/kernel/separate_kernels.hpp\"\n")
    add_library(${object} OBJECT EXCLUDE_FROM_ALL ${source})
    set_target_properties(${object} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
    target_compile_definitions(${object} PRIVATE EINDECOMP_KERNEL_SET=${number})
    # What is unique to GNU cannot be made local.
    target_compile_options(${object} PRIVATE
      -march=${set} -fno-lto $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
    target_link_libraries(${object} PRIVATE EinDecomp::kokkos)
    set(secluded ${folder}/${object}.o)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/seclude.cmake)
    add_custom_command(OUTPUT ${secluded} VERBATIM
      DEPENDS ${object} $<TARGET_OBJECTS:${object}> ${script}
      COMMENT "Making the kernels for ${set} local"
      COMMAND ${CMAKE_COMMAND} -Dobject=$<TARGET_OBJECTS:${object}> -Dset=${number}
        -Doutput=${secluded} -Dlinker=${CMAKE_LINKER} -Dreadelf=${CMAKE_READELF}
        -Dobjcopy=${CMAKE_OBJCOPY} -P ${script})
    set_source_files_properties(${secluded} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    list(APPEND sources ${secluded})
    list(APPEND names "\"${set}\"")
    math(EXPR number "${number} + 1")
  endforeach()
  list(JOIN names "," names)
  set(choice ${folder}/${target}_choice.cpp)
  file(CONFIGURE OUTPUT ${choice} @ONLY CONTENT
    "#define EINDECOMP_KERNEL_SETS @names@\n#include \"eindecomp/kernel/separate_kernels.hpp\"\n")
  set(${out} ${choice} ${sources} PARENT_SCOPE)
endfunction()

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
  if(name STREQUAL "kernels" AND EINDECOMP_KERNEL_SETS)
    _eindecomp_compile_kernel_sets(source ${target} ${EINDECOMP_KERNEL_SETS})
  endif()
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${source})
  add_library(EinDecomp::${name} ALIAS ${target})
  string(TOUPPER EINDECOMP_SEPARATE_${name} definition)
  target_compile_definitions(${target} PUBLIC ${definition})
  target_link_libraries(${target} PUBLIC ${ARGN})
endfunction()

_eindecomp_add_separate(planner tools EinDecomp::core)
_eindecomp_add_separate(kernels kernel EinDecomp::kokkos)
_eindecomp_add_separate(executor run EinDecomp::eindecomp EinDecomp::planner EinDecomp::kernels)
