// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed tensors: which statements they become, what is stored, and what is refused.

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/graph/packed_tensor.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/messages.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::extent;
using ein::Extent;
using ein::let;
using eindecomp_tests::message_of;

TEST_CASE("packed tensors are stored by block rows, and read as stored and exchanged") {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {7, 7}, {.block_rows = 2});
  const auto N = ein::packed_antisymmetric<double>(g, "N", {7, 7}, {.block_rows = 2});
  const auto X = g.input<double>("X", {7, 4});
  (void)(let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k)));
  (void)(let<"Z">(k, j) = sum(i)(N(i, j) * X(i, k)));
  (void)(ein::packed_symmetric("G", {.block_rows = 2})(i, j) = sum(k)(X(i, k) * X(j, k)));
  CHECK(ein::to_text(g.graph()).view() == R"(S.0(3,3) : double, input
S.1(4,7) : double, input
N.0(3,3) : double, input
N.1(4,7) : double, input
X(7,4) : double, input
Y.1(i,k) = sum[j] mul(S.0(i,j), X(j,k)) : double, i=3 j=3 k=4
Y.3(i,k) = sum[j] mul(S.1(j,i), X(j + 3,k)) : double, j=4 i=3 k=4
Y.2(i,k) = add(Y.1(i,k), Y.3(i,k)) : double, i=3 k=4
Y.4(i,k) = sum[j] mul(S.1(i,j), X(j,k)) : double, i=4 j=7 k=4
Y(i,k) = blocks(Y.2(i,k), Y.4(i - 3,k)) : double, i=7 k=4
Z.1(k,j) = sum[i] scaled_mul(N.0(j,i), X(i,k)) : double, j=3 i=3 k=4
Z.3(k,j) = sum[i] mul(N.1(i,j), X(i + 3,k)) : double, i=4 j=3 k=4
Z.2(k,j) = add(Z.1(k,j), Z.3(k,j)) : double, k=4 j=3
Z.4(k,j) = sum[i] scaled_mul(N.1(j,i), X(i,k)) : double, j=4 i=7 k=4
Z(k,j) = blocks(Z.2(k,j), Z.4(k,j - 3)) : double, k=4 j=7
G.0(i,j) = sum[k] mul(X(i,k), X(j,k)) : double, i=3 k=4 j=3
G.1(i,j) = sum[k] mul(X(i + 3,k), X(j,k)) : double, i=4 k=4 j=7
)");
}

TEST_CASE("whole packed tensors have the elements of their parts") {
  ein::PlanProgram g;
  const auto type_of_whole = [&](const auto& N) {
    const auto whole = let<"F">(j, i) = N(i, j);
    return g.graph()[whole.vertex()].element;
  };
  CHECK(type_of_whole(ein::packed_antisymmetric<ein::bfloat16>(g, "N", {5, 5})) ==
        ein::element_type<ein::bfloat16>());
  CHECK(type_of_whole(ein::packed_antisymmetric<std::int8_t>(g, "M", {5, 5})) ==
        ein::element_type<std::int8_t>());
  CHECK(type_of_whole(ein::packed_symmetric<std::complex<double>>(g, "C", {5, 5})) ==
        ein::element_type<std::complex<double>>());
}

namespace {

/// How many tensors a product with a packed one makes.
constexpr int tensors_of_product() {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {5, 5}, {.block_rows = 2});
  const auto X = g.input<double>("X", {5, 3});
  (void)(let<"Y">(i, k) = sum(j)(S(i, j) * X(j, k)));
  return g.graph().size();
}

}  // namespace

TEST_CASE("block rows are numbered, whatever else a packed statement needs") {
  ein::PlanProgram g;
  const auto D = ein::packed_symmetric<double>(g, "D", {6, 6}, {.block_rows = 2});
  const auto N = ein::packed_symmetric("N", {.block_rows = 2})(p, q) =
      3.0 * D(p, q) - 2.0 * sum(r)(D(p, r) * D(r, q));
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(N.block_rows()[row].name() == ein::Text("N.") + static_cast<ein::Extent>(row));
  }
}

TEST_CASE("packed tensors in constant expressions") {
  static_assert(tensors_of_product() == 8);
  CHECK(tensors_of_product() == 8);
}

TEST_CASE("packed tensors: what is refused") {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {7, 7}, {.block_rows = 2});
  const auto T = ein::packed_symmetric<double>(g, "T", {7, 7, 2}, {.block_rows = 3});
  const auto X = g.input<double>("X", {7, 4});
  const auto W = g.input<double>("W", {5, 4});
  const std::string before(ein::to_text(g.graph()).view());
  const auto says = [](const auto& write, std::string_view sentence) {
    const std::string message = message_of(write);
    CAPTURE(message);
    CHECK(message.find(sentence) != std::string::npos);
  };
  says(
      [&] {
        (void)ein::packed_symmetric<double>(g, "V", {5, 6});
      },
      "the packed tensor V is 5 x 6 in its first two dimensions (its labels are exchanged there); "
      "give both one extent");
  says(
      [&] {
        (void)ein::packed_antisymmetric<double>(g, "V", {5, 5}, {.block_rows = 0});
      },
      "the packed tensor V is given 0 block rows (each holds some of its rows); give it one or "
      "more");
  says([&] { (void)ein::packed_symmetric<double>(g, "V", {5, 5, 0}); }, "has extent 0");
  says([&] { (void)(let<"Y">(i, k) = sum(j)(S(i, j) * W(j, k))); },
       "label 'j' is 7 in S(i,j) and 5 in W(j,k) (a label has one extent in a statement; size 1 is "
       "not stretched)");
  says([&] { (void)(let<"Y">(k, i) = sum(j)(S(i, j) * X(j, k) * W(i, k))); },
       "label 'i' is 7 in S(i,j) and 5 in W(i,k)");
  says([&] { (void)(let<"Y">(extent(i, 6), k) = sum(j)(S(i, j) * X(j, k))); },
       "label 'i' is 7 in S(i,j) and 6 in the output of Y");
  says([&] { (void)(ein::packed_symmetric("V")(i, j) = sum(k)(X(i, k) * W(j, k))); },
       "the packed tensor V is 7 x 5 in its first two dimensions");
  says([&] { (void)(ein::packed_symmetric("V")(i, j, k) = X(i, k) * X(j, k) * W(i, k)); },
       "label 'i' is 7 in the packed tensor V and 5 in W(i,k)");
  // An index beside a number gives an extent, too.
  ein::PlanProgram other;
  const auto Y = other.input<double>("Y", {7, 4});
  CHECK((ein::packed_symmetric("one")(i, j) = Y(i, 0) * Y(j, 1)).bound() ==
        std::vector<ein::Extent>{7, 7});
  says([&] { (void)(ein::packed_symmetric("V")(i, j, k) = X(i, k) * X(j, k) * W(i, 0)); },
       "label 'i' is 7 in the packed tensor V and 5 in W(…)");
  says(
      [&] { (void)(ein::packed_symmetric("V")(i, j, k) = X(zero(i + 1), k) * X(zero(j + 1), k)); },
      "label 'i' of the packed tensor V is no index by itself (so nothing gives its extent); write "
      "extent(i, n) on the left");
  says([&] { (void)(ein::packed_symmetric("V")(i, j, a) = 2.0 * T(i, j, a)); },
       "the packed tensor V is stored in 4 block rows and reads T of 3 under the same labels (both "
       "are read as they are stored); give them as many");
  CHECK(before == ein::to_text(g.graph()).view());
}

TEST_CASE("extents beside a packed tensor's labels are their own, not those of each part") {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {8, 8}, {.block_rows = 4});
  const auto W = g.input<double>("W", {10});
  const auto X = g.input<double>("X", {10});
  const std::string refused =
      message_of([&] { (void)(let<"Y">(i) = sum(j, r)(S(i, j) * W(j + r))); });
  CHECK(refused.find("label 'r' of an index of W has no extent of its own") != std::string::npos);
  CHECK(refused.find("packed_test.cpp") != std::string::npos);
  CHECK(message_of([&] {
          (void)(ein::packed_symmetric("G")(extent(i, 8), extent(j, 8)) =
                     sum(r)(X(i + r) * X(j + r)));
        }).find("label 'r' of an index of X") != std::string::npos);
  // With one, every part has it.
  const auto before = g.graph().size();
  (void)(let<"Y">(i) = sum(j, r)(S(i, j) * W(j + extent(r, 3))));
  (void)(ein::packed_symmetric("G")(extent(i, 8), extent(j, 8)) =
             sum(r)(X(i + extent(r, 3)) * X(j + r)));
  for (Extent v = before; v < g.graph().size(); ++v) {
    const ein::Vertex& tensor = g.graph()[static_cast<ein::VertexId>(v)];
    for (std::size_t l = 0; l < tensor.labels.size(); ++l) {
      if (g.graph().labels[static_cast<std::size_t>(tensor.labels[l])].name != "r") continue;
      CHECK(tensor.extents[l] == 3);
    }
  }
}

TEST_CASE("a packed tensor of one block row is read by one statement") {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<double>(g, "S", {5, 5}, {.block_rows = 1});
  const auto W = g.input<double>("W", {5, 3});
  const auto F = let<"F">(i, j) = S(i, j);
  const auto Y = let<"Y">(i, k) = sum(j)(S(i, j) * W(j, k));
  CHECK(F.name() == "F");
  CHECK(g.graph().find("F") == F.vertex());
  CHECK(Y.name() == "Y");
}

TEST_CASE("packed tensors of small integers are summed, and written from gathered elements") {
  ein::PlanProgram g;
  const auto S = ein::packed_symmetric<std::int8_t>(g, "S", {6, 6}, {.block_rows = 3});
  const auto total = let<"total">() = sum(i, j)(S(i, j));
  CHECK(g.graph()[total.vertex()].element == ein::element_type<std::int8_t>());
  const auto X = g.input<double>("X", {9, 9});
  const auto I = g.input<std::int32_t>("I", {6});
  (void)(ein::packed_symmetric("G", {.block_rows = 3})(i, j) = X(I(i), I(j)));
  CHECK(g.graph()[g.graph().find("G.2")].bound == std::vector<Extent>{2, 6});
}
