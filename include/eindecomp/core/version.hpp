// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The one place that holds the version: CMake reads it from here.
#define EINDECOMP_VERSION_MAJOR 0
#define EINDECOMP_VERSION_MINOR 1
#define EINDECOMP_VERSION_PATCH 0

/// The version as one integer, 0.1.0 being 100: `#if EINDECOMP_VERSION >= 200`.
#define EINDECOMP_VERSION \
  (EINDECOMP_VERSION_MAJOR * 10000 + EINDECOMP_VERSION_MINOR * 100 + EINDECOMP_VERSION_PATCH)
