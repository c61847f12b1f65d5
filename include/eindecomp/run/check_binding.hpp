// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Whether what is bound to an input fits it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/error.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/check_views.hpp"
#include "eindecomp/run/result_memory.hpp"
#include "eindecomp/run/session.hpp"

namespace eindecomp::run {

/// Whether an input bound so lies in memory of the executor's own on a rank, all of it.
[[nodiscard]] inline bool fills_memory(const BindingFacts& facts, int rank) {
  return facts.kind == BindingKind::generator || facts.kind == BindingKind::file ||
         (facts.kind == BindingKind::whole_on_root && facts.root != rank);
}

/// The index of the view that shows `box`, the plan's n-th block on this rank.
[[nodiscard]] inline std::size_t view_of(const BindingFacts& facts, const Box& box, std::size_t n) {
  if (!facts.boxes) return n;
  const auto found = std::find(facts.boxes->begin(), facts.boxes->end(), box);
  return static_cast<std::size_t>(found - facts.boxes->begin());
}

/// Checks bindings on one rank.
template <comm::Communicator Group>
class BindingChecker {
 public:
  explicit BindingChecker(const Session<Group>& session) : m_session(session) {}

  /// \throws Error if what is bound does not fit the tensor or this rank's part of it.
  void check(VertexId v, const BindingFacts& facts) const {
    const Vertex& tensor = m_session.graph[v];
    if (facts.kind == BindingKind::file) return;  // it is checked when it is read
    if (!(facts.element == tensor.element)) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is of " + expr::element_text(tensor.element).str() +
                      " and what is bound to it is of " + expr::element_text(facts.element).str() +
                      " (elements are not converted); bind elements of the input's type",
                  facts.where);
    }
    if (facts.kind == BindingKind::whole_on_root &&
        (facts.root < 0 || facts.root >= m_session.control.size())) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is bound on rank " + std::to_string(facts.root) +
                      " (the run has " + std::to_string(m_session.control.size()) +
                      " ranks); name one of them",
                  facts.where);
    }
    if (facts.rank >= 0 && facts.rank != tensor.rank()) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " of rank " + std::to_string(tensor.rank()) +
                      " is bound to a generator of " + std::to_string(facts.rank) +
                      " indices (one per dimension)",
                  facts.where);
    }
    if (facts.kind == BindingKind::distributed) {
      check_distribution(tensor, facts);
      return;
    }
    if (fills_memory(facts, m_session.control.rank())) return;
    if (facts.kind != BindingKind::blocks) {
      check_view(tensor, facts.views[0], tensor.bound, {}, facts.where);
      return;
    }
    if (facts.boxes && facts.result_bound != tensor.bound) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is " + extents_text(tensor.bound) +
                      " and is bound to blocks of " + facts.result + ", which is " +
                      extents_text(facts.result_bound) +
                      " (a block keeps its place in the whole tensor); bind views of your own",
                  facts.where);
    }
    const std::vector<int> buffers = m_session.stored_buffers(v);
    if (buffers.empty() && facts.views.size() == 1 && is_nothing(facts.views[0])) return;
    if (buffers.size() != facts.views.size()) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is bound to " + std::to_string(facts.views.size()) +
                      " blocks on rank " + std::to_string(m_session.control.rank()) +
                      ", which stores " + std::to_string(buffers.size()) +
                      " (one per worker that holds a part of it); bind a vector of views, one for "
                      "each box of plan.local(" +
                      tensor.name + ", rank)",
                  facts.where);
    }
    for (std::size_t n = 0; n < buffers.size(); ++n) {
      const Box& box = m_session.program.buffers[to_index(buffers[n])].box;
      const std::size_t view = view_of(facts, box, n);
      if (view == facts.views.size()) {
        fail_places(tensor, box, facts.result, (*facts.boxes)[n], facts.where);
      }
      check_view(tensor, facts.views[view], box.extents(), index_text(box.lo), facts.where);
      if (!facts.boxes) check_place(tensor, box, facts.views[view], facts.where);
    }
  }

 private:
  /// \throws Error if an input's distribution is of another tensor, or the views are not its
  /// arrays.
  void check_distribution(const Vertex& tensor, const BindingFacts& facts) const {
    if (facts.distribution->bound() != tensor.bound) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is " + extents_text(tensor.bound) +
                      " and is bound in a distribution of " +
                      extents_text(facts.distribution->bound()) +
                      " (it says which elements lie where); describe the input's own",
                  facts.where);
    }
    check_ranks_of(*facts.distribution, m_session.control.size(), facts.where);
    static_cast<void>(check_views(*facts.distribution, m_session.control.rank(), facts.views,
                                  "input " + tensor.name, facts.where));
  }

  /// \throws Error if a view shows a block of a result that has another place than `box`. Only
  /// whole blocks of tensors of equal extents are known to be the same part of both.
  void check_place(const Vertex& tensor, const Box& box, const kernel::StridedTensor& view,
                   const std::source_location& where) const {
    const std::optional<KnownBlock> known = StoredBlocks::of_process().find(view.data);
    if (!known || known->bound != tensor.bound || known->box == box ||
        known->bytes != static_cast<int>(tensor.element.bytes) ||
        known->box.extents() != view.extents()) {
      return;
    }
    fail_places(tensor, box, known->tensor, known->box, where);
  }

  [[noreturn]] void fail_places(const Vertex& tensor, const Box& wanted, const std::string& result,
                                const Box& given, const std::source_location& where) const {
    throw Error(ErrorKind::binding,
                "input " + tensor.name + " is bound to the block of " + result + " from (" +
                    index_text(given.lo) + ") to (" + index_text(given.hi) + ") on rank " +
                    std::to_string(m_session.control.rank()) + ", which stores that from (" +
                    index_text(wanted.lo) + ") to (" + index_text(wanted.hi) +
                    ") (the plan lays the two out differently); decompose with .carry = {{\"" +
                    result + "\", \"" + tensor.name +
                    "\"}}, or bind its views in plan.distribution(" + result + ")",
                where);
  }

  /// What a rank that stores no block may bind all the same: an empty view, or a scalar.
  static bool is_nothing(const kernel::StridedTensor& view) {
    return view.rank == 0 || view.is_empty();
  }

  /// \throws Error if a view has not the extents of the block at `place` or, without a place, of
  /// the whole tensor.
  void check_view(const Vertex& tensor, const kernel::StridedTensor& view,
                  const std::vector<Extent>& wanted, const std::optional<std::string>& place,
                  const std::source_location& where) const {
    const std::vector<Extent> extents = view.extents();
    if (extents.size() != wanted.size()) {
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " of rank " + std::to_string(wanted.size()) +
                      " is bound to a view of rank " + std::to_string(extents.size()) +
                      " (one dimension each)",
                  where);
    }
    if (extents == wanted) {
      if (!view.is_null()) return;
      throw Error(ErrorKind::binding,
                  "input " + tensor.name + " is bound to a null view of " + extents_text(extents) +
                      " on rank " + std::to_string(m_session.control.rank()) +
                      " (there is nothing to read); allocate it first",
                  where);
    }
    const std::string bound =
        "input " + tensor.name + " is bound to a view of " + extents_text(extents);
    if (!place) {
      throw Error(ErrorKind::binding,
                  bound + " and the whole tensor is " + extents_text(wanted) +
                      " (bind_global takes all of it); give all, or bind what this rank has",
                  where);
    }
    throw Error(ErrorKind::binding,
                bound + " on rank " + std::to_string(m_session.control.rank()) +
                    " and its block at (" + *place + ") is " + extents_text(wanted) +
                    " (the plan fixes who stores what); see plan.local(" + tensor.name + ", rank)",
                where);
  }

  const Session<Group>& m_session;
};

}  // namespace eindecomp::run
