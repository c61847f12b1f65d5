// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices, windows, convolutions and blocks as NumPy, SciPy and JAX have them, on all ranks.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "eindecomp/graph/blocks.hpp"
#include "eindecomp/graph/concat.hpp"
#include "eindecomp/graph/scan.hpp"
#include "eindecomp/graph/statistics.hpp"
#include "property/numpy/numpy_check.hpp"
#include "property/numpy/windows.hpp"
#include "property/typed_run.hpp"
#include "support/cases.hpp"

using namespace eindecomp::labels;
namespace ein = eindecomp;
using ein::concat;
using ein::extent;
using ein::Extent;
using ein::let;
using ein::range;
using ein::value;
using ein::whole;
using ein::zero;

namespace {

/// A program with what its results must be, cut in several ways.
class Windows {
 public:
  Windows() {
    MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &m_ranks);
  }

  /// Begins a tensor that is written block by block.
  template <std::size_t Rank, class... Fill>
  auto blocks(const Extent (&bound)[Rank], Fill... fill) {
    return ein::blocks<double>(m_harness.program, "Z", bound, fill...);
  }

  template <std::size_t Rank>
  auto input(const Extent (&bound)[Rank], int operand) {
    auto& program = m_harness.program;
    const std::string name = "X" + std::to_string(program.graph().size());
    auto symbol = program.template input<double>(name, bound);
    m_harness.inputs.resize(static_cast<std::size_t>(symbol.vertex()) + 1);
    m_harness.inputs.back() =
        property::numpy::values(std::vector<Extent>(bound, bound + Rank), operand);
    return symbol;
  }

  /// The result has the values stored under a name, whatever its dimensions.
  template <class S>
  void expect(const char* name, const S& symbol) {
    const property::numpy::Expected& stored = property::numpy::windows.at(name);
    reference::Tensor tensor;
    tensor.bound = m_harness.program.graph()[symbol.vertex()].bound;
    for (const double value : stored.values) tensor.values.emplace_back(value);
    m_harness.expectations.push_back({symbol.vertex(), tensor, true});
    m_harness.program.keep(symbol);
    const std::string text = ein::to_text(m_harness.program.graph()).str();
    INFO(name);
    INFO(text);
    // Every strategy and every number of workers once, on each number of ranks others together;
    // EINDECOMP_TEST_CASES above 100 runs all nine.
    const char* const strategies[] = {"placed", "ein_decomp", "square"};
    const int workers[] = {1, 4, 8};
    const bool all = eindecomp_tests::share_of_cases() > 100;
    for (int n = 0; n < 9; ++n) {
      if (!all && (n + n / 3 + m_ranks) % 3 != 0) continue;
      const ein::DecomposeOptions options{
          .workers = workers[n / 3], .ranks = m_ranks, .strategy = strategies[n % 3]};
      CAPTURE(options.strategy);
      CAPTURE(options.workers);
      check_run(m_harness, property::shared_plan(m_harness.program, options), m_rank);
    }
    // Along images, filters and rows, as convolutions are cut, and two of them at once: into four
    // parts at most.
    if (m_ranks > 4 && !all) return;
    cut({"b"});
    cut({"o"});
    cut({"y"});
    cut({"b", "y"});
  }

 private:
  /// Halves labels in all statements that have them, if one has them all.
  void cut(const std::vector<std::string>& labels) {
    const ein::EinGraph& graph = m_harness.program.graph();
    ein::DecomposeOptions options{.workers = 4, .ranks = m_ranks, .strategy = "by_hand"};
    bool all = false;
    for (const ein::Vertex& v : graph.vertices) {
      if (v.is_input()) continue;
      std::vector<ein::LabelParts> parts;
      for (std::size_t l = 0; l < v.labels.size(); ++l) {
        const std::string label = graph.labels[ein::to_index(v.labels[l])].name;
        const bool is_cut = std::find(labels.begin(), labels.end(), label) != labels.end();
        if (is_cut && v.extents[l] > 1) parts.push_back({label, 2});
      }
      all = all || parts.size() == labels.size();
      options.by_hand.push_back({v.name, parts});
    }
    if (!all) return;
    CAPTURE(labels);
    check_run(m_harness, property::shared_plan(m_harness.program, options), m_rank);
  }

  property::RunHarness m_harness;
  int m_rank = 0;
  int m_ranks = 1;
};

}  // namespace

TEST_CASE("in one dimension") {
  for (const char* name : {"convolve_same", "convolve_full", "correlate_valid", "sliding_sums"}) {
    Windows t;
    const auto x = t.input({9}, 0);
    const auto w = t.input({3}, 1);
    const std::string_view what = name;
    if (what == "convolve_same") t.expect(name, let<"Y">(i) = sum(k)(x(i - k + 1) * w(k)));
    if (what == "convolve_full") t.expect(name, let<"Y">(i) = sum(k)(x(i - k) * w(k)));
    if (what == "correlate_valid") t.expect(name, let<"Y">(i) = sum(k)(x(i + k) * w(k)));
    if (what == "sliding_sums") t.expect(name, let<"Y">(i) = sum(k)(x(i + extent(k, 4))));
  }
}

TEST_CASE("slices and differences") {
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect("slices", let<"Y">(i, j) = 1.0 * m(2 * i + 1, 7 - j));
  }
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect("row", let<"Y">(j) = 1.0 * m(4, j));
  }
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect("sliding_windows", let<"Y">(i, j, k) = 1.0 * m(i + extent(k, 3), j));
  }
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect("diff", let<"Y">(extent(i, 5), j) = m(i + 1, j) - m(zero(i), j));
  }
}

TEST_CASE("filters of images") {
  const auto filter = [](const char* name, const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto k = t.input({3, 3}, 1);
    t.expect(name, write(m, k));
  };
  filter("correlate2d_same", [](const auto& m, const auto& k) {
    return let<"Y">(y, x) = sum(r, s)(m(y + r - 1, x + s - 1) * k(r, s));
  });
  filter("convolve2d_valid", [](const auto& m, const auto& k) {
    return let<"Y">(extent(y, 4), extent(x, 6)) = sum(r, s)(m(y - r + 2, x - s + 2) * k(r, s));
  });
  filter("grey_dilation", [](const auto& m, const auto& k) {
    return let<"Y">(y, x) = max(r, s)(m(y - r + 1, x - s + 1) + k(r, s));
  });
  filter("grey_erosion", [](const auto& m, const auto& k) {
    return let<"Y">(y, x) = min(r, s)(m(y + r - 1, x + s - 1) - k(r, s));
  });
  filter("maximum_filter", [](const auto& m, const auto&) {
    return let<"Y">(y, x) = max(r, s)(m(y + extent(r, 3) - 1, x + extent(s, 5) - 2));
  });
  filter("average_pooling", [](const auto& m, const auto&) {
    return let<"Y">(y, x) = 4.0 * ein::mean(r, s)(m(2 * y + extent(r, 2), 2 * x + extent(s, 2)));
  });
  filter("laplace", [](const auto& m, const auto&) {
    return let<"Y">(y, x) = m(zero(y - 1), x) + m(zero(y + 1), x) + m(y, zero(x - 1)) +
                            m(y, zero(x + 1)) - 4.0 * m(y, x);
  });
}

TEST_CASE("convolutions of networks") {
  const auto layer = [](const char* name, const Extent(&filters)[4], const auto& write) {
    Windows t;
    const auto X = t.input({2, 3, 9, 8}, 0);
    const auto W = t.input(filters, 1);
    t.expect(name, write(X, W));
  };
  layer("conv_7_2_3", {2, 3, 7, 7}, [](const auto& X, const auto& W) {
    return let<"Y">(b, o, y, x) =
               sum(c, r, s)(X(b, c, 2 * y + r - 3, 2 * x + s - 3) * W(o, c, r, s));
  });
  layer("conv_5_4_2", {2, 3, 5, 5}, [](const auto& X, const auto& W) {
    return let<"Y">(b, o, y, x) =
               sum(c, r, s)(X(b, c, 4 * y + r - 2, 4 * x + s - 2) * W(o, c, r, s));
  });
  {
    Windows t;
    const auto X = t.input({1, 1, 65, 11}, 0);
    const auto W = t.input({2, 1, 11, 11}, 1);
    t.expect("conv_11_4_2", let<"Y">(b, o, y, x) = sum(
                                c, r, s)(X(b, c, 4 * y + r - 2, 4 * x + s - 2) * W(o, c, r, s)));
  }
  layer("conv_dilated", {2, 3, 3, 3}, [](const auto& X, const auto& W) {
    return let<"Y">(b, o, y, x) =
               sum(c, r, s)(X(b, c, y + 2 * r - 2, x + 2 * s - 2) * W(o, c, r, s));
  });
  layer("conv_wide_padding", {2, 3, 2, 2}, [](const auto& X, const auto& W) {
    return let<"Y">(b, o, y, x) = sum(c, r, s)(X(b, c, y + r - 3, x + s - 3) * W(o, c, r, s));
  });
  layer("conv_asymmetric", {2, 3, 3, 3}, [](const auto& X, const auto& W) {
    return let<"Y">(b, o, extent(y, 4), extent(x, 8)) =
               sum(c, r, s)(X(b, c, 2 * y + r, x + s - 2) * W(o, c, r, s));
  });
  layer("conv_depthwise", {3, 1, 3, 3}, [](const auto& X, const auto& W) {
    return let<"Y">(b, c, y, x) = sum(r, s)(X(b, c, y + r - 1, x + s - 1) * W(c, 0, r, s));
  });
  {
    Windows t;
    const auto X = t.input({2, 4, 5, 5}, 0);
    const auto W = t.input({6, 2, 3, 3}, 1);
    t.expect("conv_grouped", let<"Y">(b, g, o, y, x) = sum(c, r, s)(
                                 X(b, 2 * g + c, y + r - 1, x + s - 1) * W(3 * g + o, c, r, s)));
  }
  {
    Windows t;
    const auto G = t.input({1, 2, 4, 3}, 0);
    const auto W = t.input({2, 3, 3, 3}, 1);
    t.expect("conv_transposed",
             let<"X">(b, c, y, x) = sum(o, r, s)(G(b, o, y - r, x - s) * W(o, c, r, s)));
  }
}

TEST_CASE("convolutions transposed") {
  {
    Windows t;
    const auto G = t.input({1, 2, 4, 3}, 0);
    const auto W = t.input({2, 3, 3, 3}, 1);
    t.expect("conv_transposed_2", let<"X">(b, c, y, x) = sum(o, r, s)(
                                      G(b, o, whole(y - r, 2), whole(x - s, 2)) * W(o, c, r, s)));
  }
  {
    Windows t;
    const auto G = t.input({1, 2, 4, 3}, 0);
    const auto W = t.input({2, 3, 2, 2}, 1);
    t.expect("conv_transposed_3", let<"X">(b, c, y, x) = sum(o, r, s)(
                                      G(b, o, whole(y - r, 3), whole(x - s, 3)) * W(o, c, r, s)));
  }
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect("spread", let<"Y">(i, j) = 1.0 * m(zero(whole(i, 2)), j));
  }
}

TEST_CASE("boundaries") {
  const auto pad = [](const char* name, const auto& bound) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect(name, let<"Y">(extent(i, 11), extent(j, 17)) = 1.0 * m(bound(i - 2), bound(j - 1)));
  };
  const auto filter = [](const char* name, const auto& bound) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto k = t.input({3, 3}, 1);
    t.expect(name, let<"Y">(y, x) = sum(r, s)(m(bound(y + r - 1), bound(x + s - 1)) * k(r, s)));
  };
  const auto periodic = [](const auto& index) { return ein::periodic(index); };
  const auto clamp = [](const auto& index) { return ein::clamp(index); };
  const auto reflect = [](const auto& index) { return ein::reflect(index); };
  pad("pad_wrap", periodic);
  pad("pad_edge", clamp);
  pad("pad_reflect", reflect);
  filter("correlate_wrap", periodic);
  filter("correlate_nearest", clamp);
  filter("correlate_mirror", reflect);
  Windows t;
  const auto m = t.input({6, 8}, 0);
  t.expect("roll", let<"Y">(i, extent(j, 8)) = 1.0 * m(i, periodic(j - 2)));
}

TEST_CASE("labels as values") {
  const auto expect = [](const char* name, const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect(name, write(m));
  };
  expect("tril", [](const auto& m) { return let<"Y">(i, j) = (j <= i + 1) * m(i, j); });
  expect("triu", [](const auto& m) { return let<"Y">(i, j) = select(j >= i, m(i, j), 0.0); });
  expect("ramp", [](const auto& m) { return let<"Y">(i, j) = m(i, j) * value(j) + value(i); });
  expect("eye", [](const auto& m) { return let<"Y">(i, j) = m(i, j) + (i == j); });
  expect("cumsum",
         [](const auto& m) { return let<"Y">(extent(k, 6), j) = sum(i)((i <= k) * m(i, j)); });
  expect("taken", [](const auto& m) {
    return let<"Y">(extent(b, 9), j) = sum(i)((value(b - i) % 6 == 0) * m(i, j));
  });
  Windows t;
  const auto x = t.input({9}, 0);
  t.expect("one_hot", let<"Y">(b, extent(v, 4)) = 1.0 * (x(b) == v));
}

TEST_CASE("running sums and products, and variances") {
  const auto expect = [](const char* name, const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect(name, write(m));
  };
  expect("cumsum", [](const auto& m) { return let<"Y">(i, j) = ein::cumsum(i)(m(i, j)); });
  expect("cumsum",
         [](const auto& m) { return let<"Y">(i, j) = ein::scan<ein::CompensatedSum>(i)(m(i, j)); });
  expect("cumprod", [](const auto& m) { return let<"Y">(i, j) = ein::cumprod(j)(m(i, j)); });
  expect("var", [](const auto& m) { return let<"Y">(i) = 64.0 * ein::var(j)(m(i, j)); });
}

TEST_CASE("running sums along several labels, as those of an array that is flattened") {
  const auto expect = [](const char* name, const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    t.expect(name, write(m));
  };
  expect("cumsum_flat", [](const auto& m) { return let<"Y">(i, j) = ein::cumsum(i, j)(m(i, j)); });
  expect("cumsum_flat_transposed",
         [](const auto& m) { return let<"Y">(i, j) = ein::cumsum(j, i)(m(i, j)); });
  expect("cumsum_flat",
         [](const auto& m) { return let<"Y">(i, j) = ein::cumsum(i, j)(2.0 * m(i, j) - m(i, j)); });
  expect("maximum_flat",
         [](const auto& m) { return let<"Y">(i, j) = ein::scan<ein::Max>(i, j)(m(i, j)); });
  const auto expect_of_cube = [](const char* name, const auto& write) {
    Windows t;
    const auto cube = t.input({3, 2, 5}, 0);
    t.expect(name, write(cube));
  };
  expect_of_cube("cumsum_flat_cube", [](const auto& c) {
    return let<"Y">(i, j, k) = ein::cumsum(i, j, k)(c(i, j, k));
  });
  expect_of_cube("minimum_flat_of_cube", [](const auto& c) {
    return let<"Y">(i, j, k) = ein::scan<ein::Min>(j, k)(c(i, j, k));
  });
}

TEST_CASE("index tensors") {
  const auto index = [](const auto& element, int extent) {
    return cast<std::int64_t>(element) % extent;
  };
  const auto gather = [](const char* name, const Extent(&bound)[2], int operand,
                         const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto n = t.input(bound, operand);
    t.expect(name, write(m, n));
  };
  gather("gathered", {9, 1}, 0,
         [&](const auto& m, const auto& n) { return let<"Y">(b, j) = m(index(n(b, 0), 6), j); });
  gather("take_along_axis", {6, 5}, 1,
         [&](const auto& m, const auto& n) { return let<"Y">(i, k) = m(i, index(n(i, k), 8)); });
  gather("added_at", {6, 1}, 0, [&](const auto& m, const auto& n) {
    return let<"Y">(extent(v, 5), j) = sum(e)(ein::where(index(n(e, 0), 5) == v, m(e, j)));
  });
  gather("maximum_at", {6, 1}, 0, [&](const auto& m, const auto& n) {
    const auto Z = let<"Z">(extent(v, 5), j) = max(e)(ein::where(index(n(e, 0), 5) == v, m(e, j)));
    return let<"Y">(v, j) = max(Z(v, j), -9.0);
  });
  gather("bincount", {9, 1}, 0, [&](const auto&, const auto& n) {
    return let<"Y">(extent(v, 7)) = sum(e)(ein::where(index(n(e, 0), 6) == v, 1));
  });
}

TEST_CASE("tensors put together") {
  const auto expect = [](const char* name, const auto& write) {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto n = t.input({4, 8}, 1);
    const auto c = t.input({6, 3}, 1);
    const auto k = t.input({3, 3}, 1);
    t.expect(name, write(t, m, n, c, k));
  };
  expect("concatenate_0", [](auto&, const auto& m, const auto& n, const auto&, const auto&) {
    return let<"Y">(i, j) = concat(i)(m(i, j), n(i, j));
  });
  expect("concatenate_1", [](auto&, const auto& m, const auto&, const auto& c, const auto&) {
    return let<"Y">(i, j) = concat(j)(m(i, j), c(i, j), 2.0 * m(i, j));
  });
  expect("block", [](auto&, const auto& m, const auto& n, const auto& c, const auto&) {
    return let<"Y">(i, j) = concat(i)(concat(j)(m(i, j), c(i, j)), pad(j)(n(i, j), {{0, 3}}, 9));
  });
  expect("block_diag", [](auto& t, const auto& m, const auto&, const auto& c, const auto& k) {
    auto Z = t.blocks({15, 14}, 0.0);
    Z(i, j) = m(i, j);
    Z(i + 6, j + 8) = c(i, j);
    Z(i + 12, j + 11) = k(i, j);
    return Z.tensor();
  });
  expect("pad_constant", [](auto&, const auto& m, const auto&, const auto&, const auto&) {
    return let<"Y">(i, j) = pad(i, j)(m(i, j), {{1, 2}, {0, 3}}, 7);
  });
  expect("rolled", [](auto&, const auto& m, const auto&, const auto&, const auto&) {
    return let<"Y">(i, j) = concat(i)(m(range(i, 4, 6), j), m(range(i, 0, 4), j));
  });
  expect("filtered", [](auto&, const auto& m, const auto&, const auto&, const auto& k) {
    const auto P = let<"P">(i, j) = pad(i, j)(m(i, j), {{2, 2}, {2, 2}}, 7);
    return let<"Y">(y, x) = sum(r, s)(P(y + r, x + s) * k(r, s));
  });
  expect("interleaved", [](auto& t, const auto& m, const auto&, const auto&, const auto&) {
    auto Z = t.blocks({12, 8});
    Z(2 * i, j) = m(i, j);
    Z(2 * i + 1, j) = 1.0 * m(5 - i, j);
    return Z.tensor();
  });
}

TEST_CASE("tensors written block by block") {
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto n = t.input({4, 8}, 1);
    const auto v = t.input({8}, 1);
    auto Z = t.blocks({9, 16}, 5.0);
    Z(range(i, 1, 7), 2 * j) = m(i, j);
    Z(i + 1, range(j, 1, 15, 2)) = n(i, range(j, 0, 7)) + 1.0;
    Z(8, j + 3) = v(j);
    Z(i, 15) = sum(j)(m(i, j));
    t.expect("assigned", Z.tensor());
  }
  {
    Windows t;
    const auto m = t.input({6, 8}, 0);
    const auto n = t.input({4, 8}, 1);
    const auto k = t.input({3, 3}, 1);
    auto Z = t.blocks({9, 8}, 0.0);
    Z(i, j) = m(i, j);
    Z(i + 2, j) += n(i, j);
    Z(i + 3, j) += 2.0 * m(i, j);
    Z(4, 3 * j) += k(0, j);
    t.expect("added", Z.tensor());
  }
  {
    Windows t;
    const auto frames = t.input({5, 8}, 0);
    auto Z = t.blocks({20}, 0.0);
    for (Extent frame = 0; frame < 5; ++frame) Z(j + 3 * frame) += frames(ein::at(frame), j);
    t.expect("overlapping", Z.tensor());
  }
  const auto stack = [](const char* name, const Extent(&bound)[2], const auto& write) {
    Windows t;
    const auto x = t.input({8}, 0);
    const auto y = t.input({8}, 1);
    auto Z = t.blocks(bound);
    write(Z, x, y);
    t.expect(name, Z.tensor());
  };
  stack("stack_0", {3, 8}, [](auto& Z, const auto& x, const auto& y) {
    Z(0, j) = x(j);
    Z(1, j) = y(j);
    Z(2, j) = x(j);
  });
  stack("stack_1", {8, 2}, [](auto& Z, const auto& x, const auto& y) {
    Z(j, 0) = x(j);
    Z(j, 1) = y(j);
  });
}
