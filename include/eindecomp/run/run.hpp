// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The results of an executed program: this rank's blocks, or whole tensors gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/large_pages.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/binding.hpp"
#include "eindecomp/run/distributed_views.hpp"
#include "eindecomp/run/local_tensor.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/result_block.hpp"
#include "eindecomp/run/usual_executors.hpp"

namespace eindecomp {
namespace run {

struct ResultFiles;

template <comm::Communicator Group>
struct Session;

/// A result as its reader names it, the types forgotten.
struct NamedResult {
  TensorReference tensor;
  ElementType element;
  int rank = 0;
  std::source_location where;
};

template <class T, int Rank, TensorName Symbol>
[[nodiscard]] NamedResult named_result(const Symbol& symbol, const std::source_location& where) {
  return {reference_to(symbol), element_type<T>(), Rank, where};
}

}  // namespace run

/// What a run of a plan left on this rank. Independent of later runs of the same Executor. Must be
/// destroyed on all ranks, and before Kokkos is finalised.
template <class Space, comm::Communicator Group>
class Run {
 public:
  /// Where results lie.
  using MemorySpace = typename Space::memory_space;

  /// Made by an Executor: the memory of the program's result buffers (Session::result_buffers).
  /// \param number  of its runs, the same on every rank
  Run(std::shared_ptr<run::Session<Group>> session, std::uint64_t number, const Space& space,
      std::vector<run::SharedBlock<MemorySpace>> results, RunStatistics statistics,
      std::optional<std::vector<Event>> events = std::nullopt)
      : m_session(std::move(session)),
        m_number(number),
        m_space(space),
        m_results(std::move(results)),
        m_statistics(statistics),
        m_events(std::move(events)) {}

  /// This rank's blocks of a result. Not collective, does not fence.
  /// \throws Error if the symbol is not a result of this program.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto local(const Symbol& symbol,
                           std::source_location where = std::source_location::current()) const {
    return local_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(symbol,
                                                                                         where);
  }

  /// The same for a tensor by name, or by a symbol of a graph built at run time, whose elements
  /// are T.
  template <class T, int Rank, TensorName Symbol>
  [[nodiscard]] LocalTensor<T, Rank, MemorySpace> local_as(
      const Symbol& symbol, std::source_location where = std::source_location::current()) const {
    using Block = LocalBlock<T, Rank, MemorySpace>;
    const VertexId v = result(run::named_result<T, Rank>(symbol, where));
    std::vector<Block> blocks;
    for (run::HeldBlock<MemorySpace>& block : held_blocks(v)) {
      blocks.push_back({block.box,
                        typename Block::View(reinterpret_cast<T*>(block.data),
                                             run::layout_of(block.box.extents())),
                        std::move(block.owner)});
    }
    return {tensor(v).name, tensor(v).bound, std::move(blocks)};
  }

  /// The whole of a result, row-major, on every rank. Collective; fences the run's space instance.
  /// \throws Error, on all ranks alike, if on any the symbol is not a result or memory is short.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto gather(const Symbol& symbol,
                            std::source_location where = std::source_location::current()) const {
    return gather_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(
        symbol, std::nullopt, where);
  }
  /// The whole of a result on rank `root`; an empty view on the others. Collective; fences the
  /// run's space instance. \throws Error as above, and if the run has no such rank.
  template <run::TypedSymbol Symbol>
  [[nodiscard]] auto gather(const Symbol& symbol, int root,
                            std::source_location where = std::source_location::current()) const {
    return gather_as<Stored<typename Symbol::value_type>, static_cast<int>(Symbol::rank)>(
        symbol, root, where);
  }

  /// The same for a tensor by name, or by a symbol of a graph built at run time, whose elements
  /// are T.
  template <class T, int Rank, TensorName Symbol>
  [[nodiscard]] run::TensorView<T, Rank, MemorySpace> gather_as(
      const Symbol& symbol, std::optional<int> root = std::nullopt,
      std::source_location where = std::source_location::current()) const {
    using View = run::TensorView<T, Rank, MemorySpace>;
    View whole;
    collect(run::named_result<T, Rank>(symbol, where), root, [&whole](const Vertex& tensor) {
      whole = View(Kokkos::view_alloc(Kokkos::WithoutInitializing,
                                      "EinDecomp::gathered " + tensor.name.str()),
                   run::layout_of(tensor.bound));
      kernel::prefer_large_pages(whole);
      return static_cast<void*>(whole.data());
    });
    return whole;
  }

  /// Refuse a name alone, which does not say the type of the view.
  /// @{
  template <TensorName Symbol, class... Rest>
    requires(!run::TypedSymbol<Symbol>)
  auto gather(const Symbol&, const Rest&...) const {
    static_assert(expr::never<Symbol>,
                  "EinDecomp: a result is gathered by a name (which does not say its value type "
                  "and rank); write gather_as<double, 2>(name)");
  }
  template <TensorName Symbol, class... Rest>
    requires(!run::TypedSymbol<Symbol>)
  auto local(const Symbol&, const Rest&...) const {
    static_assert(expr::never<Symbol>,
                  "EinDecomp: a result is asked for by a name (which does not say its value type "
                  "and rank); write local_as<double, 2>(name)");
  }
  /// @}

  /// The bytes of a result of whatever elements and rank, row-major, in the space's memory on rank
  /// `root`; none on the others. Collective; fences and throws as gather().
  [[nodiscard]] run::Memory<MemorySpace> gather_bytes(
      const std::string& tensor, int root,
      std::source_location where = std::source_location::current()) const;

  /// Brings a result to a distribution of the user's: this rank's arrays of it are written, those
  /// of the other ranks by them. Views as bind(X, distribution, views) takes them, not const, of
  /// the tensor's value type. Collective; fences the run's space instance.
  /// \returns what moved, the least there is: the words of Plan::result_words.
  /// \throws Error, on all ranks alike and before anything moves, if on any the symbol is not a
  ///   result, the distribution is of another tensor or not the same, views do not fit it, share
  ///   memory or are null, or memory is short.
  template <TensorName Symbol, class Views>
  RedistributionStatistics redistribute(
      const Symbol& symbol, const Distribution& distribution, const Views& views,
      std::source_location where = std::source_location::current()) const {
    using View = run::ViewOf<Views>;
    static_assert(!std::is_const_v<typename View::value_type>,
                  "EinDecomp: a result is brought to views of const elements, which cannot be "
                  "written; give views of others");
    static_assert(compat::accessible<Space, typename View::memory_space>,
                  "EinDecomp: a view lies in memory that the run's execution space cannot reach; "
                  "copy it there first (Kokkos::create_mirror_view_and_copy)");
    return redistribute_to(
        run::named_result<typename View::value_type, compat::rank_of<View>>(symbol, where),
        distribution, run::strided_views(views));
  }
  /// The same with the views written out: `run.redistribute(H, rows, {first, second})`.
  template <TensorName Symbol, class View>
  RedistributionStatistics redistribute(
      const Symbol& symbol, const Distribution& distribution, std::initializer_list<View> views,
      std::source_location where = std::source_location::current()) const {
    return redistribute(symbol, distribution, std::vector<View>(views), where);
  }

  /// The results that the plan carries to the next run (DecomposeOptions::carry), bound to the
  /// inputs they become: `executor.run(run.carry(), bind(A, …))`. Nothing is copied: the next run
  /// reads them where they lie, or, where the plan stores the two differently, exchanges what
  /// differs (Plan::carried_words, RunStatistics::inputs). Not collective, does not fence.
  /// \throws Error if the plan carries nothing.
  [[nodiscard]] std::vector<Binding<Space>> carry(
      std::source_location where = std::source_location::current()) const;

  /// Gives these results up: later runs of the same Executor may write where they lie. To be
  /// called on every rank, but not collective. Does not fence.
  /// \param results  their vertices in the plan's graph.
  /// \throws Error if one is no vertex of it, no result, or was released before; then all are held
  ///   as before.
  void release(const std::vector<VertexId>& results,
               std::source_location where = std::source_location::current());

  /// Words, time and memory of this rank.
  [[nodiscard]] const RunStatistics& statistics() const { return m_statistics; }

  /// What every rank did when, on every rank: for write_trace() (tools/trace.hpp), beside what
  /// simulate() predicts. Collective, does not fence.
  ///
  /// A rank's times count from the beginning of the run on it, which is within a message's time of
  /// the others'. A message lasts as long as the exchange that it is part of, packing and unpacking
  /// included; its tensor is not recorded, nor are the words of what is not a message. Statements
  /// that run tile by tile are one kernel call of the last of them.
  /// \throws Error, on all ranks alike, if on any the run was not recorded (ExecuteOptions::trace).
  [[nodiscard]] Timeline timeline(
      std::source_location where = std::source_location::current()) const;

 private:
  friend run::ResultFiles;  // run/tensor_files.hpp

  /// The vertex of a result. \throws Error as local_as.
  [[nodiscard]] VertexId result(const run::NamedResult& named) const;
  /// \throws Error if a vertex is no result, or one that was released.
  void require_result(VertexId v, const std::source_location& where) const;

  [[nodiscard]] const Vertex& tensor(VertexId v) const;

  /// This rank's blocks of a result, in the order of Plan::local.
  [[nodiscard]] std::vector<run::HeldBlock<MemorySpace>> held_blocks(VertexId v) const;

  /// Gathers a result in the memory that `allocate` gives for the whole of it, on rank `root` or on
  /// every one. Collective, as gather_as.
  void collect(const run::NamedResult& named, std::optional<int> root,
               const std::function<void*(const Vertex&)>& allocate) const;

  RedistributionStatistics redistribute_to(const run::NamedResult& named,
                                           const Distribution& distribution,
                                           const std::vector<kernel::StridedTensor>& views) const;

  std::shared_ptr<run::Session<Group>> m_session;
  std::uint64_t m_number;  ///< of the executor's runs
  Space m_space;
  std::vector<run::SharedBlock<MemorySpace>> m_results;  ///< Session::result_buffers()
  std::vector<VertexId> m_released;                      ///< sorted; of those it has none
  RunStatistics m_statistics;
  std::optional<std::vector<Event>> m_events;  ///< of this rank; absent if not recorded
};

}  // namespace eindecomp

#ifdef EINDECOMP_SEPARATE_EXECUTOR
namespace eindecomp {
EINDECOMP_USUAL_SPACE_OF(extern, Run)
}
#else
#include "eindecomp/run/run_members.hpp"
#endif
