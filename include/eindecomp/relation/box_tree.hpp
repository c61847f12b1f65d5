// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Boxes found by where they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"

namespace eindecomp::relation {

/// A tree of boxes, halved again and again along the dimension in which their middles lie farthest
/// apart. Made in O(n log² n); a query looks at the boxes that meet it and a few times log n others
/// where boxes do not overlap.
class BoxTree {
 public:
  explicit BoxTree(std::vector<Box> boxes) : m_boxes(std::move(boxes)) {
    for (std::size_t i = 0; i < m_boxes.size(); ++i) m_order.push_back(i);
    if (!m_boxes.empty()) split(0, m_boxes.size());
  }

  /// Calls visit(number) for every box that shares an index with this one.
  template <class Visit>
  void for_each_meeting(const Box& box, const Visit& visit) const {
    if (!m_nodes.empty()) descend(0, box, visit);
  }

 private:
  static constexpr std::size_t leaf_boxes = 4;

  struct Node {
    Box bounds;
    std::size_t first = 0;  ///< of m_order
    std::size_t last = 0;
    std::size_t second = 0;  ///< the second child; the first is the next node. 0: a leaf
  };

  std::size_t split(std::size_t first, std::size_t last) {
    Node node{m_boxes[m_order[first]], first, last, 0};
    std::vector<Extent> lowest = middle(m_order[first]);
    std::vector<Extent> highest = lowest;
    for (std::size_t n = first + 1; n < last; ++n) {
      const Box& box = m_boxes[m_order[n]];
      const std::vector<Extent> at = middle(m_order[n]);
      for (std::size_t k = 0; k < at.size(); ++k) {
        node.bounds.lo[k] = std::min(node.bounds.lo[k], box.lo[k]);
        node.bounds.hi[k] = std::max(node.bounds.hi[k], box.hi[k]);
        lowest[k] = std::min(lowest[k], at[k]);
        highest[k] = std::max(highest[k], at[k]);
      }
    }
    const std::size_t number = m_nodes.size();
    m_nodes.push_back(std::move(node));
    if (last - first <= leaf_boxes || lowest == highest) return number;
    std::size_t widest = 0;
    for (std::size_t k = 1; k < lowest.size(); ++k) {
      if (highest[k] - lowest[k] > highest[widest] - lowest[widest]) widest = k;
    }
    const std::size_t half = first + (last - first) / 2;
    const auto at = [this](std::size_t n) {
      return m_order.begin() + static_cast<std::ptrdiff_t>(n);
    };
    std::nth_element(at(first), at(half), at(last), [&](std::size_t a, std::size_t b) {
      return m_boxes[a].lo[widest] + m_boxes[a].hi[widest] <
             m_boxes[b].lo[widest] + m_boxes[b].hi[widest];
    });
    split(first, half);
    const std::size_t second = split(half, last);
    m_nodes[number].second = second;
    return number;
  }

  /// Twice the middle of a box.
  [[nodiscard]] std::vector<Extent> middle(std::size_t box) const {
    std::vector<Extent> at = m_boxes[box].lo;
    for (std::size_t k = 0; k < at.size(); ++k) at[k] += m_boxes[box].hi[k];
    return at;
  }

  template <class Visit>
  void descend(std::size_t number, const Box& box, const Visit& visit) const {
    const Node& node = m_nodes[number];
    if (intersect(node.bounds, box).empty()) return;
    if (node.second == 0) {
      for (std::size_t n = node.first; n < node.last; ++n) {
        if (!intersect(m_boxes[m_order[n]], box).empty()) visit(m_order[n]);
      }
      return;
    }
    descend(number + 1, box, visit);
    descend(node.second, box, visit);
  }

  std::vector<Box> m_boxes;
  std::vector<std::size_t> m_order;
  std::vector<Node> m_nodes;
};

}  // namespace eindecomp::relation
