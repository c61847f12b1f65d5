// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Multi-head attention as a program, statement by statement.
#pragma once

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp {

/// The sizes of a multi-head attention. The defaults are those of the paper's golden figures.
struct AttentionSizes {
  Extent sequence = 128;  ///< of queries, and of keys and values
  Extent model = 512;     ///< features of the sequence's elements
  Extent heads = 8;       ///< each attends by itself
  Extent head_size = 64;  ///< features of a query, key or value in one head
};

/// In how many statements a softmax is written.
enum class SoftmaxForm {
  fused,  ///< four, as the macro: the maximum, exp(x - max), its sum, the quotient
  apart,  ///< five: x - max and exp apart
};

/// The tensors of a multi-head attention.
template <class T, class Backend>
struct MultiHeadAttentionTensors {
  Symbol<T, 2, Backend> q;       ///< Q, the queries: sequence by model
  Symbol<T, 2, Backend> k;       ///< K, the keys: sequence by model
  Symbol<T, 2, Backend> v;       ///< V, the values: sequence by model
  Symbol<T, 3, Backend> wq;      ///< WQ, model by heads by head size
  Symbol<T, 3, Backend> wk;      ///< WK, of WQ's shape
  Symbol<T, 3, Backend> wv;      ///< WV, of WQ's shape
  Symbol<T, 3, Backend> wo;      ///< WO, of WQ's shape
  Symbol<T, 2, Backend> output;  ///< Y, sequence by model
};

/// Writes multi-head attention (paper, section 3) into a program: inputs Q, K, V (sequence by
/// model), WQ, WK, WV, WO (model by heads by head size); the result is Y. Labels s and t have the
/// role sequence, h head, a hidden.
///
/// \returns the symbols of the inputs and of Y(s,a).
/// \throws Error if an extent is not positive or a name is taken.
template <class T = float, class Backend>
constexpr MultiHeadAttentionTensors<T, Backend> multi_head_attention_model(
    BasicProgram<Backend>& program, const AttentionSizes& sizes = {},
    SoftmaxForm form = SoftmaxForm::fused) {
  using namespace labels;
  const auto q = program.template input<T>("Q", {sizes.sequence, sizes.model});
  const auto kk = program.template input<T>("K", {sizes.sequence, sizes.model});
  const auto vv = program.template input<T>("V", {sizes.sequence, sizes.model});
  const auto wq = program.template input<T>("WQ", {sizes.model, sizes.heads, sizes.head_size});
  const auto wk = program.template input<T>("WK", {sizes.model, sizes.heads, sizes.head_size});
  const auto wv = program.template input<T>("WV", {sizes.model, sizes.heads, sizes.head_size});
  const auto wo = program.template input<T>("WO", {sizes.model, sizes.heads, sizes.head_size});

  const auto qh = let<"Qh">(s, h, d) = sum(a)(q(s, a) * wq(a, h, d));
  const auto kh = let<"Kh">(t, h, d) = sum(a)(kk(t, a) * wk(a, h, d));
  const auto vh = let<"Vh">(t, h, d) = sum(a)(vv(t, a) * wv(a, h, d));
  const auto scores = let<"T">(h, s, t) = sum(d)(qh(s, h, d) * kh(t, h, d));
  const auto weights = [&] {
    if (form == SoftmaxForm::fused) {
      return let<"P">(h, s, t) = softmax(t)(scores(h, s, t));
    }
    const auto mx = let<"mx">(h, s) = max(t)(scores(h, s, t));
    const auto sub = let<"sub">(h, s, t) = scores(h, s, t) - mx(h, s);
    const auto ex = let<"ex">(h, s, t) = exp(sub(h, s, t));
    const auto sm = let<"sm">(h, s) = sum(t)(ex(h, s, t));
    return let<"P">(h, s, t) = ex(h, s, t) / sm(h, s);
  }();
  const auto joined = let<"O">(s, h, d) = sum(t)(weights(h, s, t) * vh(t, h, d));
  const auto result = let<"Y">(s, a) = sum(h, d)(joined(s, h, d) * wo(a, h, d));
  program.role(s, "sequence");
  program.role(t, "sequence");
  program.role(h, "head");
  program.role(a, "hidden");
  return {q, kk, vv, wq, wk, wv, wo, result};
}

}  // namespace eindecomp
