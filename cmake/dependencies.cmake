# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds what the targets stand on. Kokkos and MPI are used where they are found; with their option
# set to ON they are required, with OFF they are not looked for.

if(PROJECT_IS_TOP_LEVEL)
  # What scripts/bootstrap built is found without further ado, after any place the user names.
  if(DEFINED ENV{EINDECOMP_DEPS_PREFIX})
    list(APPEND CMAKE_PREFIX_PATH "$ENV{EINDECOMP_DEPS_PREFIX}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    list(APPEND CMAKE_PREFIX_PATH "$ENV{XDG_CACHE_HOME}/eindecomp/kokkos-3.4.01")
  else()
    list(APPEND CMAKE_PREFIX_PATH "$ENV{HOME}/.cache/eindecomp/kokkos-3.4.01")
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
    find_package(Kokkos ${ARGN})
  endif()
  if(NOT TARGET Kokkos::kokkoskernels)
    find_package(KokkosKernels ${ARGN})
  endif()
endmacro()

if(NOT DEFINED EINDECOMP_ENABLE_KOKKOS)
  _eindecomp_find_kokkos(QUIET)
  set(_found OFF)
  if(TARGET Kokkos::kokkos AND TARGET Kokkos::kokkoskernels)
    set(_found ON)
  endif()
  option(EINDECOMP_ENABLE_KOKKOS "Run on Kokkos execution spaces" ${_found})
endif()
if(EINDECOMP_ENABLE_KOKKOS)
  _eindecomp_find_kokkos(REQUIRED)
endif()

if(NOT DEFINED EINDECOMP_ENABLE_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  option(EINDECOMP_ENABLE_MPI "Run on several processes" ${MPI_CXX_FOUND})
endif()
if(EINDECOMP_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

message(STATUS
  "EinDecomp ${PROJECT_VERSION}: Kokkos ${EINDECOMP_ENABLE_KOKKOS}, MPI ${EINDECOMP_ENABLE_MPI}")
