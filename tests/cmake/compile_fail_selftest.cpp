// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One right test of a refusal, and one for each way in which such a test can be wrong.

#if EINDECOMP_CASE == 1
static_assert(false, "the label j is bound twice");
#elif EINDECOMP_CASE == 2
// Nothing is wrong here, whatever is expected.
#elif EINDECOMP_CASE == 3
static_assert(false, "something else");
#elif EINDECOMP_CASE == 4
// refused: the label k is bound twice
static_assert(false, "EinDecomp: the label j is bound twice");
#elif EINDECOMP_CASE == 0 && defined(EINDECOMP_WRONG_CONTROL)
#include <a_header_that_does_not_exist.hpp>
#endif
