# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run by CTest (see CMakeLists.txt for the variables): copies the consumer out of the tree, builds
# it and runs it.

cmake_minimum_required(VERSION 3.25)

set(temporary $ENV{TMPDIR})
if(NOT temporary)
  set(temporary /tmp)
endif()
string(RANDOM LENGTH 12 suffix)
set(work ${temporary}/eindecomp-consumer-${suffix})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    file(REMOVE_RECURSE ${work})
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

file(COPY ${consumer}/ DESTINATION ${work}/source)
list(JOIN components "," component_list)
set(options
  --no-warn-unused-cli
  -DCMAKE_CXX_COMPILER=${compiler}
  -DCMAKE_CXX_FLAGS=${flags}
  -DKokkos_DIR=${Kokkos_DIR}
  -DKokkosKernels_DIR=${KokkosKernels_DIR}
  "-DCONSUMER_COMPONENTS=${component_list}")
if(way STREQUAL "subdirectory")
  list(APPEND options -DCONSUMER_EINDECOMP_SOURCE=${library})
else()
  run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/stage)
  list(APPEND options -DCMAKE_PREFIX_PATH=${work}/stage)
endif()
# The parts that are compiled once, in one of the tests; the others use headers alone.
if("kokkos" IN_LIST components)
  if(NOT way STREQUAL "subdirectory")
    list(APPEND options -DCONSUMER_SEPARATE=ON)
  endif()
else()
  list(APPEND options -DCMAKE_DISABLE_FIND_PACKAGE_Kokkos=ON -DEINDECOMP_ENABLE_KOKKOS=OFF)
endif()
if(NOT "mpi" IN_LIST components)
  list(APPEND options -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DEINDECOMP_ENABLE_MPI=OFF)
endif()

run(${CMAKE_COMMAND} -S ${work}/source -B ${work}/build -G ${generator} ${options})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${launcher} ${work}/build/consumer)
file(REMOVE_RECURSE ${work})
