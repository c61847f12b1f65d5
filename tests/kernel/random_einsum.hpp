// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random local EinSums, and what they must give: plain loops over std::vectors that share no code
// with the kernels.
#pragma once

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/kernel/backend.hpp"
#include "test_launcher.hpp"

namespace kernel_test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Finishes an accumulator that is the result.
inline constexpr auto same = [](const auto& accumulator) { return accumulator; };

using eindecomp::Extent;
using eindecomp::kernel::Algorithm;
using eindecomp::kernel::LocalEinsum;
using eindecomp::kernel::StridedBox;
using eindecomp::kernel::Write;

using Random = std::mt19937_64;

inline Extent draw(Random& random, Extent low, Extent high) {
  return std::uniform_int_distribution<Extent>(low, high)(random);
}
template <class T>
const T& pick(Random& random, const std::vector<T>& of) {
  return of[static_cast<std::size_t>(draw(random, 0, static_cast<Extent>(of.size()) - 1))];
}

/// C(i,k) = ⊕_j A(i,j) ⊗ B(j,k) of row-major n x n matrices.
inline LocalEinsum square_product(Extent n) {
  LocalEinsum shape;
  shape.labels = 3;
  shape.operands = 2;
  for (int l = 0; l < 3; ++l) shape.extent[l] = n;
  shape.aggregated[1] = true;
  shape.operand_stride[0][0] = shape.operand_stride[1][1] = shape.output_stride[0] = n;
  shape.operand_stride[0][1] = shape.operand_stride[1][2] = shape.output_stride[2] = 1;
  return shape;
}

/// A tensor's memory: labels, extents and strides per dimension, elements it spans.
struct Tensor {
  std::vector<int> labels;
  std::vector<Extent> extent;
  std::vector<Extent> stride;
  Extent span = 0;

  /// Any order of dimensions in memory, now and then with gaps.
  Tensor(Random& random, std::vector<int> its_labels, const std::vector<Extent>& label_extent)
      : labels(std::move(its_labels)), stride(labels.size()) {
    for (int l : labels) extent.push_back(label_extent[static_cast<std::size_t>(l)]);
    std::vector<std::size_t> order(labels.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    switch (draw(random, 0, 2)) {
      case 0:  // LayoutLeft
        break;
      case 1:  // LayoutRight
        std::reverse(order.begin(), order.end());
        break;
      default:
        std::shuffle(order.begin(), order.end(), random);
    }
    const bool gaps = draw(random, 0, 3) == 0;
    Extent step = gaps ? draw(random, 1, 2) : 1;
    for (std::size_t k : order) {
      stride[k] = step;
      step *= std::max<Extent>(extent[k], 1) + (gaps ? draw(random, 0, 2) : 0);
    }
    span = step;
  }

  /// Lets a dimension walk in small steps of another one: windows that overlap.
  void overlap(Random& random) {
    if (labels.size() < 2) return;
    const auto last = static_cast<Extent>(labels.size()) - 1;
    const auto along = static_cast<std::size_t>(draw(random, 0, last));
    const auto within = static_cast<std::size_t>(draw(random, 0, last));
    if (along == within) return;
    stride[along] = draw(random, 1, 3) * stride[within];
    span = 1;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      span += stride[k] * (std::max<Extent>(extent[k], 1) - 1);
    }
  }

  [[nodiscard]] Extent offset(const std::vector<Extent>& index) const {
    Extent sum = 0;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      sum += index[static_cast<std::size_t>(labels[k])] * stride[k];
    }
    return sum;
  }
};

struct Einsum {
  std::vector<Extent> extent;
  std::vector<Extent> begin;
  std::vector<Tensor> operands;
  std::vector<Tensor> output;  // one
  bool special_values = false;

  [[nodiscard]] bool aggregated(int label) const {
    const std::vector<int>& labels = output[0].labels;
    return std::find(labels.begin(), labels.end(), label) == labels.end();
  }

  [[nodiscard]] LocalEinsum shape() const {
    LocalEinsum shape;
    shape.labels = static_cast<int>(extent.size());
    shape.operands = static_cast<int>(operands.size());
    for (int l = 0; l < shape.labels; ++l) {
      shape.extent[l] = extent[static_cast<std::size_t>(l)];
      shape.begin[l] = begin[static_cast<std::size_t>(l)];
      shape.aggregated[l] = aggregated(l);
    }
    for (std::size_t t = 0; t < operands.size(); ++t) {
      for (std::size_t k = 0; k < operands[t].labels.size(); ++k) {
        shape.operand_stride[t][operands[t].labels[k]] += operands[t].stride[k];
      }
    }
    for (std::size_t k = 0; k < output[0].labels.size(); ++k) {
      shape.output_stride[output[0].labels[k]] = output[0].stride[k];
    }
    return shape;
  }

  [[nodiscard]] StridedBox box() const {
    StridedBox box;
    box.rank = static_cast<int>(output[0].labels.size());
    for (std::size_t k = 0; k < output[0].labels.size(); ++k) {
      box.extent[k] = output[0].extent[k];
      box.into_stride[k] = box.from_stride[k] = output[0].stride[k];
    }
    return box;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    const auto add = [&](const Tensor& tensor) {
      text += '(';
      for (std::size_t k = 0; k < tensor.labels.size(); ++k) {
        text += ' ' + std::to_string(tensor.labels[k]) + ':' + std::to_string(tensor.extent[k]) +
                '*' + std::to_string(tensor.stride[k]);
      }
      text += " )";
    };
    for (const Tensor& operand : operands) add(operand);
    text += " -> ";
    add(output[0]);
    return text;
  }
};

/// What random statements are drawn from.
struct Family {
  int min_labels = 0;
  int max_labels = 5;
  std::vector<Extent> extents{0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 19};
  Extent max_joins = 20000;
  bool elementwise = false;     ///< every label in the output
  bool one_aggregated = false;  ///< exactly one label aggregated, for argmin
  bool long_reduction = false;  ///< one aggregated label of some ten thousand
  bool products = false;        ///< of two operands: every label in at least two tensors
  bool special_values = false;  ///< infinities and NaN among the elements
  bool windows = false;         ///< an operand is read by windows that overlap
};

/// Any labels, of these extents, which are about a tile's.
inline Family any_labels(std::vector<Extent> extents) {
  Family family;
  family.extents = std::move(extents);
  family.max_joins = 12000;
  return family;
}
/// Of the same extents, a label of M, of N and of K at least.
inline Family any_product(Family family, Extent max_joins) {
  family.min_labels = 3;
  family.products = true;
  family.max_joins = max_joins;
  return family;
}

inline Einsum draw_einsum(Random& random, int operands, const Family& family) {
  for (;;) {
    Einsum einsum;
    einsum.special_values = family.special_values;
    const int labels = static_cast<int>(draw(random, family.min_labels, family.max_labels));
    Extent joins = 1;
    for (int l = 0; l < labels; ++l) {
      einsum.extent.push_back(pick(random, family.extents));
      einsum.begin.push_back(draw(random, 0, 100));
    }
    if (family.long_reduction && labels > 0) einsum.extent[0] = draw(random, 20000, 60000);
    for (Extent e : einsum.extent) joins *= std::max<Extent>(e, 1);
    if (joins > (family.long_reduction ? 400000 : family.max_joins)) continue;

    // Each label in at least one operand, now and then twice in one.
    std::vector<std::vector<int>> lists(static_cast<std::size_t>(operands));
    for (int l = 0; l < labels; ++l) {
      bool used = false;
      for (std::vector<int>& list : lists) {
        if (draw(random, 0, 99) < 60) {
          list.push_back(l);
          used = true;
          if (draw(random, 0, 99) < 6) list.push_back(l);
        }
      }
      if (!used) lists[static_cast<std::size_t>(draw(random, 0, operands - 1))].push_back(l);
    }
    std::vector<int> output;
    if (family.products) {
      for (std::vector<int>& list : lists) list.clear();
      for (int l = 0; l < labels; ++l) {
        // 0-2: M, 3-5: N, 6-8: K, 9: batch; the first three labels one of each.
        const Extent missing = l < 3 ? 3 * l : draw(random, 0, 9);
        if (missing < 3 || missing > 5) lists[0].push_back(l);
        if (missing > 2) lists[1].push_back(l);
        if (missing < 6 || missing > 8) output.push_back(l);
      }
    }
    for (int l = 0; l < labels && !family.products; ++l) {
      bool out = draw(random, 0, 1) == 0;
      if (family.elementwise) out = true;
      if (family.one_aggregated) out = l != 0;
      if (family.long_reduction && l == 0) out = false;
      if (out) output.push_back(l);
    }
    // Now and then a label that only the output has.
    if (draw(random, 0, 9) == 0 && !family.long_reduction && !family.products) {
      output.push_back(labels);
      einsum.extent.push_back(draw(random, 1, 4));
      einsum.begin.push_back(0);
    }
    std::shuffle(output.begin(), output.end(), random);
    Extent span = 0;
    for (std::vector<int>& list : lists) {
      std::shuffle(list.begin(), list.end(), random);
      einsum.operands.emplace_back(random, list, einsum.extent);
      if (family.windows && einsum.operands.size() == 1) einsum.operands[0].overlap(random);
      span = std::max(span, einsum.operands.back().span);
    }
    einsum.output.emplace_back(random, output, einsum.extent);
    if (std::max(span, einsum.output[0].span) > 2000000) continue;
    return einsum;
  }
}

/// All positions 0 <= index < extent of the labels for which `chosen`, the others as they are.
template <class Body>
void for_each_index(const std::vector<Extent>& extent, const std::vector<bool>& chosen,
                    std::vector<Extent>& index, std::size_t label, const Body& body) {
  if (label == extent.size()) {
    body();
  } else if (!chosen[label]) {
    for_each_index(extent, chosen, index, label + 1, body);
  } else {
    for (index[label] = 0; index[label] < extent[label]; ++index[label]) {
      for_each_index(extent, chosen, index, label + 1, body);
    }
    index[label] = 0;
  }
}

template <class T>
T draw_value(Random& random) {
  // Small integers: sums and products of them are exact in every type.
  const Extent integer = draw(random, -3, 3);
  if constexpr (std::is_arithmetic_v<eindecomp::Widened<T>>) {
    return static_cast<T>(integer);
  } else {
    using Real = typename T::value_type;
    return T(static_cast<Real>(integer), static_cast<Real>(draw(random, -2, 2)));
  }
}

/// Now and then an infinity or NaN, but often none at all.
template <class T>
void make_special(Random& random, std::vector<T>& elements) {
  if constexpr (std::is_floating_point_v<eindecomp::Widened<T>>) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (Extent times = draw(random, 0, 3); times > 0 && !elements.empty(); --times) {
      const Extent at = draw(random, 0, static_cast<Extent>(elements.size()) - 1);
      elements[static_cast<std::size_t>(at)] =
          pick<T>(random, {infinity, T(-infinity), std::numeric_limits<T>::quiet_NaN()});
    }
  }
}

template <class T>
bool close(const T& got, const T& expected, double tolerance) {
  if (got == expected) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(expected)) return std::isnan(got);
    if (std::isinf(expected)) return false;
    return std::abs(got - expected) <= tolerance * std::max<T>(1, std::abs(expected));
  } else {
    return false;
  }
}

/// What an operator signature must compute, spelled out by the test.
///   term(operands...)          the join
///   fold(accumulator, value, index)
///   finish(accumulator)
template <class Accumulator, class Term, class Fold, class Finish>
struct Expectation {
  Accumulator start;
  Term term;
  Fold fold;
  Finish finish;
  double tolerance = 0;
};
template <class Accumulator, class Term, class Fold, class Finish>
Expectation(Accumulator, Term, Fold, Finish, double)
    -> Expectation<Accumulator, Term, Fold, Finish>;

/// A vector's elements where Space can reach them: the vector itself, or a copy of it.
template <class Space, class T>
class InSpace {
 public:
  explicit InSpace(std::vector<T>& host) : m_host(host) {
    if constexpr (copied) {
      m_copy =
          Bytes(Kokkos::view_alloc(Kokkos::WithoutInitializing, "copy"), host.size() * sizeof(T));
      Kokkos::deep_copy(m_copy, on_host());
    }
  }
  [[nodiscard]] T* data() const {
    return copied ? reinterpret_cast<T*>(m_copy.data()) : m_host.data();
  }
  /// Brings back to the vector what was written.
  void fetch() const {
    if constexpr (copied) Kokkos::deep_copy(on_host(), m_copy);
  }

 private:
  static constexpr bool copied =
      !eindecomp::compat::accessible<Kokkos::HostSpace, typename Space::memory_space>;
  using Bytes = Kokkos::View<unsigned char*, typename Space::memory_space>;
  using HostBytes =
      Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  [[nodiscard]] HostBytes on_host() const {
    return HostBytes(reinterpret_cast<unsigned char*>(m_host.data()), m_host.size() * sizeof(T));
  }

  std::vector<T>& m_host;
  Bytes m_copy;
};

/// A value and the smallest of the indices it has.
struct Best {
  double value;
  std::int64_t index;
};
/// The index of the smallest a + b.
inline auto argmin_of_sums() {
  return Expectation{
      Best{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()},
      [](double a, double b) { return a + b; },
      [](Best& best, double value, Extent index) {
        if (value < best.value || (value == best.value && index < best.index)) {
          best = {value, index};
        }
      },
      [](const Best& best) { return best.index; }, 0.0};
}

/// How often each algorithm was taken.
using AlgorithmCounts = std::map<Algorithm, int>;

/// Runs one random EinSum through a launcher and compares it with plain loops.
template <class... Ts, class Launcher, class Expected>
void check_one(const Einsum& einsum, Random& random, const Launcher& launcher,
               const Expected& expected, AlgorithmCounts& counts) {
  using State = typename Launcher::State;
  using Result = typename Launcher::Result;
  using Monoid = typename Launcher::Sig::Monoid;
  using Space = typename Launcher::ExecutionSpace;
  const Space space;
  const LocalEinsum shape = einsum.shape();
  const Tensor& output = einsum.output[0];

  std::tuple<std::vector<Ts>...> data;
  std::tuple<std::optional<InSpace<Space, Ts>>...> operands;
  std::vector<const void*> pointers;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          auto& elements = std::get<I>(data);
          elements.resize(static_cast<std::size_t>(einsum.operands[I].span));
          for (auto& element : elements) {
            element = draw_value<std::decay_t<decltype(element)>>(random);
          }
          if (einsum.special_values) make_special(random, elements);
          std::get<I>(operands).emplace(elements);
          pointers.push_back(std::get<I>(operands)->data());
        }(),
        ...);
  }
  (std::index_sequence_for<Ts...>{});

  // Elements between those of the box must stay as they are.
  const auto guard = [] {
    Result value{};
    std::fill_n(reinterpret_cast<unsigned char*>(&value), sizeof(Result), std::uint8_t{0x5a});
    return value;
  }();
  std::vector<Result> result(static_cast<std::size_t>(output.span), guard);
  std::vector<State> states(static_cast<std::size_t>(output.span));
  std::vector<State> others(static_cast<std::size_t>(output.span));
  const InSpace<Space, Result> into(result);
  const InSpace<Space, State> state(states);
  const InSpace<Space, State> other(others);
  const int mode =
      static_cast<int>(draw(random, 0, std::is_same_v<Monoid, eindecomp::NoAggregation> ? 1 : 3));
  LocalEinsum later = shape;
  for (Extent& begin : later.begin) begin += 1000;
  const StridedBox box = einsum.box();
  // Every other call is given exactly what it says it needs.
  using Space = typename Launcher::ExecutionSpace;
  eindecomp::Workspace<Space> workspace;
  std::optional<eindecomp::ScopedWorkspace<Space>> scope;
  if constexpr (requires { launcher.workspace_bytes(space, shape); }) {
    if (einsum.extent.size() % 2 == 0) {
      workspace = eindecomp::Workspace<Space>(
          "workspace", static_cast<std::size_t>(launcher.workspace_bytes(space, shape)));
      scope.emplace(workspace);
    }
  }
  switch (mode) {
    case 0:
      launcher.join(space, shape, pointers.data(), into.data(), Write::finished);
      break;
    case 1:
      launcher.join(space, shape, pointers.data(), state.data(), Write::partial);
      launcher.finish(space, box, into.data(), state.data());
      break;
    case 2:
      launcher.join(space, shape, pointers.data(), state.data(), Write::partial);
      launcher.join(space, later, pointers.data(), state.data(), Write::accumulate);
      launcher.finish(space, box, into.data(), state.data());
      break;
    default:
      launcher.join(space, later, pointers.data(), state.data(), Write::partial);
      launcher.join(space, shape, pointers.data(), other.data(), Write::partial);
      launcher.combine(space, box, state.data(), other.data());
      launcher.finish(space, box, into.data(), state.data());
  }
  Kokkos::fence();
  into.fetch();
  const Algorithm algorithm = launcher.algorithm(shape);
  ++counts[algorithm];

  const std::size_t labels = einsum.extent.size();
  std::vector<bool> in_output(labels);
  std::vector<bool> aggregated(labels);
  int aggregated_label = -1;
  int aggregated_count = 0;
  for (std::size_t l = 0; l < labels; ++l) {
    aggregated[l] = einsum.aggregated(static_cast<int>(l));
    in_output[l] = !aggregated[l];
    if (aggregated[l]) {
      aggregated_label = static_cast<int>(l);
      ++aggregated_count;
    }
  }
  std::vector<Extent> index(labels, 0);
  std::vector<Result> reference(result.size(), guard);
  for_each_index(einsum.extent, in_output, index, 0, [&] {
    auto accumulator = expected.start;
    for (int pass = 0; pass < (mode < 2 ? 1 : 2); ++pass) {
      for_each_index(einsum.extent, aggregated, index, 0, [&] {
        const auto value = [&]<std::size_t... I>(std::index_sequence<I...>) {
          return expected.term(
              std::get<I>(data)[static_cast<std::size_t>(einsum.operands[I].offset(index))]...);
        }
        (std::index_sequence_for<Ts...>{});
        Extent at = 0;
        if (aggregated_count == 1) {
          const auto label = static_cast<std::size_t>(aggregated_label);
          at = einsum.begin[label] + 1000 * pass + index[label];
        }
        expected.fold(accumulator, value, at);
      });
    }
    reference[static_cast<std::size_t>(output.offset(index))] =
        static_cast<Result>(expected.finish(accumulator));
  });
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!close(result[i], reference[i], expected.tolerance) &&
        !std::equal(reinterpret_cast<const unsigned char*>(&result[i]),
                    reinterpret_cast<const unsigned char*>(&result[i] + 1),
                    reinterpret_cast<const unsigned char*>(&reference[i]))) {
      CAPTURE(einsum.text());
      CAPTURE(mode);
      CAPTURE(eindecomp::kernel::to_string(algorithm));
      CAPTURE(i);
      REQUIRE_MESSAGE(false, "kernel and plain loops differ");
    }
  }
}

/// `cases` random EinSums of a launcher's; the seed is in the message of a failure.
template <class... Ts, class Launcher, class Expected>
AlgorithmCounts check_launcher(int cases, std::uint64_t seed, const Family& family,
                               const Launcher& launcher, const Expected& expected) {
  AlgorithmCounts counts;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t case_seed = seed * 100003 + static_cast<std::uint64_t>(i);
    CAPTURE(case_seed);
    Random random(case_seed);
    const Einsum einsum = draw_einsum(random, static_cast<int>(sizeof...(Ts)), family);
    check_one<Ts...>(einsum, random, launcher, expected, counts);
  }
  CHECK_FALSE(counts.empty());
  return counts;
}

/// The same of one signature on one space.
template <class Space, class Join, class Monoid, class... Ts, class Expected>
AlgorithmCounts check_random(int cases, std::uint64_t seed, const Family& family, const Join& join,
                             const Monoid& monoid, const Expected& expected) {
  const TestLauncher<Space, Join, Monoid, Ts...> launcher(join, monoid);
  return check_launcher<Ts...>(cases, seed, family, launcher, expected);
}

}  // namespace kernel_test
