// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a typed case writes into: a program, data for its inputs, and what its results must be,
// given as loops over the data. Cases are checked twice: their graph by the reference
// (tests/graph), and their run on all ranks (tests/property).
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/einsum.hpp"
#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/macros.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/reference.hpp"
#include "support/typed_tensor.hpp"

namespace property {

namespace ein = eindecomp;
using ein::Extent;
using reference::Array;

/// The sum of term(0) … term(n - 1).
template <class Term>
auto total(Extent n, const Term& term) {
  std::decay_t<decltype(term(Extent{0}))> sum{};
  for (Extent i = 0; i < n; ++i) sum = sum + term(i);
  return sum;
}
/// The largest of term(0) … term(n - 1).
template <class Term>
auto largest(Extent n, const Term& term) {
  auto best = term(Extent{0});
  for (Extent i = 1; i < n; ++i) best = best < term(i) ? term(i) : best;
  return best;
}
template <class Term>
auto smallest(Extent n, const Term& term) {
  return -largest(n, [&](Extent i) { return -term(i); });
}

template <class Backend, class ComplexType>
class Harness {
 public:
  using Complex = ComplexType;

  struct Expectation {
    ein::VertexId vertex;
    reference::Tensor tensor;
    bool exact;
  };

  explicit Harness(ein::LoweringOptions options = {}) : program(options) {}

  /// An input and its data: small whole numbers, `low` at least.
  template <class T, std::size_t Rank>
  auto input(std::string_view name, const Extent (&bound)[Rank], int low = -3) {
    auto symbol = program.template input<T>(name, bound);
    std::array<Extent, Rank> extents{};
    for (std::size_t k = 0; k < Rank; ++k) extents[k] = bound[k];
    return std::pair(symbol,
                     store(symbol.vertex(), Array<T, static_cast<int>(Rank)>(extents), low));
  }
  /// An index tensor and its data: 0 to extent - 1.
  template <class T, std::size_t Rank>
  auto indices(std::string_view name, const Extent (&bound)[Rank], Extent extent) {
    auto [symbol, array] = input<T>(name, bound);
    array.fill([&](auto...) {
      m_state = m_state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<T>((m_state >> 33) % static_cast<std::uint64_t>(extent));
    });
    inputs.back() = tensor_of(array);
    return std::pair(symbol, array);
  }
  template <class T>
  auto scalar(std::string_view name, int low = -3) {
    auto symbol = program.template input<T>(name);
    return std::pair(symbol, store(symbol.vertex(), Array<T, 0>({}), low));
  }

  /// What a result must be, element by element: bit for bit unless `exact` is false.
  template <class S, class Function>
  void expect(const S& symbol, const Function& function, bool exact = true) {
    using T = typename S::value_type;
    const ein::Vertex& v = program.graph()[symbol.vertex()];
    std::array<Extent, static_cast<std::size_t>(S::rank)> extents{};
    for (std::size_t k = 0; k < extents.size(); ++k) extents[k] = v.bound[k];
    Array<T, S::rank> expected(extents);
    expected.fill(function);
    expectations.push_back({symbol.vertex(), tensor_of(expected), exact});
    program.keep(symbol);
  }

  template <class T, int Rank>
  static reference::Tensor tensor_of(const Array<T, Rank>& array) {
    reference::Tensor tensor;
    tensor.kind = ein::element_type<T>().kind;
    for (Extent e : array.extents()) tensor.bound.push_back(e);
    for (const T& x : array.values()) {
      tensor.values.push_back(reference::widened(x));
      tensor.scale = std::max(tensor.scale, reference::detail::magnitude(tensor.values.back()));
    }
    return tensor;
  }

  ein::BasicProgram<Backend> program;
  std::vector<reference::Tensor> inputs;  ///< per vertex
  std::vector<Expectation> expectations;

 private:
  template <class T, int Rank>
  Array<T, Rank> store(ein::VertexId v, Array<T, Rank> array, int low) {
    array.fill([&](auto...) {
      m_state = m_state * 6364136223846793005U + 1442695040888963407U;
      const auto whole = static_cast<int>((m_state >> 33) % 7) + low;
      if constexpr (std::is_arithmetic_v<ein::Widened<T>>) {
        return static_cast<T>(whole);
      } else {
        using Part = typename T::value_type;
        return T(static_cast<Part>(whole), static_cast<Part>((m_state >> 40) % 3));
      }
    });
    inputs.resize(static_cast<std::size_t>(v) + 1);
    inputs.back() = tensor_of(array);
    return array;
  }

  std::uint64_t m_state = 2026;
};

/// How far a result may be from what its case expects.
template <class Expectation>
[[nodiscard]] long double allowed(const Expectation& expected) {
  reference::Tensor tensor = expected.tensor;
  tensor.exact = expected.exact;
  return reference::tolerance(tensor, tensor.scale);
}

/// A user's own ⊗, without a name of its own.
struct WeightedGap {
  double weight;
  template <class A, class B>
  EINDECOMP_FUNCTION constexpr auto operator()(const A& a, const B& b) const {
    return weight * (a < b ? b - a : a - b);
  }
};
/// A user's own ⊕ that is an element's own kind: the greatest common divisor.
struct Gcd {
  static constexpr std::string_view name = "gcd";
  static constexpr bool commutative_monoid = true;
  EINDECOMP_FUNCTION static constexpr std::int64_t identity() { return 0; }
  EINDECOMP_FUNCTION constexpr std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    while (b != 0) {
      const std::int64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a < 0 ? -a : a;
  }
};
/// A user's own ⊕ with an accumulator: the mean.
struct Mean {
  static constexpr std::string_view name = "mean";
  static constexpr bool commutative_monoid = true;
  struct Count {
    double sum;
    std::int64_t count;
  };
  template <class T>
  using State = Count;
  EINDECOMP_FUNCTION static constexpr Count identity() { return {0, 0}; }
  EINDECOMP_FUNCTION constexpr Count operator()(const Count& a, const Count& b) const {
    return {a.sum + b.sum, a.count + b.count};
  }
  template <class T>
  EINDECOMP_FUNCTION constexpr Count lift(const T& value, std::int64_t) const {
    return {static_cast<double>(value), 1};
  }
  EINDECOMP_FUNCTION constexpr double finish(const Count& state) const {
    return state.sum / static_cast<double>(state.count);
  }
};

}  // namespace property
