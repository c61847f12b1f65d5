// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "eindecomp/run/block_memory.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/run/residue_calls.hpp"

namespace ein = eindecomp;
using namespace ein::labels;
using ein::Box;
using ein::extent;
using ein::Extent;
using ein::let;
using ein::whole;
using ein::run::BlockMemory;

TEST_CASE("a dense block counts its last dimension fastest, from its own corner") {
  std::vector<double> data(24);
  const Box box{{10, 20, 30}, {12, 23, 34}};
  const BlockMemory block = BlockMemory::dense(data.data(), box, sizeof(double));
  CHECK(block.stride[0] == 12);
  CHECK(block.stride[1] == 4);
  CHECK(block.stride[2] == 1);
  CHECK(reinterpret_cast<double*>(block.at({11, 22, 33})) == &data[23]);
}

TEST_CASE("contiguous parts are told from others") {
  const Box box{{0, 0, 0}, {4, 3, 5}};
  const BlockMemory block = BlockMemory::dense(nullptr, box, 8);
  CHECK(block.contiguous(box));
  CHECK(block.contiguous({{1, 0, 0}, {3, 3, 5}}));
  CHECK(block.contiguous({{2, 1, 0}, {3, 3, 5}}));
  CHECK(block.contiguous({{2, 1, 3}, {3, 2, 4}}));
  CHECK(!block.contiguous({{0, 0, 0}, {4, 2, 5}}));
  CHECK(!block.contiguous({{0, 0, 0}, {1, 3, 4}}));
  BlockMemory left = block;
  left.stride[0] = 1;
  left.stride[2] = 12;
  CHECK(!left.contiguous(box));
  CHECK(BlockMemory::dense(nullptr, {{}, {}}, 8).contiguous({{}, {}}));
}

TEST_CASE("slabs cut a box into runs of its row-major order") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const int rank = static_cast<int>(random() % 5);
    Box box;
    for (int k = 0; k < rank; ++k) {
      box.lo.push_back(static_cast<Extent>(random() % 4));
      box.hi.push_back(box.lo.back() + 1 + static_cast<Extent>(random() % 5));
    }
    const Extent limit = 1 + static_cast<Extent>(random() % 40);
    CAPTURE(round);
    CAPTURE(limit);
    const BlockMemory block = BlockMemory::dense(nullptr, box, 1);
    Extent next = 0;
    ein::run::for_each_slab(box, limit, [&](const Box& part, Extent first) {
      CHECK(first == next);
      CHECK(part.size() <= limit);
      CHECK(!part.empty());
      CHECK(box.contains(part));
      CHECK(block.contiguous(part));
      CHECK(block.at(part.lo) - block.data == first);
      next += part.size();
    });
    CHECK(next == box.size());
  }
}

TEST_CASE("copies between blocks walk both by their strides, merged where they can") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = random() % 5;
    Box into_box;
    Box from_box;
    Box part;
    for (std::size_t k = 0; k < rank; ++k) {
      const Extent lo = static_cast<Extent>(random() % 3) + 2;
      const Extent hi = lo + 1 + static_cast<Extent>(random() % 3);
      const auto margin = [&] { return static_cast<Extent>(random() % 3); };
      part.lo.push_back(lo);
      part.hi.push_back(hi);
      into_box.lo.push_back(lo - margin());
      into_box.hi.push_back(hi + margin());
      from_box.lo.push_back(lo - margin());
      from_box.hi.push_back(hi + margin());
    }
    std::vector<int> into(static_cast<std::size_t>(into_box.size()), -1);
    std::vector<int> from(static_cast<std::size_t>(from_box.size()));
    std::iota(from.begin(), from.end(), 0);
    const BlockMemory to = BlockMemory::dense(into.data(), into_box, sizeof(int));
    BlockMemory source = BlockMemory::dense(from.data(), from_box, sizeof(int));
    if (random() % 2 == 0) {  // column-major
      Extent step = 1;
      for (std::size_t k = 0; k < rank; ++k) {
        source.stride[k] = step;
        step *= from_box.extent(static_cast<int>(k));
      }
    }
    const ein::kernel::StridedBox shape = ein::run::strided_box(part, to, source);
    int* target = reinterpret_cast<int*>(to.at(part.lo));
    const int* origin = reinterpret_cast<const int*>(source.at(part.lo));
    Extent count = 1;
    for (int k = 0; k < shape.rank; ++k) count *= shape.extent[k];
    CHECK(count == part.size());
    for (Extent n = 0; n < count; ++n) {
      Extent rest = n;
      Extent i = 0;
      Extent o = 0;
      for (int k = shape.rank - 1; k >= 0; --k) {
        i += rest % shape.extent[k] * shape.into_stride[k];
        o += rest % shape.extent[k] * shape.from_stride[k];
        rest /= shape.extent[k];
      }
      target[i] = origin[o];
    }
    // Every element of the part, and no other, arrived.
    Extent arrived = 0;
    ein::run::for_each_slab(into_box, 1, [&](const Box& one, Extent) {
      const int got = *reinterpret_cast<const int*>(to.at(one.lo));
      if (part.contains(one)) {
        CHECK(got == *reinterpret_cast<const int*>(source.at(one.lo)));
        ++arrived;
      } else {
        CHECK(got == -1);
      }
    });
    CHECK(arrived == part.size());
  }
}

TEST_CASE("a kernel call reads and writes through the blocks' strides") {
  // C(i,k) = Σ_j A(i,j) B(j,k), a call on a part of the domain, blocks larger than it needs.
  ein::EinGraph graph;
  const ein::ElementType real{ein::ElementKind::float64, 8};
  const ein::VertexId a = graph.add_input("A", {10, 12}, real);
  const ein::VertexId b = graph.add_input("B", {12, 14}, real);
  ein::StatementSpec spec;
  spec.name = "C";
  spec.operands = {{a, {"i", "j"}}, {b, {"j", "k"}}};
  spec.output = {{"i"}, {"k"}};
  spec.element = spec.partial = real;
  const ein::VertexId c = graph.add_statement(spec);

  std::vector<double> data(1000);
  const BlockMemory block_a = BlockMemory::dense(data.data(), {{2, 0}, {8, 12}}, 8);
  BlockMemory block_b = BlockMemory::dense(data.data() + 200, {{0, 4}, {12, 14}}, 8);
  block_b.stride[0] = 1;
  block_b.stride[1] = 12;
  const BlockMemory block_c = BlockMemory::dense(data.data() + 500, {{3, 5}, {7, 9}}, 8);
  const BlockMemory* const operands[] = {&block_a, &block_b};
  const ein::run::CallMemory call =
      ein::run::call_memory(graph[c], {{3, 6, 5}, {5, 12, 9}}, operands, block_c);
  CHECK(call.shape.labels == 3);
  CHECK(call.shape.operands == 2);
  CHECK(call.shape.extent[1] == 6);
  CHECK(call.shape.begin[1] == 6);
  CHECK(!call.shape.aggregated[0]);
  CHECK(call.shape.aggregated[1]);
  CHECK(call.shape.operand_stride[0][0] == 12);
  CHECK(call.shape.operand_stride[0][1] == 1);
  CHECK(call.shape.operand_stride[0][2] == 0);
  CHECK(call.shape.operand_stride[1][1] == 1);
  CHECK(call.shape.operand_stride[1][2] == 12);
  CHECK(call.shape.output_stride[0] == 4);
  CHECK(call.shape.output_stride[2] == 1);
  CHECK(call.operands[0] == data.data() + 1 * 12 + 6);
  CHECK(call.operands[1] == data.data() + 200 + 6 + 1 * 12);
  CHECK(call.output == data.data() + 500);
}

TEST_CASE("a diagonal adds the strides of its dimensions") {
  ein::EinGraph graph;
  const ein::ElementType real{ein::ElementKind::float64, 8};
  const ein::VertexId a = graph.add_input("A", {6, 6}, real);
  ein::StatementSpec spec;
  spec.name = "D";
  spec.operands = {{a, {"i", "i"}}};
  spec.output = {{"i"}};
  spec.element = spec.partial = real;
  const ein::VertexId d = graph.add_statement(spec);
  const BlockMemory block_a = BlockMemory::dense(nullptr, {{0, 0}, {6, 6}}, 8);
  const BlockMemory block_d = BlockMemory::dense(nullptr, {{3}, {6}}, 8);
  const BlockMemory* const operands[] = {&block_a};
  const ein::run::CallMemory call = ein::run::call_memory(graph[d], {{3}, {6}}, operands, block_d);
  CHECK(call.shape.operand_stride[0][0] == 7);
  CHECK(static_cast<const char*>(call.operands[0]) - block_a.data == 8 * (3 * 6 + 3));
}

TEST_CASE("a transposed convolution is as many products as its classes have taps and places") {
  ein::PlanProgram g;
  const auto Z = g.input<double>("Z", {3, 5});
  const auto W = g.input<double>("W", {3, 2, 11});
  const auto X = let<"X">(c, extent(i, 23)) = sum(o, r)(Z(o, whole(i - r + 1, 4)) * W(o, c, r));
  const ein::Vertex& v = g.graph()[X.vertex()];
  // Z at the quotients that are read, two before its first element to one beyond its last.
  std::vector<double> data(3 * 8 + 3 * 2 * 11 + 2 * 23, 0);
  double* const z = data.data();
  double* const w = z + 3 * 8;
  double* const x = w + 3 * 2 * 11;
  for (int n = 0; n < 3 * 5; ++n) z[n / 5 * 8 + 2 + n % 5] = 1 + n % 7;
  for (int n = 0; n < 3 * 2 * 11; ++n) w[n] = n % 5 - 2;
  const std::vector<BlockMemory> buffers{BlockMemory::dense(z, {{0, -2}, {3, 6}}, 8),
                                         BlockMemory::dense(w, {{0, 0, 0}, {3, 2, 11}}, 8),
                                         BlockMemory::dense(x, {{0, 0}, {2, 23}}, 8)};
  ein::KernelCall call;
  const auto of = [&](const char* name) {
    std::size_t l = 0;
    while (g.graph().labels[ein::to_index(v.labels[l])].name != name) ++l;
    return l;
  };
  call.domain = ein::Box::whole(v.extents);
  REQUIRE(v.extents[of("i")] == 23);
  call.operands = {0, 1};
  call.output = 2;
  const ein::run::CallMemory whole_call = ein::run::call_memory(v, call, call.domain, buffers);
  const auto calls = ein::run::residue_calls(v, call, whole_call, buffers, 0);
  // i = 0, 4, … and 1, 5, …; then those of 2, which have two taps; then those of 3, which are
  // fewer.
  CHECK(calls.size() == 3);
  for (const ein::run::ResidueCall& part : calls) {
    const auto& shape = part.shape;
    Extent joins = 1;
    for (int l = 0; l < shape.labels; ++l) joins *= shape.extent[l];
    for (Extent n = 0; n < joins; ++n) {
      Extent at[3] = {0, 0, 0};
      for (Extent l = 0, rest = n; l < shape.labels; rest /= shape.extent[l++]) {
        const Extent value = rest % shape.extent[l];
        at[0] += value * shape.operand_stride[0][l];
        at[1] += value * shape.operand_stride[1][l];
        at[2] += value * shape.output_stride[l];
      }
      const auto element = [&](const void* begin, std::int64_t behind, Extent index) {
        return (static_cast<const char*>(begin) - reinterpret_cast<const char*>(data.data()) +
                behind) /
                   8 +
               index;
      };
      const auto a = element(whole_call.operands[0], part.operands[0], at[0]);
      const auto b = element(whole_call.operands[1], part.operands[1], at[1]);
      const auto to = element(whole_call.output, part.output, at[2]);
      REQUIRE(a >= 0);
      REQUIRE(a < 3 * 8);
      data[static_cast<std::size_t>(to)] +=
          data[static_cast<std::size_t>(a)] * data[static_cast<std::size_t>(b)];
    }
  }
  for (int C = 0; C < 2; ++C) {
    for (int I = 0; I < 23; ++I) {
      double sum = 0;
      for (int O = 0; O < 3; ++O) {
        for (int R = 0; R < 11; ++R) {
          const int q = (I - R + 1) / 4;
          if ((I - R + 1) % 4 != 0 || q < 0 || q >= 5) continue;
          sum += (1 + (O * 5 + q) % 7) * ((O * 22 + C * 11 + R) % 5 - 2);
        }
      }
      CHECK(x[C * 23 + I] == sum);
    }
  }
}

namespace {

/// Does what calls of two operands in one array of doubles say, element by element.
/// \param written  per element, whether it has a value
void perform(const std::vector<ein::run::ResidueCall>& calls, const ein::run::CallMemory& whole,
             std::vector<double>& data, std::vector<bool>& written) {
  const auto element = [&](const void* begin, std::int64_t behind) {
    return (static_cast<const char*>(begin) - reinterpret_cast<const char*>(data.data()) + behind) /
           8;
  };
  for (const ein::run::ResidueCall& part : calls) {
    const auto& shape = part.shape;
    Extent joins = 1;
    for (int l = 0; l < shape.labels; ++l) joins *= shape.extent[l];
    std::vector<std::size_t> own;
    for (Extent n = 0; n < joins; ++n) {
      Extent a = element(whole.operands[0], part.operands[0]);
      Extent b = element(whole.operands[1], part.operands[1]);
      Extent to = element(whole.output, part.output);
      for (Extent l = 0, rest = n; l < shape.labels; rest /= shape.extent[l++]) {
        const Extent value = rest % shape.extent[l];
        a += value * shape.operand_stride[0][l];
        b += value * shape.operand_stride[1][l];
        to += value * shape.output_stride[l];
      }
      const auto at = [](Extent i) { return static_cast<std::size_t>(i); };
      REQUIRE(a >= 0);
      REQUIRE(at(a) < data.size());
      data[at(to)] += data[at(a)] * data[at(b)];
      own.push_back(at(to));
    }
    // Calls that do not accumulate are the first to write, the others come after them.
    for (const std::size_t to : own) REQUIRE(written[to] == part.accumulate);
    for (const std::size_t to : own) written[to] = true;
  }
}

}  // namespace

TEST_CASE("classes share the taps that all of them have, in slices") {
  int shared = 0;
  int sliced = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto any = [&](Extent low, Extent high) {
      return std::uniform_int_distribution<Extent>(low, high)(random);
    };
    const Extent stride[] = {any(2, 4), any(1, 3)};
    const Extent dilation[] = {any(0, 1) * 2 - 1, any(0, 2)};
    const Extent pad[] = {any(-3, 4), any(0, 3)};
    const Extent window[] = {any(2, 9), any(2, 5)};
    const Extent length[] = {any(3, 14), any(2, 9)};
    const Extent images = any(1, 3);
    ein::PlanProgram g;
    const auto Z = g.input<double>("Z", {images, 2, 40, 40});
    const auto W = g.input<double>("W", {2, 3, window[0], window[1]});
    const auto X = let<"X">(b, c, extent(y, length[0]), extent(x, length[1])) =
        sum(o, r, s)(Z(b, o, whole(y - dilation[0] * r + pad[0], stride[0]),
                       whole(x - dilation[1] * s + pad[1], stride[1])) *
                     W(o, c, r, s));
    const ein::Vertex& v = g.graph()[X.vertex()];
    if (v.periods.empty()) continue;
    const Box z_box{{0, 0, -20, -20}, {images, 2, 30, 30}};
    const Box w_box{{0, 0, 0, 0}, {2, 3, window[0], window[1]}};
    const Box x_box{{0, 0, 0, 0}, {images, 3, length[0], length[1]}};
    const Extent sizes[] = {z_box.size(), w_box.size(), x_box.size()};
    std::vector<double> data(static_cast<std::size_t>(sizes[0] + sizes[1] + sizes[2]), 0);
    double* const z = data.data();
    double* const w = z + sizes[0];
    double* const result = w + sizes[1];
    for (Extent n = 0; n < sizes[0] + sizes[1]; ++n) z[n] = static_cast<double>(any(-4, 4));
    const std::vector<BlockMemory> buffers{BlockMemory::dense(z, z_box, 8),
                                           BlockMemory::dense(w, w_box, 8),
                                           BlockMemory::dense(result, x_box, 8)};
    ein::KernelCall call;
    call.domain = Box::whole(v.extents);
    call.operands = {0, 1};
    call.output = 2;
    const ein::run::CallMemory whole_call = ein::run::call_memory(v, call, call.domain, buffers);
    const ein::run::ResidueCallMaker maker(v, call, whole_call, buffers);
    auto calls = maker.sharing_taps();
    const bool shares = !calls.empty();
    if (!shares) calls = maker.class_by_class();
    shared += shares && calls.back().accumulate ? 1 : 0;
    const std::size_t whole_calls = calls.size();
    calls = maker.in_slices(std::move(calls), sizes[0] * 8 / images);
    CHECK(calls.size() == whole_calls * static_cast<std::size_t>(images));
    sliced += images > 1 ? 1 : 0;
    std::vector<bool> written(data.size(), false);
    perform(calls, whole_call, data, written);
    for (Extent B = 0; B < images; ++B) {
      for (Extent C = 0; C < 3; ++C) {
        for (Extent Y = 0; Y < length[0]; ++Y) {
          for (Extent V = 0; V < length[1]; ++V) {
            double expected = 0;
            for (Extent O = 0; O < 2; ++O) {
              for (Extent R = 0; R < window[0]; ++R) {
                for (Extent S = 0; S < window[1]; ++S) {
                  const Extent row = Y - dilation[0] * R + pad[0];
                  const Extent column = V - dilation[1] * S + pad[1];
                  if (row % stride[0] != 0 || column % stride[1] != 0) continue;
                  expected += *reinterpret_cast<const double*>(
                                  buffers[0].at({B, O, row / stride[0], column / stride[1]})) *
                              w[((O * 3 + C) * window[0] + R) * window[1] + S];
                }
              }
            }
            REQUIRE(result[((B * 3 + C) * length[0] + Y) * length[1] + V] == expected);
          }
        }
      }
    }
  }
  CHECK(shared > 30);
  CHECK(sliced > 50);
}
