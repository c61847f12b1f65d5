// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "eindecomp/relation/interior.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "eindecomp/graph/let.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/relation/compile.hpp"
#include "eindecomp/relation/mesh.hpp"
#include "eindecomp/relation/placement.hpp"
#include "eindecomp/relation/program_profile.hpp"
#include "support.hpp"

using namespace eindecomp;
using namespace eindecomp::labels;
using relation_test::at;

namespace {

/// The indices of a box, each as a number.
void mark(const Box& box, const Box& whole, std::vector<char>& marks) {
  for (Extent x = box.lo[0]; x < box.hi[0]; ++x) {
    for (Extent y = box.lo[1]; y < box.hi[1]; ++y) {
      marks[to_index((x - whole.lo[0]) * whole.extent(1) + y - whole.lo[1])] = 1;
    }
  }
}

/// What calls of a rank's program read where.
struct Reads {
  Extent stored = 0;   ///< outputs of calls that read nothing but stored blocks
  Extent outputs = 0;  ///< of all calls
  Extent copied = 0;   ///< elements that are copied
  int calls = 0;
};

/// Follows a program whose tensors have two dimensions and whose calls write what they compute:
/// every element that a call reads is there, but for those beyond the ends of a tensor that its
/// buffer has both, and every output is written once.
Reads follow(const EinGraph& graph, const RankProgram& program) {
  Reads reads;
  std::map<int, std::vector<char>> written;
  const auto marks = [&](int b) -> std::vector<char>& {
    const Buffer& buffer = program.buffers[at(b)];
    const auto [found, fresh] = written.try_emplace(b);
    if (fresh)
      found->second.assign(to_index(buffer.box.size()), buffer.role == Buffer::Role::input);
    return found->second;
  };
  const auto put = [&](int b, const Box& box) { mark(box, program.buffers[at(b)].box, marks(b)); };
  for (const Instruction& instruction : program.instructions) {
    if (const auto* fill = instruction.as<Fill>()) put(fill->target.buffer, fill->target.box);
    if (const auto* copy = instruction.as<Copy>()) {
      put(copy->to, copy->box);
      reads.copied += copy->box.size();
    }
    if (const auto* spread = instruction.as<Spread>()) {
      put(spread->to, spread->written);
      reads.copied += spread->size();
    }
    if (const auto* receive = instruction.as<Receive>()) {
      for (const Region& region : receive->regions) put(region.buffer, region.box);
    }
    const auto* call = instruction.as<KernelCall>();
    if (call == nullptr) continue;
    ++reads.calls;
    const Vertex& v = graph[instruction.statement];
    const auto is_input = [&](int b) { return program.buffers[at(b)].role == Buffer::Role::input; };
    const bool stored = std::ranges::all_of(call->operands, is_input);
    reads.outputs += call->domain.size();
    reads.stored += stored ? call->domain.size() : 0;
    bool there = true;
    bool once = true;
    std::vector<char>& results = marks(call->output);
    const Box& result = program.buffers[at(call->output)].box;
    for (Extent x0 = call->domain.lo[0]; x0 < call->domain.hi[0]; ++x0) {
      for (Extent y0 = call->domain.lo[1]; y0 < call->domain.hi[1]; ++y0) {
        for (std::size_t o = 0; o < v.operands.size(); ++o) {
          const Box& box = program.buffers[at(call->operands[o])].box;
          Extent element = 0;
          bool inside = true;
          bool known = false;  // beyond an end of the tensor
          for (std::size_t k = 0; k < 2; ++k) {
            Extent index = v.operands[o].is_computed() ? v.operands[o].indices[k].offset : 0;
            const Extent values[] = {x0, y0};
            if (v.operands[o].is_computed()) {
              for (const auto& term : v.operands[o].indices[k].terms) {
                index += term.coefficient * values[term.label];
              }
            } else {
              index = values[v.operands[o].labels[k]];
            }
            const Extent bound = graph[v.operands[o].vertex].bound[k];
            if (call->open && box.lo[k] <= 0 && box.hi[k] >= bound &&
                (index < 0 || index >= bound)) {
              known = true;
              continue;
            }
            inside = inside && index >= box.lo[k] && index < box.hi[k];
            element = element * box.extent(static_cast<int>(k)) + index - box.lo[k];
          }
          if (!inside) FAIL("a call reads beyond its buffer");
          there = there && (known || marks(call->operands[o])[to_index(element)] == 1);
        }
        char& output =
            results[to_index((x0 - result.lo[0]) * result.extent(1) + y0 - result.lo[1])];
        once = once && output == 0;
        output = 1;
      }
    }
    CHECK(there);
    CHECK(once);
  }
  return reads;
}

/// Five points of an n x n grid.
EinGraph stencil(Extent n, int statements = 1) {
  PlanProgram g;
  const auto X = g.input<double>("X", {n, n});
  for (int s = 0; s < statements; ++s) {
    (void)(let("Y" + std::to_string(s))(i, j) = X(zero(i - 1), j) + X(zero(i + 1), j) +
                                                X(i, zero(j - 1)) + X(i, zero(j + 1)) -
                                                (4.0 + s) * X(i, j));
  }
  return g.graph();
}

/// Programs of a graph of one input, all statements cut into parts along i and j.
std::vector<RankProgram> programs(const EinGraph& graph, Extent rows, Extent columns,
                                  const std::vector<StepGroup>& groups = {},
                                  const SpaceFacts& space = {}) {
  const auto ranks = static_cast<int>(rows * columns);
  std::vector<PartitionVector> parts(graph.vertices.size(), PartitionVector{rows, columns});
  parts.front().clear();
  const Placement placement = place(graph, parts, make_mesh(ranks));
  auto made = compile_ranks(graph, placement, ranks, groups, space);
  const auto profile = relation::profile_of(graph, placement, ranks, groups, space);
  for (int r = 0; r < ranks; ++r) {
    CHECK(profile.memory().peak_bytes[at(r)] == made[at(r)].peak_bytes());
  }
  return made;
}

}  // namespace

TEST_CASE("the interior of a stencil reads its operand where it is stored") {
  const EinGraph graph = stencil(256);
  const RankProgram program = programs(graph, 1, 1).front();
  const Reads reads = follow(graph, program);
  CHECK(reads.outputs == 256 * 256);
  CHECK(reads.stored == 256 * 256);  // zeros beyond the sides are nowhere
  CHECK(reads.calls == 1);
  CHECK(reads.copied == 0);
  CHECK(program.input_bytes + program.result_bytes == program.peak_bytes());
}

TEST_CASE("on several ranks what is received is read near the border alone") {
  const EinGraph graph = stencil(512);
  for (const auto& [rows, columns] : {std::pair{2, 1}, {1, 4}, {2, 2}, {4, 2}}) {
    Extent outputs = 0;
    Extent stored = 0;
    for (const RankProgram& program : programs(graph, rows, columns)) {
      const Reads reads = follow(graph, program);
      outputs += reads.outputs;
      stored += reads.stored;
    }
    CHECK(outputs == 512 * 512);
    const auto inner = [](Extent parts) { return parts == 1 ? 512 : 512 - 2 * parts; };
    CHECK(stored == inner(rows) * inner(columns));
  }
}

TEST_CASE("periodic, clamped, reversed and strided operands have an interior, too") {
  PlanProgram g;
  const auto X = g.input<double>("X", {301, 303});
  (void)(let<"P">(i, j) = X(periodic(i - 2), j) + X(i, clamp(j + 3)));
  PlanProgram h;
  const auto Z = h.input<double>("X", {301, 303});
  (void)(let<"R">(i, j) = Z(zero(310 - i), zero(j - 1)) + Z(i, j));
  PlanProgram s;
  const auto W = s.input<double>("X", {601, 303});
  (void)(let<"S">(extent(i, 301), j) = W(zero(2 * i - 1), j) + W(zero(2 * i + 1), j));
  const auto stored = [](const EinGraph& graph) {
    const Reads reads = follow(graph, programs(graph, 1, 1).front());
    CHECK(reads.outputs == 301 * 303);
    return reads.stored;
  };
  CHECK(stored(g.graph()) == 301 * 300);
  CHECK(stored(h.graph()) == 291 * 303);
  CHECK(stored(s.graph()) == 299 * 303);
}

TEST_CASE("operands under labels alone stay whole") {
  EinGraph graph;
  // Of elements that take longer to copy than to call for apart.
  const VertexId x = graph.add_input("X", {512, 512}, {ElementKind::other, 64});
  relation_test::add(graph, "Y", {{"ij", x}}, "ij");
  // Halves of X, and all of it on both ranks.
  Placement placement;
  placement.mesh = make_mesh(2);
  placement.stored = {{{0}, {}}, {{}, {}}};
  placement.calls = {{}, {{}, {}}};
  const auto programs = compile_ranks(graph, placement, 2);
  const auto calls = std::ranges::count_if(programs.front().instructions, [](const auto& one) {
    return one.template as<KernelCall>() != nullptr;
  });
  CHECK(calls == 1);
}

TEST_CASE("calls stay whole where that is faster, or the copy is needed all the same") {
  const auto stored = [](const EinGraph& graph, const std::vector<StepGroup>& groups = {},
                         const SpaceFacts& space = {}) {
    return follow(graph, programs(graph, 1, 1, groups, space).front()).stored;
  };
  const EinGraph one = stencil(256);
  CHECK(stored(one) > 0);
  CHECK(stored(stencil(32)) == 0);                                // few elements
  CHECK(stored(one, {}, {.threads = 0}) == 0);                    // calls of a device take time
  CHECK(stored(one, {}, {.threads = 1, .constants = {0}}) == 0);  // copied once and for all
  CHECK(stored(stencil(256, 2)) == 0);                            // the second reads the copy
  PlanProgram g;
  const auto X = g.input<double>("X", {256, 256});
  const auto Y = let<"Y">(i, j) = 2.0 * X(i, j);
  (void)(let<"Z">(i, j) = Y(zero(i - 1), j) + Y(i, zero(j + 1)));
  CHECK(stored(g.graph()) == 256 * 256);  // of Y: it would have to be held for longer
  PlanProgram h;
  const auto V = h.input<double>("V", {256, 256});
  (void)(let<"W">(i, j) = V(zero(i - 256), j) + V(i, j));
  CHECK(stored(h.graph()) == 0);  // no interior
}
