# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What our own programs (tests, examples, benchmarks, tools) share; consumers see none of it.

add_library(eindecomp_warnings INTERFACE)
target_compile_options(eindecomp_warnings INTERFACE
  -Wall -Wextra -Wpedantic
  $<$<BOOL:${EINDECOMP_WARNINGS_AS_ERRORS}>:-Werror>
  # To collect garbage before there are gigabytes of it took a tenth of the time to compile.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=2000000>)

# The planner is compiled once for all of them, kernels and executors for many.
foreach(target IN ITEMS eindecomp_planner eindecomp_kernels eindecomp_executor)
  if(TARGET ${target})
    target_link_libraries(${target} PRIVATE eindecomp_warnings)
  endif()
endforeach()
set(EINDECOMP_SANITIZED OFF)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(EINDECOMP_SANITIZED ON)
endif()
# The core casts no pointers and does no arithmetic with them; to look for it took a fifth of the
# time to compile.
set(EINDECOMP_SANITIZERS_OF_THE_CORE -fno-sanitize=alignment,pointer-overflow)
if(EINDECOMP_SANITIZED)
  target_compile_options(eindecomp_planner PRIVATE ${EINDECOMP_SANITIZERS_OF_THE_CORE})
else()
  # Tests plan thousands of times, on every rank.
  target_compile_options(eindecomp_planner PRIVATE $<$<CONFIG:Debug>:-O2>)
endif()

# eindecomp_precompile(target...): these targets, which link the executor that is compiled once,
# begin with the umbrella header, which is parsed once for all. Only where parsing costs more than
# compiling, which is where nothing is optimised.
set(EINDECOMP_PRECOMPILES OFF)
if(TARGET eindecomp_executor AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT EINDECOMP_SANITIZED)
  set(EINDECOMP_PRECOMPILES ON)
  set(source ${PROJECT_BINARY_DIR}/EinDecomp/precompiled.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(eindecomp_precompiled OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(eindecomp_precompiled PRIVATE eindecomp_executor eindecomp_warnings)
  target_precompile_headers(eindecomp_precompiled PRIVATE <eindecomp/eindecomp.hpp>)
endif()
function(eindecomp_precompile)
  if(NOT EINDECOMP_PRECOMPILES)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM eindecomp_precompiled)
  endforeach()
endfunction()

# eindecomp_find_libraries(OUT package|target...): the targets of those packages, into OUT.
# Where one is missing, OUT-NOTFOUND, and a message that names what to install.
function(eindecomp_find_libraries out)
  set(targets)
  foreach(pair IN LISTS ARGN)
    string(REGEX MATCH "^([^|]+)\\|(.+)$" _ "${pair}")
    set(package ${CMAKE_MATCH_1})
    set(target ${CMAKE_MATCH_2})
    find_package(${package} QUIET)
    if(NOT TARGET ${target})
      message(STATUS "${CMAKE_CURRENT_SOURCE_DIR}: skipped, there is no ${package}; "
        "scripts/bootstrap installs it")
      set(${out} ${out}-NOTFOUND PARENT_SCOPE)
      return()
    endif()
    list(APPEND targets ${target})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# eindecomp_add_programs(KIND target...): every .cpp of this folder is a program of its own, its
# CMake target being eindecomp_<KIND>_<name>, linked to the library and the targets named. One that
# has been declared before, with libraries of its own, is left as it is.
function(eindecomp_add_programs kind)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    if(TARGET eindecomp_${kind}_${name})
      continue()
    endif()
    add_executable(eindecomp_${kind}_${name} ${source})
    set_target_properties(eindecomp_${kind}_${name} PROPERTIES OUTPUT_NAME ${name})
    target_link_libraries(eindecomp_${kind}_${name} PRIVATE ${ARGN} eindecomp_planner eindecomp_warnings)
    if(eindecomp_executor IN_LIST ARGN)
      eindecomp_precompile(eindecomp_${kind}_${name})
    endif()
  endforeach()
endfunction()
