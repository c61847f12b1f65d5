// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins with comparisons of labels: maps and reductions of every shape, by threads and in tiles,
// against plain loops that ask for each element. What a choice does not look at is no number.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/kernel/generic/masked_signature.hpp"
#include "random_einsum.hpp"
#include "test_launcher.hpp"

using namespace kernel_test;
namespace ein = eindecomp;
using ein::Arg;
using ein::Value;
using ein::expr::node;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Label = ein::expr::LabelNumber;
using ein::kernel::MemoryHints;
using ein::kernel::ResumableMap;

template <std::size_t, class T>
struct Element {  // a class: nvcc loses packs that an alias forgets
  using type = T;
};

int resumed = 0;  ///< how often outputs were computed range by range

/// Labels b, i and j, tensors of T under some of them in any order, and the values of i and j.
template <class Join, class Monoid, class T, class Operands>
class Case;
template <class Join, class Monoid, class T, std::size_t... O>
class Case<Join, Monoid, T, std::index_sequence<O...>> {
  using Launcher = TestLauncher<Space, Join, Monoid, typename Element<O, T>::type..., Label, Label>;
  using Tiles = ein::kernel::JoinAggregateLauncher<Space, Join, Monoid,
                                                   typename Element<O, T>::type..., Label, Label>;
  using Result = typename Launcher::Sig::Result;
  static constexpr bool aggregates = !std::is_same_v<Monoid, ein::NoAggregation>;

 public:
  Case(Random& random, const Join& join) : m_join(join), m_random(random) {
    const bool plain = draw(random, 0, 2) == 0;  // as most programs are
    for (const Extent most : {4, 40, 70}) m_extent.push_back(draw(random, 1, most));
    for (int l = 0; l < 2; ++l) {
      m_first.push_back(draw(random, -5, 40));
      m_step.push_back(plain || draw(random, 0, 5) > 0 ? 1 : 2);
      for (Label n = 0; n < m_step.back() * m_extent[static_cast<std::size_t>(l) + 1]; ++n) {
        m_values[l].push_back(m_first.back() + n);
      }
    }
    const auto tensor = [&](std::vector<int> labels) {
      Tensor drawn(random, std::move(labels), m_extent);
      if (!plain) return drawn;
      drawn.span = 1;
      for (std::size_t k = drawn.labels.size(); k-- > 0; drawn.span *= drawn.extent[k]) {
        drawn.stride[k] = drawn.span;
      }
      return drawn;
    };
    std::vector<int> labels = {0, 1, 2};
    if (aggregates) labels.erase(labels.begin() + draw(random, 1, 2));
    m_output.push_back(tensor(labels));
    for (std::size_t o = 0; o < sizeof...(O); ++o) {
      labels = {0, 1, 2};
      const Extent without = draw(random, 0, 9);  // that is the same along i or j
      if (without == 1 || without == 2) labels.erase(labels.begin() + without);
      m_operands.push_back(tensor(labels));
      std::vector<T> data(static_cast<std::size_t>(m_operands.back().span));
      for (T& x : data) x = T(static_cast<float>(draw(random, -9, 9)));
      m_data.push_back(std::move(data));
    }
  }

  /// Lets elements of operands that have all labels be NaN where they are not looked at.
  template <class Looks>
  void hide(const Looks& looks) {
    each_index([&](const std::vector<Extent>& at) {
      for (std::size_t o = 0; o < sizeof...(O); ++o) {
        if (m_operands[o].labels.size() < 3 || looks(o, label(0, at), label(1, at))) continue;
        element(o, at) = T(std::numeric_limits<float>::quiet_NaN());
      }
    });
  }

  /// \param term  of i, j and the elements
  template <class Term>
  void check(const Term& term) {
    std::vector<Result> expected(static_cast<std::size_t>(m_output[0].span), Result(-3));
    std::vector<bool> begun(expected.size());
    each_index([&](const std::vector<Extent>& at) {
      const auto place = static_cast<std::size_t>(m_output[0].offset(at));
      const auto value = static_cast<Result>(
          term(label(0, at), label(1, at), ein::expr::widened(element(O, at))...));
      expected[place] = begun[place] ? Result(Monoid{}(expected[place], value)) : value;
      begun[place] = true;
    });
    const auto compare = [&](const std::vector<Result>& written, const char* how) {
      CAPTURE(std::string(how));
      CAPTURE(m_extent[1]);
      CAPTURE(m_extent[2]);
      CAPTURE(m_first[0]);
      CAPTURE(m_first[1]);
      bool equal = true;
      for (std::size_t n = 0; n < written.size(); ++n) equal = equal && written[n] == expected[n];
      REQUIRE(equal);
    };

    const LocalEinsum shape = this->shape();
    const void* const operands[] = {m_data[O].data()..., m_values[0].data(), m_values[1].data()};
    const Launcher launcher(m_join);
    std::vector<Result> written(expected.size(), Result(-3));
    launcher.join(Space(), shape, operands, written.data(), Write::finished);
    Kokkos::fence();
    compare(written, "at once");
    const auto tile = Tiles(m_join).prepare_tile(shape);
    for (const bool streamed : {false, true}) {
      MemoryHints hints;
      hints.streamed = streamed;
      written.assign(written.size(), Result(-3));
      tile->run(operands, written.data(), hints);
      ein::kernel::end_tiles();
      compare(written, streamed ? "a tile past the caches" : "a tile");
      const Extent outputs = tile->resumable_outputs();
      if (outputs == 0) continue;
      ++resumed;
      written.assign(written.size(), Result(-3));
      ResumableMap call = tile->resumable(operands, written.data(), hints);
      for (Extent begin = 0; begin < outputs;) {
        const Extent end = std::min(outputs, begin + draw(m_random, 1, 60));
        call.compute(call, begin, end);
        begin = end;
      }
      ein::kernel::end_tiles();
      compare(written, "range by range");
    }
    if constexpr (aggregates) {
      launcher.join(Space(), shape, operands, written.data(), Write::accumulate);
      Kokkos::fence();
      for (std::size_t n = 0; n < expected.size(); ++n) {
        if (begun[n]) expected[n] = Monoid{}(expected[n], expected[n]);
      }
      compare(written, "accumulated");
    }
  }

 private:
  template <class Visit>
  void each_index(const Visit& visit) {
    std::vector<Extent> at(3);
    for (at[0] = 0; at[0] < m_extent[0]; ++at[0]) {
      for (at[1] = 0; at[1] < m_extent[1]; ++at[1]) {
        for (at[2] = 0; at[2] < m_extent[2]; ++at[2]) visit(at);
      }
    }
  }
  [[nodiscard]] Label label(std::size_t l, const std::vector<Extent>& at) const {
    return m_first[l] + at[l + 1] * m_step[l];
  }
  [[nodiscard]] T& element(std::size_t o, const std::vector<Extent>& at) {
    return m_data[o][static_cast<std::size_t>(m_operands[o].offset(at))];
  }
  [[nodiscard]] LocalEinsum shape() const {
    LocalEinsum shape;
    shape.labels = 3;
    shape.operands = static_cast<int>(sizeof...(O)) + 2;
    shape.values = 2;
    const auto set = [](const Tensor& tensor, Extent* strides) {
      for (std::size_t k = 0; k < tensor.labels.size(); ++k) {
        strides[tensor.labels[k]] = tensor.stride[k];
      }
    };
    for (std::size_t o = 0; o < sizeof...(O); ++o) set(m_operands[o], shape.operand_stride[o]);
    for (int l = 0; l < 2; ++l) {
      shape.operand_stride[sizeof...(O) + static_cast<std::size_t>(l)][l + 1] =
          m_step[static_cast<std::size_t>(l)];
    }
    set(m_output[0], shape.output_stride);
    for (int l = 0; l < 3; ++l) {
      const std::vector<int>& kept = m_output[0].labels;
      shape.extent[l] = m_extent[static_cast<std::size_t>(l)];
      shape.aggregated[l] = std::find(kept.begin(), kept.end(), l) == kept.end();
    }
    return shape;
  }

  Join m_join;
  Random& m_random;
  std::vector<Extent> m_extent;
  std::vector<Label> m_first;
  std::vector<Extent> m_step;
  std::vector<Label> m_values[2];
  std::vector<Tensor> m_operands;
  std::vector<std::vector<T>> m_data;
  std::vector<Tensor> m_output;
};

constexpr auto everywhere = [](std::size_t, Label, Label) { return true; };

/// Random cases of a join of so many tensors. \param looks  whether ⊗ looks at one, at (i, j)
template <class Monoid, class T, std::size_t Tensors, class Join, class Looks, class Term>
void check(const char* what, const Join& join, const Looks& looks, const Term& term) {
  CAPTURE(std::string(what));
  Random random(Tensors + sizeof(T));
  for (int n = 0; n < 60; ++n) {
    CAPTURE(n);
    Case<Join, Monoid, T, std::make_index_sequence<Tensors>> drawn(random, join);
    drawn.hide(looks);
    drawn.check(term);
  }
}

/// Masks of the labels i and j that are operands I and J of a join: as joins, and by number.
template <int I>
struct Masks {
  static constexpr Arg<I> i{};
  static constexpr Arg<I + 1> j{};
  using Sum2 = ein::expr::AffineValue<2>;

  static auto below() { return node(ein::LessEqual{}, j, i); }
  static bool below(Label i_, Label j_) { return j_ <= i_; }
  /// Above a line through both.
  static auto above() { return node(ein::Greater{}, node(Sum2{{3, -2}, 5}, j, i), Value<int>{11}); }
  static bool above(Label i_, Label j_) { return 3 * j_ - 2 * i_ + 5 > 11; }
  static auto band() {
    return node(ein::And{}, below(),
                node(ein::Less{}, node(Sum2{{1, -1}, 0}, i, j), Value<int>{9}));
  }
  static bool band(Label i_, Label j_) { return j_ <= i_ && i_ - j_ < 9; }
  static auto diagonal() { return node(ein::Equal{}, i, node(Sum2{{2, 0}, -7}, j, i)); }
  static bool diagonal(Label i_, Label j_) { return i_ == 2 * j_ - 7; }
  static auto outside() {
    return node(ein::Or{}, node(ein::NotEqual{}, i, j), node(ein::Not{}, above()));
  }
  static bool outside(Label i_, Label j_) { return i_ != j_ || !above(i_, j_); }
  /// Windows so wide that j - i never comes near what bounds it.
  static auto unlimited() {
    constexpr Label most = std::numeric_limits<Label>::max();
    return node(ein::And{},
                node(ein::LessEqual{}, node(Sum2{{1, -1}, 0}, j, i), Value<Label>{most}),
                node(ein::Greater{}, node(Sum2{{1, -1}, 0}, j, i), Value<Label>{-most - 1}));
  }
};

constexpr float infinity_f = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE_TEMPLATE("maps under masks", T, float, double, std::int32_t) {
  using M = Masks<1>;
  using None = ein::NoAggregation;
  const T other = std::is_integral_v<T> ? T(-17) : T(-infinity_f);
  check<None, T, 1>(
      "select below", node(ein::Select{}, M::below(), Arg<0>{}, Value<T>{other}),
      [](std::size_t, Label i, Label j) { return std::is_integral_v<T> || M::below(i, j); },
      [&](Label i, Label j, T x) { return M::below(i, j) ? x : other; });
  check<None, T, 1>("product above", node(ein::Mul{}, M::above(), Arg<0>{}), everywhere,
                    [](Label i, Label j, T x) { return M::above(i, j) ? x : T(0); });
  check<None, T, 1>(
      "squares in a band",
      node(ein::Select{}, M::band(), node(ein::SqDiff{}, Arg<0>{}, Value<T>{2}), Value<T>{1}),
      [](std::size_t, Label i, Label j) { return std::is_integral_v<T> || M::band(i, j); },
      [](Label i, Label j, T x) { return M::band(i, j) ? (x - 2) * (x - 2) : T(1); });
  check<None, T, 1>("a diagonal added", node(ein::Add{}, Arg<0>{}, M::diagonal()), everywhere,
                    [](Label i, Label j, T x) { return x + (M::diagonal(i, j) ? T(1) : T(0)); });
  check<None, T, 1>("a window without bounds", node(ein::Mul{}, M::unlimited(), Arg<0>{}),
                    everywhere, [](Label, Label, T x) { return x; });
  using M2 = Masks<2>;
  check<None, T, 2>(
      "one or the other", node(ein::Select{}, M2::outside(), Arg<0>{}, Arg<1>{}),
      [](std::size_t o, Label i, Label j) {
        return std::is_integral_v<T> || M2::outside(i, j) == (o == 0);
      },
      [](Label i, Label j, T x, T y) { return M2::outside(i, j) ? x : y; });
  check<None, T, 2>("two masks",
                    node(ein::Add{}, node(ein::Mul{}, M2::below(), Arg<0>{}),
                         node(ein::Select{}, M2::above(), Arg<1>{}, Value<T>{5})),
                    everywhere, [](Label i, Label j, T x, T y) {
                      return (M2::below(i, j) ? x : T(0)) + (M2::above(i, j) ? y : T(5));
                    });
  using M3 = Masks<3>;
  check<None, T, 3>(
      "of three",
      node(ein::Sub{}, node(ein::Mul{}, Arg<0>{}, node(ein::Mul{}, M3::band(), Arg<1>{})),
           Arg<2>{}),
      everywhere,
      [](Label i, Label j, T x, T y, T z) { return (M3::band(i, j) ? x * y : T(0)) - z; });
}

TEST_CASE("masks alone, and of 16 bits") {
  using None = ein::NoAggregation;
  using M0 = Masks<0>;
  check<None, float, 0>("the mask", ein::Less{}, everywhere,
                        [](Label i, Label j) { return i < j ? 1 : 0; });
  check<None, float, 0>("as a number", node(ein::Cast<double>{}, M0::outside()), everywhere,
                        [](Label i, Label j) { return M0::outside(i, j) ? 1.0 : 0.0; });
  using M = Masks<1>;
  const auto looks = [](std::size_t, Label i, Label j) { return M::band(i, j); };
  const auto term = [](Label i, Label j, float x) { return M::band(i, j) ? x * x : -infinity_f; };
  const auto join = node(ein::Select{}, M::band(), node(ein::Mul{}, Arg<0>{}, Arg<0>{}),
                         Value<float>{-infinity_f});
  check<None, ein::float16, 1>("of halves", join, looks, term);
  check<None, ein::float16, 1>(
      "to halves", node(ein::Cast<ein::float16>{}, join), looks,
      [&](Label i, Label j, float x) { return ein::float16(term(i, j, x)); });
  check<None, ein::bfloat16, 1>(
      "to bfloat16", node(ein::Cast<ein::bfloat16>{}, join), looks,
      [&](Label i, Label j, float x) { return ein::bfloat16(term(i, j, x)); });
}

TEST_CASE_TEMPLATE("reductions under masks", T, float, double, std::int32_t) {
  using M = Masks<1>;
  const T least = std::is_integral_v<T> ? std::numeric_limits<T>::lowest() : T(-infinity_f);
  check<ein::Max, T, 1>(
      "max below", node(ein::Select{}, M::below(), Arg<0>{}, Value<T>{least}),
      [](std::size_t, Label i, Label j) { return std::is_integral_v<T> || M::below(i, j); },
      [&](Label i, Label j, T x) { return M::below(i, j) ? x : least; });
  check<ein::Sum, T, 1>("sum above", node(ein::Mul{}, M::above(), Arg<0>{}), everywhere,
                        [](Label i, Label j, T x) { return M::above(i, j) ? x : T(0); });
  check<ein::Sum, T, 1>(
      "sum of squares, or threes",
      node(ein::Select{}, M::band(), node(ein::Mul{}, Arg<0>{}, Arg<0>{}), Value<T>{3}),
      [](std::size_t, Label i, Label j) { return std::is_integral_v<T> || M::band(i, j); },
      [](Label i, Label j, T x) { return M::band(i, j) ? x * x : T(3); });
  check<ein::Min, T, 1>(
      "min, or minus seven", node(ein::Select{}, M::outside(), Arg<0>{}, Value<T>{-7}),
      [](std::size_t, Label i, Label j) { return std::is_integral_v<T> || M::outside(i, j); },
      [](Label i, Label j, T x) { return M::outside(i, j) ? x : T(-7); });
  using M2 = Masks<2>;
  check<ein::Sum, T, 2>(
      "sum of one or the other", node(ein::Select{}, M2::diagonal(), Arg<0>{}, Arg<1>{}),
      [](std::size_t o, Label i, Label j) {
        return std::is_integral_v<T> || M2::diagonal(i, j) == (o == 0);
      },
      [](Label i, Label j, T x, T y) { return M2::diagonal(i, j) ? x : y; });
  check<ein::Sum, T, 2>("sum of products", node(ein::Mul{}, M2::below(), Arg<0>{}, Arg<1>{}),
                        everywhere,
                        [](Label i, Label j, T x, T y) { return M2::below(i, j) ? x * y : T(0); });
}

TEST_CASE("sums of many equal terms under masks are as accurate as few") {
  if (!ein::kernel::detail::has_vectors) return;
  constexpr Extent rows = 3;
  constexpr Extent columns = 125000;
  const auto join = node(ein::Select{}, Masks<1>::below(), Arg<0>{}, Value<float>{0.1F});
  const TestLauncher<Space, decltype(join), ein::Sum, float, Label, Label> launcher(join);
  LocalEinsum shape;
  shape.labels = 2;
  shape.operands = 3;
  shape.values = 2;
  shape.extent[0] = rows;
  shape.extent[1] = columns;
  shape.aggregated[1] = true;
  shape.operand_stride[0][0] = columns;
  shape.operand_stride[0][1] = 1;
  shape.operand_stride[1][0] = shape.operand_stride[2][1] = 1;
  shape.output_stride[0] = 1;
  const std::vector<float> x(rows * columns, 0.0F);
  std::vector<Label> values(columns);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<Label>(n);
  const void* const operands[] = {x.data(), values.data(), values.data()};
  std::vector<float> sums(rows);
  launcher.join(Space(), shape, operands, sums.data(), Write::finished);
  Kokkos::fence();
  for (Extent i = 0; i < rows; ++i) {
    const auto count = static_cast<double>(columns - i - 1);
    CHECK(sums[static_cast<std::size_t>(i)] == doctest::Approx(count * 0.1F).epsilon(1e-6));
  }
}

TEST_CASE("what the cases above reach") {
  CHECK(resumed > 300);
  using M = Masks<1>;
  using Selected = decltype(node(ein::Select{}, M::below(), Arg<0>{}, Value<float>{0}));
  CHECK((
      ein::kernel::detail::maps_masked_lanes<Selected, ein::NoAggregation, float, Label, Label>() ==
      ein::kernel::detail::has_vectors));
  CHECK((ein::kernel::detail::reduces_masked<Selected, ein::Sum, float, Label, Label>() ==
         ein::kernel::detail::has_vectors));
  // A label as a number is no mask.
  using Ramp = decltype(node(ein::Mul{}, M::below(), Arg<0>{}, Arg<1>{}));
  CHECK(!ein::kernel::detail::maps_masked<Ramp, ein::NoAggregation, double, Label, Label>());
}
