// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The matrix chain (A·B) + (C·(D·E)) as a program.
#pragma once

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp {

/// The sizes of the chain's matrices: A is rows by ab, B ab by columns, C rows by cd, D cd by de, E
/// de by columns.
struct MatrixChainSizes {
  Extent rows = 1;     ///< of A, of C and of the result
  Extent columns = 1;  ///< of B, of E and of the result
  Extent ab = 1;       ///< columns of A, rows of B
  Extent cd = 1;       ///< columns of C, rows of D
  Extent de = 1;       ///< columns of D, rows of E
};

/// All matrices n by n.
[[nodiscard]] constexpr MatrixChainSizes square_chain(Extent n) { return {n, n, n, n, n}; }

/// Skewed ones: A and C are s by s/10, B is s/10 by s, D s/10 by 10·s, E 10·s by s.
[[nodiscard]] constexpr MatrixChainSizes skewed_chain(Extent s) {
  return {s, s, s / 10, s / 10, 10 * s};
}

/// The tensors of a matrix chain.
template <class T, class Backend>
struct MatrixChainTensors {
  /// A tensor of rank 2.
  using Matrix = Symbol<T, 2, Backend>;
  Matrix a;       ///< A, rows by ab
  Matrix b;       ///< B, ab by columns
  Matrix c;       ///< C, rows by cd
  Matrix d;       ///< D, cd by de
  Matrix e;       ///< E, de by columns
  Matrix output;  ///< S
};

/// Writes (A·B) + (C·(D·E)) (EinDecomp, section 9.2) into a program: inputs A to E, the result S.
/// No label has a role.
///
/// \returns the symbols of the inputs and of S(i,k).
/// \throws Error if an extent is not positive or a name is taken.
template <class T = float, class Backend>
constexpr MatrixChainTensors<T, Backend> matrix_chain(BasicProgram<Backend>& program,
                                                      const MatrixChainSizes& sizes) {
  using namespace labels;
  const auto a_ = program.template input<T>("A", {sizes.rows, sizes.ab});
  const auto b_ = program.template input<T>("B", {sizes.ab, sizes.columns});
  const auto c_ = program.template input<T>("C", {sizes.rows, sizes.cd});
  const auto d_ = program.template input<T>("D", {sizes.cd, sizes.de});
  const auto e_ = program.template input<T>("E", {sizes.de, sizes.columns});
  const auto ab = let<"AB">(i, k) = sum(j)(a_(i, j) * b_(j, k));
  const auto de = let<"DE">(i, k) = sum(j)(d_(i, j) * e_(j, k));
  const auto cde = let<"CDE">(i, k) = sum(j)(c_(i, j) * de(j, k));
  const auto s_ = let<"S">(i, k) = ab(i, k) + cde(i, k);
  return {a_, b_, c_, d_, e_, s_};
}

}  // namespace eindecomp
