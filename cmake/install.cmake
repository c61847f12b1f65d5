# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# find_package(EinDecomp [COMPONENTS core kokkos mpi]): each component has its own export file, so
# that asking for `core` alone does not look for Kokkos or MPI.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_dir ${CMAKE_INSTALL_LIBDIR}/cmake/EinDecomp)
foreach(_component IN LISTS EINDECOMP_COMPONENTS)
  install(TARGETS eindecomp_${_component}
    EXPORT EinDecomp_${_component}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT EinDecomp_${_component}
    FILE EinDecomp-${_component}.cmake
    NAMESPACE EinDecomp::
    DESTINATION ${_dir})
endforeach()

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/EinDecompConfig.cmake.in
  ${PROJECT_BINARY_DIR}/EinDecompConfig.cmake
  INSTALL_DESTINATION ${_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/EinDecompConfigVersion.cmake
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES
  ${PROJECT_BINARY_DIR}/EinDecompConfig.cmake
  ${PROJECT_BINARY_DIR}/EinDecompConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/separate.cmake
  ${CMAKE_CURRENT_LIST_DIR}/seclude.cmake
  DESTINATION ${_dir})
