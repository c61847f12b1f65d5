// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// In which rounds the members of a group pass on to each other what enters the group at one of
/// them, so that each gets everything once, in few messages; and, the other way round, bring to one
/// of them what all have a part of.
#pragma once

#include <span>

namespace eindecomp::relation {

/// A gather within a group of q members, along one axis after another of the mesh they make: its
/// axes are the prime factors aᵢ of q, the first the slowest, as those of a mesh of workers are. In
/// round 0 elements come from outside. In round i + 1 members that differ along axis i alone give
/// each other what they have by then, so that the slowest links carry least. A member receives
/// every element once, as if it came straight from the owner, in Σ(aᵢ - 1) messages where all pairs
/// would take q - 1.
///
/// A reduction is the same in reverse: the rounds from the last to the first, every message from
/// its receiver to its sender, who combines what arrives with its own. Every member sends each
/// element but its own once.
class RelayRounds {
 public:
  /// Axes that are the prime factors of q, smallest first. \param size  q, at least 1
  explicit constexpr RelayRounds(int size) : m_size(size) {
    int rest = size;
    for (int factor = 2; factor <= rest / factor; ++factor) {
      for (; rest % factor == 0; rest /= factor) add(factor);
    }
    if (rest > 1) add(rest);
    set_strides();
  }
  /// Axes of these lengths, at most 31; q is their product.
  explicit constexpr RelayRounds(std::span<const int> lengths) : m_size(1) {
    for (const int length : lengths) {
      add(length);
      m_size *= length;
    }
    set_strides();
  }

  /// q.
  [[nodiscard]] constexpr int size() const { return m_size; }
  /// The rounds, that with the messages from outside among them.
  [[nodiscard]] constexpr int rounds() const { return m_axes + 1; }

  /// How something reaches a member.
  struct Hop {
    int round = 0;  ///< from 1
    int from = 0;   ///< the member that sends it
  };
  /// How `to` gets what enters at another member: along the last axis on which they differ, from
  /// the one that has it after the axes before.
  [[nodiscard]] constexpr Hop hop(int entry, int to) const {
    int axis = m_axes - 1;
    while (digit(entry, axis) == digit(to, axis)) --axis;
    return {axis + 1, to + (digit(entry, axis) - digit(to, axis)) * m_stride[axis]};
  }

  /// Visits those from which a member gets its parts of what a reduction brings to `exit`: those to
  /// which it would pass on what enters there, the last round first. visit(from, round), for which
  /// hop(exit, from) is {round, member}.
  template <class Visit>
  constexpr void for_each_sender(int exit, int member, const Visit& visit) const {
    for (int a = m_axes - 1; a >= 0 && digit(exit, a) == digit(member, a); --a) {
      for_each_along(member, a, [&](int from) { visit(from, a + 1); });
    }
  }

  /// Visits the members that exchange messages with one: those that differ from it along one axis.
  template <class Visit>
  constexpr void for_each_peer(int member, const Visit& visit) const {
    for (int a = 0; a < m_axes; ++a) for_each_along(member, a, visit);
  }

 private:
  static constexpr int max_axes = 31;  // of an int

  constexpr void add(int length) { m_length[m_axes++] = length; }
  constexpr void set_strides() {
    int stride = 1;
    for (int a = m_axes; a-- > 0;) {
      m_stride[a] = stride;
      stride *= m_length[a];
    }
  }
  /// Visits the others that differ from a member along one axis only.
  template <class Visit>
  constexpr void for_each_along(int member, int axis, const Visit& visit) const {
    const int own = digit(member, axis);
    for (int d = 0; d < m_length[axis]; ++d) {
      if (d != own) visit(member + (d - own) * m_stride[axis]);
    }
  }
  [[nodiscard]] constexpr int digit(int member, int axis) const {
    return member / m_stride[axis] % m_length[axis];
  }

  int m_size;
  int m_axes = 0;
  int m_length[max_axes] = {};
  int m_stride[max_axes] = {};
};

}  // namespace eindecomp::relation
