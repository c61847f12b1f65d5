// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Calls that read an operand with a border around it, as those of stencils do: the interior of
/// their results reads the operand where it is stored, and only what lies near the border reads a
/// copy. What lies beyond the ends of a tensor needs none: kernels know it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/bounded_index.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/relation/tuning.hpp"

namespace eindecomp::relation {

/// Splits the calls of one statement on one rank. A call whose indices are computed from labels may
/// need elements from beyond a stored block: it reads a buffer in which they surround a copy of
/// that block. Where most of the call needs none of them, the copy takes as long as the kernel of a
/// stencil: it is cut down to what the rest reads. Operands under labels alone stay whole: who
/// reads much of other ranks' blocks has little of its own.
class InteriorSplitter {
 public:
  /// \param gathers  what is copied and received for the calls; not what is sent of their results
  /// \param fills    what is written around it
  /// \param spreads  what is copied index by index
  InteriorSplitter(const EinGraph& graph, const std::vector<Buffer>& buffers, VertexId statement,
                   Rounds& gathers, std::vector<Fill>& fills, std::vector<Spread>& spreads,
                   std::vector<KernelCall>& calls)
      : m_graph(graph),
        m_vertex(graph[statement]),
        m_buffers(buffers),
        m_gathers(gathers),
        m_fills(fills),
        m_spreads(spreads),
        m_calls(calls) {}

  /// Whether a statement's calls may be split at all, whatever they read.
  [[nodiscard]] static bool may_split(const Vertex& statement) {
    return statement.periods.empty() && statement.scanned < 0 && statement.op.index_tensors == 0 &&
           std::any_of(statement.operands.begin(), statement.operands.end(),
                       [](const Operand& o) { return o.is_computed(); });
  }

  /// Splits the calls, which may be split, if that pays off, all or none.
  /// \param is_spare  whether no later statement reads what is put together of a tensor, and no
  ///                  later run does.
  template <class IsSpare>
  void split(const IsSpare& is_spare) {
    if (m_calls.empty()) return;
    find_copies(is_spare);
    if (m_copies.empty() || !find_interiors()) return;
    for (CopiedBlock& block : m_copies) find_border(block);
    if (pays_off()) rewrite();
  }

 private:
  /// A stored block and the buffer that it is copied to.
  struct CopiedBlock {
    int stored = -1;
    int assembled = -1;
    Box box;
    bool spread = false;      ///< in which list the copy is
    std::size_t number = 0;   ///< and where
    std::vector<Box> border;  ///< what calls near the border read of it, or more
  };
  /// A call, and the parts of its domain.
  struct Parts {
    Box interior;
    std::vector<Box> rest;
    Extent open = 0;          ///< values of labels at which the interior reads beyond a tensor
    Extent open_results = 0;  ///< and its results there
  };
  /// The values of an index, lo <= i <= hi.
  struct Values {
    Extent lo = 0;
    Extent hi = 0;
  };

  [[nodiscard]] const Buffer& buffer(int b) const { return m_buffers[to_index(b)]; }

  [[nodiscard]] const CopiedBlock* copied_to(int assembled) const {
    for (const CopiedBlock& block : m_copies) {
      if (block.assembled == assembled) return &block;
    }
    return nullptr;
  }

  /// Finds of every buffer that calls read the largest block that is copied to it.
  template <class IsSpare>
  void find_copies(const IsSpare& is_spare) {
    const auto consider = [&](CopiedBlock block) {
      // Scratch would have to be held until the calls have ended.
      if (buffer(block.stored).role == Buffer::Role::scratch) return;
      if (buffer(block.assembled).role != Buffer::Role::scratch) return;
      const VertexId tensor = buffer(block.stored).tensor;
      if (!has_border(tensor) || !is_spare(tensor) || is_passed_on(block)) return;
      const auto known = std::find_if(
          m_copies.begin(), m_copies.end(),
          [&](const CopiedBlock& other) { return other.assembled == block.assembled; });
      if (known == m_copies.end()) {
        m_copies.push_back(std::move(block));
      } else if (known->box.size() < block.box.size()) {
        *known = std::move(block);
      }
    };
    for (std::size_t n = 0; n < m_gathers.copies.size(); ++n) {
      const Copy& copy = m_gathers.copies[n].second;
      consider({copy.from, copy.to, copy.box, false, n, {}});
    }
    for (std::size_t n = 0; n < m_spreads.size(); ++n) {
      const Spread& spread = m_spreads[n];
      const bool copies =
          spread.read == spread.written && std::all_of(spread.steps.begin(), spread.steps.end(),
                                                       [](Extent step) { return step == 1; });
      if (copies) consider({spread.from, spread.to, spread.read, true, n, {}});
    }
  }

  /// Whether the statement reads a tensor at indices that are computed.
  [[nodiscard]] bool has_border(VertexId tensor) const {
    return std::any_of(m_vertex.operands.begin(), m_vertex.operands.end(),
                       [&](const Operand& o) { return o.vertex == tensor && o.is_computed(); });
  }

  /// Whether anything but calls reads what is copied.
  [[nodiscard]] bool is_passed_on(const CopiedBlock& block) const {
    const auto reads = [&](int from, const Box& box) {
      return from == block.assembled && !intersect(box, block.box).empty();
    };
    return std::any_of(
               m_gathers.copies.begin(), m_gathers.copies.end(),
               [&](const auto& copy) { return reads(copy.second.from, copy.second.box); }) ||
           std::any_of(m_gathers.sends.begin(), m_gathers.sends.end(),
                       [&](const MessagePiece& piece) {
                         return reads(piece.region.buffer, piece.region.box);
                       }) ||
           std::any_of(m_spreads.begin(), m_spreads.end(),
                       [&](const Spread& spread) { return reads(spread.from, spread.read); });
  }

  /// An operand's index along dimension k.
  [[nodiscard]] static OperandIndex index_of(const Operand& operand, std::size_t k) {
    if (operand.is_computed()) return operand.indices[k];
    OperandIndex index;
    index.terms.push_back({operand.labels[k], 1});
    return index;
  }
  [[nodiscard]] static std::size_t rank_of(const Operand& operand) {
    return operand.is_computed() ? operand.indices.size() : operand.labels.size();
  }
  /// What the terms of an index add up to, but for that of one label.
  [[nodiscard]] static Values values_of(const OperandIndex& index, const Box& domain, int without) {
    Values values{index.offset, index.offset};
    for (const OperandIndex::Term& term : index.terms) {
      if (term.label == without) continue;
      const Extent first = term.coefficient * domain.lo[to_index(term.label)];
      const Extent last = term.coefficient * (domain.hi[to_index(term.label)] - 1);
      values.lo += std::min(first, last);
      values.hi += std::max(first, last);
    }
    return values;
  }

  /// Finds the interior of every call. \returns false if one has none.
  [[nodiscard]] bool find_interiors() {
    for (const KernelCall& call : m_calls) {
      if (call.domain.empty()) return false;
      Box interior = call.domain;
      Parts& parts = m_parts.emplace_back();
      for (std::size_t o = 0; o < m_vertex.operands.size(); ++o) {
        const CopiedBlock* const block = copied_to(call.operands[o]);
        if (block == nullptr) continue;
        for (std::size_t k = 0; k < rank_of(m_vertex.operands[o]); ++k) {
          const OperandIndex index = index_of(m_vertex.operands[o], k);
          if (index.divisor != 1) return false;
          if (const Extent beyond = open_values(m_vertex.operands[o], k, *block, call.domain)) {
            parts.open += beyond;
            parts.open_results +=
                beyond * (call.domain.size() / call.domain.extent(index.terms[0].label));
            continue;
          }
          keep_inside(index, block->box.lo[k], block->box.hi[k], call.domain, interior);
          if (interior.empty()) return false;
        }
      }
      subtract(call.domain, interior, parts.rest);
      parts.interior = std::move(interior);
    }
    return true;
  }

  /// Whether kernels of rows take such elements, and so know what is beyond the ends: they take no
  /// short and no unsigned integers.
  [[nodiscard]] static bool knows_outside(ElementType element) {
    return element.kind < ElementKind::int8;
  }
  /// At how many values of a label an operand is read beyond an end of the tensor at which a kernel
  /// knows what is there; 0 where it does not, or none are.
  [[nodiscard]] Extent open_values(const Operand& operand, std::size_t k, const CopiedBlock& block,
                                   const Box& domain) const {
    if (!m_vertex.aggregated.empty() || !operand.is_computed()) return 0;
    if (!operand.block.empty() || operand.absorbing || !operand.mask.empty()) return 0;
    const Vertex& tensor = m_graph[operand.vertex];
    if (!knows_outside(tensor.element)) return 0;
    const Box& stored = buffer(block.stored).box;
    if (stored.lo[k] > 0 || stored.hi[k] < tensor.bound[k]) return 0;
    const OperandIndex& index = operand.indices[k];
    const bool zero = index.boundary == Boundary::ignored && operand.outside == OutsideValue::zero;
    if (!zero && index.boundary != Boundary::periodic) return 0;
    if (index.terms.size() != 1 || index.terms[0].coefficient != 1) return 0;
    const auto has_label = [&](const OperandIndex& other) {
      return std::any_of(other.terms.begin(), other.terms.end(),
                         [&](const auto& term) { return term.label == index.terms[0].label; });
    };
    if (std::count_if(operand.indices.begin(), operand.indices.end(), has_label) > 1) return 0;
    const Values values = values_of(index, domain, -1);
    const Extent below = std::max<Extent>(0, -values.lo);
    const Extent above = std::max<Extent>(0, values.hi - (tensor.bound[k] - 1));
    const Extent most = std::min(tuning::max_open_values, tensor.bound[k]);
    return below <= most && above <= most ? below + above : 0;
  }

  /// Leaves of a domain that for which an index is from lo to before hi: cuts the label of the
  /// output that has most values; leaves nothing if that is not enough.
  void keep_inside(const OperandIndex& index, Extent lo, Extent hi, const Box& domain,
                   Box& interior) const {
    OperandIndex::Term cut{-1, 0};
    for (const OperandIndex::Term& term : index.terms) {
      const bool of_output = std::find(m_vertex.output.begin(), m_vertex.output.end(),
                                       term.label) != m_vertex.output.end();
      if (of_output && term.coefficient != 0 &&
          (cut.label < 0 || domain.extent(term.label) > domain.extent(cut.label))) {
        cut = term;
      }
    }
    const Values others = values_of(index, domain, cut.label);
    if (cut.label < 0) {
      if (others.lo < lo || others.hi >= hi) interior.hi = interior.lo;
      return;
    }
    const Extent size = cut.coefficient < 0 ? -cut.coefficient : cut.coefficient;
    Extent& first = interior.lo[to_index(cut.label)];
    Extent& end = interior.hi[to_index(cut.label)];
    const Extent below = lo - others.lo;      // at least this much
    const Extent above = hi - 1 - others.hi;  // and at most this
    if (cut.coefficient > 0) {
      first = std::max(first, -graph::floor_div(-below, size));
      end = std::min(end, graph::floor_div(above, size) + 1);
    } else {
      first = std::max(first, -graph::floor_div(above, size));
      end = std::min(end, graph::floor_div(-below, size) + 1);
    }
  }

  /// What calls near the border read of a block, a box per part of a call: some may overlap.
  void find_border(CopiedBlock& block) const {
    for (std::size_t c = 0; c < m_calls.size(); ++c) {
      for (const Box& part : m_parts[c].rest) {
        Box read{block.box.hi, block.box.lo};
        for (std::size_t o = 0; o < m_vertex.operands.size(); ++o) {
          if (m_calls[c].operands[o] != block.assembled) continue;
          for (std::size_t k = 0; k < read.lo.size(); ++k) {
            const Values values = values_of(index_of(m_vertex.operands[o], k), part, -1);
            read.lo[k] = std::min(read.lo[k], values.lo);
            read.hi[k] = std::max(read.hi[k], values.hi + 1);
          }
        }
        read = intersect(read, block.box);
        const auto has_it = [&](const Box& other) { return other.contains(read); };
        if (!read.empty() && std::none_of(block.border.begin(), block.border.end(), has_it)) {
          block.border.push_back(std::move(read));
        }
      }
    }
  }

  /// Whether what is not copied any more takes longer than what is called apart.
  [[nodiscard]] bool pays_off() const {
    std::int64_t saved = 0;
    Extent extra = 0;  // copies and calls
    for (const CopiedBlock& block : m_copies) {
      Extent left = block.box.size();
      for (const Box& part : block.border) left -= part.size();
      const Buffer& from = buffer(block.assembled);
      saved += left * (from.bytes / from.box.size());
      extra += static_cast<Extent>(block.border.size());
    }
    Extent reads = 0;
    for (const Parts& parts : m_parts) {
      extra += static_cast<Extent>(parts.rest.size()) + parts.open;
      reads += parts.open_results;
      for (const Box& part : parts.rest) reads += part.size();
    }
    reads *= static_cast<Extent>(m_vertex.operands.size());
    return saved > tuning::copied_per_part * extra + tuning::copied_per_border_read * reads;
  }

  void rewrite() {
    std::vector<KernelCall> calls;
    for (std::size_t c = 0; c < m_calls.size(); ++c) {
      for (Box& part : m_parts[c].rest) {
        calls.push_back(m_calls[c]);
        calls.back().domain = std::move(part);
      }
      KernelCall& interior = calls.emplace_back(std::move(m_calls[c]));
      interior.domain = std::move(m_parts[c].interior);
      interior.open = m_parts[c].open > 0;
      for (int& operand : interior.operands) {
        if (const CopiedBlock* const block = copied_to(operand)) operand = block->stored;
      }
    }
    m_calls = std::move(calls);
    for (CopiedBlock& block : m_copies) {
      if (block.spread) {
        const Spread whole = m_spreads[block.number];
        m_spreads[block.number].read =
            m_spreads[block.number].written = {whole.read.lo, whole.read.lo};
        for (Box& part : block.border) {
          m_spreads.push_back({whole.from, whole.to, part, part, whole.steps});
        }
      } else {
        const auto [round, whole] = m_gathers.copies[block.number];
        m_gathers.copies[block.number].second.box.hi = whole.box.lo;
        for (Box& part : block.border) {
          m_gathers.copies.push_back({round, {whole.from, whole.to, std::move(part)}});
        }
      }
    }
    // What nothing is left to read needs nothing around it.
    const auto unread = [&](int b) {
      const auto reads = [b](const KernelCall& call) {
        return std::find(call.operands.begin(), call.operands.end(), b) != call.operands.end();
      };
      return copied_to(b) != nullptr && std::none_of(m_calls.begin(), m_calls.end(), reads);
    };
    std::erase_if(m_fills, [&](const Fill& fill) { return unread(fill.target.buffer); });
    std::erase_if(m_spreads,
                  [&](const Spread& spread) { return spread.read.empty() || unread(spread.to); });
    std::erase_if(m_gathers.copies, [](const auto& copy) { return copy.second.box.empty(); });
  }

  const EinGraph& m_graph;
  const Vertex& m_vertex;
  const std::vector<Buffer>& m_buffers;
  Rounds& m_gathers;
  std::vector<Fill>& m_fills;
  std::vector<Spread>& m_spreads;
  std::vector<KernelCall>& m_calls;
  std::vector<CopiedBlock> m_copies;
  std::vector<Parts> m_parts;  ///< per call
};

}  // namespace eindecomp::relation
