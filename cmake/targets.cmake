# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# EinDecomp::core, ::kokkos, ::mpi, and ::eindecomp, which is all that is enabled. Consumers get
# C++20, include paths and two definitions, and no other flag.

# eindecomp_add_component(NAME ROOMS room... [FILES file...] LINK target... [DEFINE definition])
function(eindecomp_add_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DEFINE" "ROOMS;FILES;LINK")
  set(root ${PROJECT_SOURCE_DIR}/include)
  set(headers ${arg_FILES})
  foreach(room IN LISTS arg_ROOMS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${root}/eindecomp/${room}/*.hpp)
    list(APPEND headers ${found})
  endforeach()

  set(target eindecomp_${name})
  add_library(${target} INTERFACE)
  add_library(EinDecomp::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} INTERFACE
    FILE_SET HEADERS BASE_DIRS ${root} FILES ${headers})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${arg_LINK})
  target_compile_definitions(${target} INTERFACE ${arg_DEFINE})
endfunction()

set(EINDECOMP_COMPONENTS core)
set(_include ${PROJECT_SOURCE_DIR}/include/eindecomp)
file(GLOB _umbrella CONFIGURE_DEPENDS ${_include}/eindecomp.hpp)
# The part of comm that needs no MPI: runs of one process without it.
set(_comm agreement.hpp call.hpp communicator.hpp or_abort.hpp)
list(TRANSFORM _comm PREPEND ${_include}/comm/)
# The part of train that writes statements: plans of training without Kokkos.
set(_train batches.hpp minimise.hpp optimisers.hpp step_plans.hpp stop_signals.hpp update_writer.hpp)
list(TRANSFORM _train PREPEND ${_include}/train/)
eindecomp_add_component(core
  ROOMS core expr graph relation plan models tools
  FILES ${_umbrella} ${_comm} ${_train}
  LINK Boost::headers)

if(EINDECOMP_ENABLE_KOKKOS)
  list(APPEND EINDECOMP_COMPONENTS kokkos)
  file(GLOB _with_kokkos CONFIGURE_DEPENDS ${_include}/train/*.hpp)
  list(REMOVE_ITEM _with_kokkos ${_train})
  eindecomp_add_component(kokkos
    ROOMS kernel run
    FILES ${_with_kokkos}
    LINK eindecomp_core Kokkos::kokkos Kokkos::kokkoskernels
    DEFINE EINDECOMP_ENABLE_KOKKOS=1)
endif()

if(EINDECOMP_ENABLE_MPI)
  list(APPEND EINDECOMP_COMPONENTS mpi)
  file(GLOB _with_mpi CONFIGURE_DEPENDS ${_include}/comm/*.hpp)
  list(REMOVE_ITEM _with_mpi ${_comm})
  eindecomp_add_component(mpi
    FILES ${_with_mpi}
    LINK eindecomp_core MPI::MPI_CXX
    DEFINE EINDECOMP_ENABLE_MPI=1)
endif()

add_library(eindecomp_eindecomp INTERFACE)
add_library(EinDecomp::eindecomp ALIAS eindecomp_eindecomp)
list(TRANSFORM EINDECOMP_COMPONENTS PREPEND eindecomp_ OUTPUT_VARIABLE _all)
target_link_libraries(eindecomp_eindecomp INTERFACE ${_all})
