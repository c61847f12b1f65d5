// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Cuts the products of residue classes by what they read: where all classes read the same
/// elements they are one product of many rows, which packs those elements once.
///
/// A convolution transposed of window 11 and stride 4 has classes of 3 and of 2 taps along a
/// dimension. All of them share 2 taps, and those of 3 add up their last one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/vertex.hpp"
#include "eindecomp/kernel/local_einsum.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/call_part.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// The part of a kernel call that computes a residue class, or several.
struct ResidueCall : CallPart {
  std::vector<Extent> lo;   ///< per label, its first value
  bool accumulate = false;  ///< adds to what the calls before have written
};

/// Elements that calls move: those of operands that they pack, and those of the output, which lie
/// scattered and are read and written by every call that adds to them.
[[nodiscard]] inline double moved_elements(const std::vector<ResidueCall>& calls) {
  double sum = 0;
  for (const ResidueCall& call : calls) {
    const kernel::LocalEinsum& shape = call.shape;
    const auto elements = [&](const Extent* stride) {
      double product = 1;
      for (int l = 0; l < shape.labels; ++l) {
        if (stride[l] != 0) product *= static_cast<double>(shape.extent[l]);
      }
      return product;
    };
    sum += tuning::scattered_against_packed * elements(shape.output_stride);
    for (int o = 0; o < shape.operands; ++o) sum += elements(shape.operand_stride[o]);
  }
  return sum;
}

/// An aggregated label that has a period, and the divided index in which it is the only one.
struct TapLabel {
  int label;
  const OperandIndex* index;
  Extent step;  ///< between the elements that neighbouring taps of a class read

  /// Where a class reads first, counted in the direction of its taps. \param lo  its first values
  [[nodiscard]] Extent position(const std::vector<Extent>& lo) const {
    Extent at = index->offset;
    for (const OperandIndex::Term& term : index->terms) at += term.coefficient * lo[at_of(term)];
    return step > 0 ? at / index->divisor : -(at / index->divisor);
  }

 private:
  static std::size_t at_of(const OperandIndex::Term& term) {
    return static_cast<std::size_t>(term.label);
  }
};

/// The aggregated labels of a statement with periods that have one.
/// \returns nothing where two are in one index, one is in indices that differ, or moves none
[[nodiscard]] inline std::optional<std::vector<TapLabel>> tap_labels(const Vertex& v) {
  std::vector<TapLabel> found;
  for (const Operand& operand : v.operands) {
    for (const OperandIndex& index : operand.indices) {
      if (index.divisor == 1) continue;
      const OperandIndex::Term* tap = nullptr;
      for (const OperandIndex::Term& term : index.terms) {
        if (std::find(v.aggregated.begin(), v.aggregated.end(), term.label) == v.aggregated.end()) {
          continue;
        }
        if (tap != nullptr) return {};
        tap = &term;
      }
      if (tap == nullptr || tap->coefficient == 0) return {};
      const auto same = std::find_if(found.begin(), found.end(),
                                     [&](const TapLabel& t) { return t.label == tap->label; });
      if (same != found.end()) {
        if (*same->index != index) return {};
        continue;
      }
      found.push_back(
          {tap->label, &index, tap->coefficient * v.periods[to_index(tap->label)] / index.divisor});
    }
  }
  for (const int l : v.aggregated) {
    const bool known =
        std::any_of(found.begin(), found.end(), [l](const TapLabel& t) { return t.label == l; });
    if (v.periods[to_index(l)] > 1 && !known) return {};
  }
  return found;
}

/// Cuts classes into the taps that all of them have, those before and those after.
class SharedTaps {
 public:
  /// \param labels  of the statement (tap_labels)
  /// \param bytes  of an element of each operand and, last, of the output
  SharedTaps(std::vector<TapLabel> labels, std::vector<std::int64_t> bytes)
      : m_labels(std::move(labels)), m_bytes(std::move(bytes)) {}

  /// \param classes  with as many elements each, whose values of labels begin within a period
  /// \returns calls that may become one, the first of which are those of all classes; nothing where
  ///   the classes share no taps
  [[nodiscard]] std::vector<std::vector<ResidueCall>> cut(
      const std::vector<ResidueCall>& classes) const {
    std::vector<Range> shared;
    for (const TapLabel& label : m_labels) {
      const std::optional<Range> range = shared_by(classes, label);
      if (!range) return {};
      shared.push_back(*range);
    }
    std::vector<std::vector<ResidueCall>> groups;
    std::vector<int> part(m_labels.size(), 0);
    do {
      std::vector<ResidueCall> group;
      for (const ResidueCall& whole : classes) {
        if (std::optional<ResidueCall> made = part_of(whole, shared, part)) {
          made->accumulate = !groups.empty();
          group.push_back(*std::move(made));
        }
      }
      if (!group.empty()) groups.push_back(std::move(group));
    } while (advance(part));
    return groups;
  }

 private:
  /// Positions first, …, last of taps.
  struct Range {
    Extent first;
    Extent last;
  };

  static std::optional<Range> shared_by(const std::vector<ResidueCall>& classes,
                                        const TapLabel& label) {
    const Extent step = std::abs(label.step);
    std::optional<Range> shared;
    for (const ResidueCall& one : classes) {
      const Extent first = label.position(one.lo);
      const Range own{first, first + (one.shape.extent[label.label] - 1) * step};
      if (!shared) shared = own;
      if ((own.first - shared->first) % step != 0) return {};
      shared->first = std::max(shared->first, own.first);
      shared->last = std::min(shared->last, own.last);
    }
    if (!shared || shared->first > shared->last) return {};
    return shared;
  }

  /// \param part  per label: 0 for the shared taps, 1 for those before, 2 for those after
  /// \returns nothing where the class has no such taps
  [[nodiscard]] std::optional<ResidueCall> part_of(const ResidueCall& whole,
                                                   const std::vector<Range>& shared,
                                                   const std::vector<int>& part) const {
    ResidueCall made = whole;
    for (std::size_t k = 0; k < m_labels.size(); ++k) {
      const int l = m_labels[k].label;
      const Extent step = std::abs(m_labels[k].step);
      const Extent before = (shared[k].first - m_labels[k].position(whole.lo)) / step;
      const Extent taps = (shared[k].last - shared[k].first) / step + 1;
      const Extent after = whole.shape.extent[l] - before - taps;
      const Extent first = part[k] == 0 ? before : part[k] == 1 ? 0 : before + taps;
      const Extent extent = part[k] == 0 ? taps : part[k] == 1 ? before : after;
      if (extent == 0) return {};
      made.narrow(l, first, extent, m_bytes);
    }
    return made;
  }

  static bool advance(std::vector<int>& part) {
    for (int& p : part) {
      if (++p < 3) return true;
      p = 0;
    }
    return false;
  }

  std::vector<TapLabel> m_labels;
  std::vector<std::int64_t> m_bytes;
};

/// Cuts a domain into one of whole periods along all output labels that have one, and what is left:
/// within each, all residue classes have as many elements.
/// \returns nothing where a label has less than a period
[[nodiscard]] inline std::vector<Box> whole_periods(const Vertex& v, const Box& domain) {
  std::vector<Box> boxes{domain};
  for (const int l : v.output) {
    const Extent period = v.periods[to_index(l)];
    if (period == 1) continue;
    const Extent whole = domain.extent(l) / period * period;
    if (whole == 0) return {};
    if (whole == domain.extent(l)) continue;
    const std::size_t count = boxes.size();
    for (std::size_t i = 0; i < count; ++i) {
      Box rest = boxes[i];
      boxes[i].hi[to_index(l)] = rest.lo[to_index(l)] = domain.lo[to_index(l)] + whole;
      boxes.push_back(std::move(rest));
    }
  }
  return boxes;
}

}  // namespace eindecomp::run
