# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sets EINDECOMP_HEADER_VERSION from the version header, so that the number is written once.

set(_header ${CMAKE_CURRENT_LIST_DIR}/../include/eindecomp/core/version.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_header})
file(STRINGS ${_header} _lines REGEX "define EINDECOMP_VERSION_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM _lines REPLACE ".* ([0-9]+)$" "\\1")
list(JOIN _lines "." EINDECOMP_HEADER_VERSION)
