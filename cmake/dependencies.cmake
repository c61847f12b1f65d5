# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds what the targets stand on. Kokkos and MPI are used where they are found, and each
# configuration looks anew; with their option set to ON they are required, with OFF they are not
# looked for.

# Where scripts/bootstrap puts Kokkos and Kokkos Kernels, as in scripts/env.sh: a hint, which CMake
# follows after all places that the user names.
set(_hint)
if(PROJECT_IS_TOP_LEVEL)
  set(_hint "$ENV{EINDECOMP_DEPS_PREFIX}")
  set(_cache "$ENV{XDG_CACHE_HOME}")
  if("${_cache}" STREQUAL "")
    set(_cache "$ENV{HOME}/.cache")
  endif()
  if("${_hint}" STREQUAL "")
    set(_hint "${_cache}/eindecomp/kokkos-3.4.01")
  endif()
endif()

# Only headers are needed (Boost.Hana); every Boost since 1.70 brings its own configuration.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
if(NOT TARGET Boost::headers)
  find_package(Boost 1.70 REQUIRED)
endif()

# A project that embeds us may have brought its own Kokkos, as targets and not as a package.
macro(_eindecomp_find_kokkos)
  if(NOT TARGET Kokkos::kokkos)
    find_package(Kokkos ${ARGN} HINTS ${_hint})
  endif()
  if(NOT TARGET Kokkos::kokkoskernels)
    find_package(KokkosKernels ${ARGN} HINTS ${_hint})
  endif()
endmacro()

set(EINDECOMP_ENABLE_KOKKOS AUTO CACHE STRING "Run on Kokkos execution spaces: AUTO, ON or OFF")
set(EINDECOMP_ENABLE_MPI AUTO CACHE STRING "Run on several processes: AUTO, ON or OFF")
foreach(_option IN ITEMS EINDECOMP_ENABLE_KOKKOS EINDECOMP_ENABLE_MPI)
  set_property(CACHE ${_option} PROPERTY STRINGS AUTO ON OFF)
endforeach()

if(EINDECOMP_ENABLE_KOKKOS STREQUAL "AUTO")
  _eindecomp_find_kokkos(QUIET)
  set(EINDECOMP_ENABLE_KOKKOS OFF)
  if(TARGET Kokkos::kokkos AND TARGET Kokkos::kokkoskernels)
    set(EINDECOMP_ENABLE_KOKKOS ON)
  else()
    message(STATUS "EinDecomp: Kokkos with Kokkos Kernels not found; name their folders by "
      "CMAKE_PREFIX_PATH, or say -DEINDECOMP_ENABLE_KOKKOS=ON to see why")
  endif()
elseif(EINDECOMP_ENABLE_KOKKOS)
  _eindecomp_find_kokkos(REQUIRED)
endif()
if(EINDECOMP_ENABLE_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
  set(EINDECOMP_ENABLE_MPI OFF)
  if(MPI_CXX_FOUND)
    set(EINDECOMP_ENABLE_MPI ON)
  else()
    message(STATUS "EinDecomp: MPI not found; name its compiler by MPI_CXX_COMPILER, "
      "or say -DEINDECOMP_ENABLE_MPI=ON to see why")
  endif()
elseif(EINDECOMP_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

message(STATUS
  "EinDecomp ${PROJECT_VERSION}: Kokkos ${EINDECOMP_ENABLE_KOKKOS}, MPI ${EINDECOMP_ENABLE_MPI}")
