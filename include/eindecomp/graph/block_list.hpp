// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The blocks that a tensor is put together from: where each lies, that no two overlap, and what
/// none of them has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/affine_index.hpp"
#include "eindecomp/expr/label_rules.hpp"
#include "eindecomp/graph/ein_graph.hpp"

namespace eindecomp::graph {

/// A tensor, and where its elements lie in another one.
struct PlacedBlock {
  VertexId vertex = -1;       ///< the tensor
  int writing = -1;           ///< EinGraph::last_writing() of it
  bool constant = false;      ///< gradients do not look at it
  std::vector<Text> labels;   ///< per dimension; empty where the index is one number
  std::vector<Extent> first;  ///< per dimension, the index of the first element
  std::vector<Extent> step;   ///< from one element's index to the next one's
};

/// Blocks of one tensor that do not overlap, except where a list is told so.
class BlockList {
 public:
  /// \param name  of the tensor; \param bound  its extents
  constexpr BlockList(std::string_view name, std::vector<Extent> bound)
      : m_name(name), m_bound(std::move(bound)) {}

  [[nodiscard]] constexpr const std::vector<PlacedBlock>& blocks() const { return m_blocks; }
  [[nodiscard]] constexpr const std::vector<Extent>& bound() const { return m_bound; }

  /// Adds a block, which must overlap no other. \param extents  its tensor's
  constexpr void add(PlacedBlock block, std::vector<Extent> extents) {
    m_blocks.push_back(std::move(block));
    m_extents.push_back(std::move(extents));
  }

  /// A block as it is written: `Z(2*i + 4,j)`.
  [[nodiscard]] constexpr Text text(const PlacedBlock& block) const {
    std::vector<Text> indices;
    for (std::size_t k = 0; k < m_bound.size(); ++k) {
      std::vector<OneTerm> terms;
      if (!block.labels[k].empty()) terms.push_back({block.labels[k], block.step[k]});
      indices.push_back(expr::index_text(
          terms, block.first[k], [](const OneTerm& term) -> const Text& { return term.label; }));
    }
    return m_name + "(" + core::joined(indices, ",", [](const Text& index) { return index; }) + ")";
  }

  /// \throws Error if a block leaves the tensor, or does not go forwards.
  constexpr void check_place(const PlacedBlock& block, const std::vector<Extent>& extents,
                             std::string_view tensor, const std::source_location& where) const {
    for (std::size_t k = 0; k < m_bound.size(); ++k) {
      if (block.step[k] < 1) {
        core::fail(ErrorKind::statement,
                   "block " + text(block) + " goes from one index to the next by " +
                       core::to_text(block.step[k]) +
                       " (blocks go forwards); write the tensor that it is of backwards, X(n - i)",
                   where);
      }
      const Extent last = last_index(block.first[k], block.step[k], extents[k]);
      if (block.first[k] >= 0 && last < m_bound[k]) continue;
      Text why = Text("the extent of ") + tensor + " there is " + extents[k];
      if (!block.labels[k].empty()) {
        why =
            Text("label ") + expr::quoted(block.labels[k]) + " is " + extents[k] + " in " + tensor;
      }
      core::fail(ErrorKind::shape,
                 Text("block ") + text(block) + " goes from " + block.first[k] + " to " + last +
                     " in dimension " + k + " of " + m_name + ", of extent " + m_bound[k] + " (" +
                     why + "); write it where it fits, or give " + m_name + " a larger extent",
                 where);
    }
  }

  /// Whether a block has an element in common with one of the list, whose number is stored, and
  /// the element.
  constexpr bool meets(const PlacedBlock& block, const std::vector<Extent>& extents,
                       std::size_t& other, std::vector<Extent>& element) const {
    for (other = 0; other < m_blocks.size(); ++other) {
      element.clear();
      for (std::size_t k = 0; k < m_bound.size(); ++k) {
        const Extent shared =
            first_common(place(block, extents, k), place(m_blocks[other], m_extents[other], k));
        if (shared < 0) break;
        element.push_back(shared);
      }
      if (element.size() == m_bound.size()) return true;
    }
    return false;
  }
  /// \throws Error if a block overlaps one of the list.
  constexpr void check_apart(const PlacedBlock& block, const std::vector<Extent>& extents,
                             const std::source_location& where) const {
    std::size_t other = 0;
    std::vector<Extent> element;
    if (!meets(block, extents, other, element)) return;
    core::fail(ErrorKind::shape,
               "blocks " + text(m_blocks[other]) + " and " + text(block) + " both have element " +
                   element_text(element) +
                   " (an element is written once); place them apart, or add the second by +=",
               where);
  }

  /// Adds the blocks of another list of the same tensor, which may overlap those of this one.
  constexpr void add_over(const BlockList& other) {
    m_blocks.insert(m_blocks.end(), other.m_blocks.begin(), other.m_blocks.end());
    m_extents.insert(m_extents.end(), other.m_extents.begin(), other.m_extents.end());
    m_overlap = true;
  }

  /// The first element that no block has; empty if there is none.
  [[nodiscard]] constexpr std::vector<Extent> hole() const {
    std::vector<std::size_t> all;
    for (std::size_t b = 0; b < m_blocks.size(); ++b) all.push_back(b);
    std::vector<Extent> element;
    find_hole(all, element);
    return element;
  }
  /// \throws Error if there is one.
  constexpr void check_whole(const std::source_location& where) const {
    const std::vector<Extent> element = hole();
    if (element.empty()) return;
    core::fail(ErrorKind::shape,
               "no block of " + m_name + " has element " + element_text(element) + " (" + m_name +
                   " is " + core::extents_text(m_bound) + "); write a block there, or give " +
                   m_name + " a value for what no block has",
               where);
  }

 private:
  /// Of so many from the first on; or the largest index that there is.
  [[nodiscard]] static constexpr Extent last_index(Extent first, Extent step, Extent count) {
    constexpr Extent most = std::numeric_limits<Extent>::max();
    if ((most - std::max<Extent>(first, 0)) / step < count - 1) return most;
    return first + (count - 1) * step;
  }

  struct OneTerm {
    Text label;
    Extent coefficient;
  };
  /// The indices first, first + step, … of a dimension.
  struct Place {
    Extent first;
    Extent step;
    Extent count;
    [[nodiscard]] constexpr Extent end() const { return first + (count - 1) * step + 1; }
    [[nodiscard]] constexpr bool has(Extent index) const {
      return index >= first && (index - first) % step == 0 && (index - first) / step < count;
    }
  };

  [[nodiscard]] static constexpr Place place(const PlacedBlock& block,
                                             const std::vector<Extent>& extents, std::size_t k) {
    return {block.first[k], block.step[k], extents[k]};
  }
  /// The first index that two places have; -1 if there is none.
  [[nodiscard]] static constexpr Extent first_common(const Place& a, const Place& b) {
    // From the first index of a that is not before b's, as many as b's steps can tell apart.
    Extent n = a.first < b.first ? ceil_div(b.first - a.first, a.step) : 0;
    for (Extent tries = 0; tries < b.step && n < a.count; ++tries, ++n) {
      if (b.has(a.first + n * a.step)) return a.first + n * a.step;
    }
    return -1;
  }

  [[nodiscard]] static constexpr Text element_text(const std::vector<Extent>& element) {
    return "(" + core::joined(element, ",", core::to_text) + ")";
  }

  /// Goes on to an element, whose indices so far only these blocks have, that none has. Where
  /// blocks do not overlap and none is missing, their sizes add up.
  constexpr bool find_hole(const std::vector<std::size_t>& blocks,
                           std::vector<Extent>& element) const {
    const std::size_t k = element.size();
    if (k == m_bound.size()) return blocks.empty();
    if (!m_overlap && size_of(blocks, k) == size_from(m_bound, k)) return false;
    const std::vector<Extent> ends = ends_of(blocks, k);
    std::vector<std::size_t> before;
    for (std::size_t n = 0; n + 1 < ends.size(); ++n) {
      // Between two ends, what has an index has the one a period on.
      const Extent length = ends[n + 1] - ends[n];
      std::vector<std::size_t> within;
      Extent period = 1;
      for (const std::size_t b : blocks) {
        const Place at = place(m_blocks[b], m_extents[b], k);
        if (at.first > ends[n] || at.end() <= ends[n]) continue;
        within.push_back(b);
        const Extent times = at.step / std::gcd(period, at.step);
        period = times > length / period ? length : period * times;
      }
      for (Extent i = ends[n]; i < ends[n] + std::min(length, period); ++i) {
        std::vector<std::size_t> here;
        for (const std::size_t b : within) {
          if (place(m_blocks[b], m_extents[b], k).has(i)) here.push_back(b);
        }
        if (i > 0 && here == before) continue;
        before = here;
        element.push_back(i);
        if (find_hole(here, element)) return true;
        element.pop_back();
      }
    }
    return false;
  }
  /// Where blocks begin and end in dimension k, and where it does, in order.
  [[nodiscard]] constexpr std::vector<Extent> ends_of(const std::vector<std::size_t>& blocks,
                                                      std::size_t k) const {
    std::vector<Extent> ends{0, m_bound[k]};
    for (const std::size_t b : blocks) {
      const Place at = place(m_blocks[b], m_extents[b], k);
      ends.push_back(at.first);
      ends.push_back(at.end());
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }
  [[nodiscard]] static constexpr Extent size_from(const std::vector<Extent>& extents,
                                                  std::size_t k) {
    Extent n = 1;
    for (; k < extents.size(); ++k) n *= extents[k];
    return n;
  }
  [[nodiscard]] constexpr Extent size_of(const std::vector<std::size_t>& blocks,
                                         std::size_t k) const {
    Extent n = 0;
    for (const std::size_t b : blocks) n += size_from(m_extents[b], k);
    return n;
  }

  Text m_name;
  std::vector<Extent> m_bound;
  std::vector<PlacedBlock> m_blocks;
  std::vector<std::vector<Extent>> m_extents;  ///< of their tensors
  bool m_overlap = false;
};

}  // namespace eindecomp::graph
