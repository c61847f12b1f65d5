// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Handing a program's inputs to a run, by their symbols or their names: blocks of this rank, whole
/// tensors, functions of the index.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "eindecomp/core/located.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/expr/element.hpp"
#include "eindecomp/expr/expression.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/tensor_symbol.hpp"
#include "eindecomp/kernel/element_types.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/run/distributed_views.hpp"
#include "eindecomp/run/generate.hpp"
#include "eindecomp/run/local_tensor.hpp"

namespace eindecomp {

/// What an input or a result is called by: its symbol, or its name.
template <class S>
concept TensorName = TensorSymbol<S> || std::convertible_to < const std::remove_cvref_t<S>
&, std::string_view > ;

namespace run {

/// A tensor as the caller named it, types forgotten: by symbol, or by name where `vertex` is -1.
struct TensorReference {
  VertexId vertex = -1;
  std::uint64_t program_id = 0;
  std::string name;  ///< of a symbol, if it knows it, for messages
};

template <TensorName S>
[[nodiscard]] TensorReference reference_to(const S& symbol) {
  if constexpr (TensorSymbol<S>) {
    return {symbol.vertex(), symbol.program_id(), graph::name_of(symbol).str()};
  } else {
    return {-1, 0, std::string(std::string_view(symbol))};
  }
}

/// Whether a symbol's type says what its elements are.
template <class S>
concept TypedSymbol = TensorSymbol<S> && requires {
  typename std::remove_cvref_t<S>::value_type;
  std::remove_cvref_t<S>::rank;
};

enum class BindingKind : std::uint8_t {
  blocks,
  whole,
  whole_on_root,
  distributed,
  generator,
  file
};

/// What one binding says, in terms that every binding shares.
struct BindingFacts {
  TensorReference tensor;
  std::source_location where;
  BindingKind kind = BindingKind::blocks;
  ElementType element;
  int rank = -1;                             ///< of a generator, where its symbol does not say it
  int root = -1;                             ///< of whole_on_root
  bool constant = false;                     ///< the same in every run
  std::vector<kernel::StridedTensor> views;  ///< of the kinds with views
  std::shared_ptr<const Distribution> distribution;  ///< of distributed: what the views are
  /// What is known of blocks that are a result's: whose they are, and of each view its place.
  std::string result;
  std::vector<Extent> result_bound;
  std::optional<std::vector<Box>> boxes;
  std::shared_ptr<const void> owner;
  std::string file;                          ///< its name
  std::function<void(const Vertex&)> check;  ///< of a file: throws where it is not the input's
};

}  // namespace run

/// An input's data in views; made by bind and bind_global.
template <class MemorySpace>
struct ViewBinding {
  /// Which input, and where its data lie.
  run::BindingFacts facts;

  /// The same binding, of elements that do not change from run to run, on every rank.
  ///
  /// The first run that has it brings them where they are needed: a scatter, an exchange between
  /// distributions, what operands gather. The executor keeps all that, and the views, and later
  /// runs begin from it (Plan::repeated_words, SpaceFacts::constants, RunStatistics::kept_bytes).
  /// They bind the input again, as constant. One that binds another view of it on any rank brings
  /// its elements anew; of elements that change where they lie the executor must be told:
  /// Executor::forget_constants().
  [[nodiscard]] ViewBinding constant() const {
    ViewBinding same = *this;
    same.facts.constant = true;
    return same;
  }
};

/// An input's data by a function; made by bind_generator.
template <class T, int Rank, class Function>
struct GeneratorBinding {
  /// Which input.
  run::BindingFacts facts;
  Function function;  ///< gives the element of an index

  /// The same binding of a function that gives the same elements in every run: the first run calls
  /// it, later ones do not, whichever function they bind as constant. As ViewBinding::constant().
  [[nodiscard]] GeneratorBinding constant() const {
    GeneratorBinding same = *this;
    same.facts.constant = true;
    return same;
  }
};

/// A binding of any kind for a run on Space, as Executor::run takes them in a vector.
template <class Space>
class Binding {
 public:
  /// Fills a dense row-major block of an input.
  using Fill = std::function<void(const Space&, const Vertex&, const Box&, void*)>;

  /// From what bind and bind_global return. The views must lie in memory that Space reaches.
  template <class MemorySpace>
  // NOLINTNEXTLINE(google-explicit-constructor): a binding of any kind is a binding.
  Binding(const ViewBinding<MemorySpace>& binding) : m_facts(binding.facts) {
    static_assert(compat::accessible<Space, MemorySpace>,
                  "EinDecomp: the bound view lies in memory that the plan's execution space cannot "
                  "reach; copy it there first (Kokkos::create_mirror_view_and_copy)");
  }
  /// From what bind_generator returns.
  template <class T, int Rank, class Function>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Binding(const GeneratorBinding<T, Rank, Function>& binding)
      : m_facts(binding.facts),
        m_fill([function = binding.function](const Space& space, const Vertex&, const Box& box,
                                             void* into) {
          run::generate<T, Rank>(space, function, box, static_cast<T*>(into));
        }) {}

  /// Of a binding whose types are forgotten: views in memory that Space reaches.
  explicit Binding(run::BindingFacts facts) : m_facts(std::move(facts)) {}
  /// The same of a function that fills blocks, as fill() does.
  Binding(run::BindingFacts facts, Fill fill)
      : m_facts(std::move(facts)), m_fill(std::move(fill)) {}

  /// Which input, and how it is bound.
  [[nodiscard]] const run::BindingFacts& facts() const { return m_facts; }
  /// The same binding, of elements that do not change from run to run (ViewBinding::constant()).
  [[nodiscard]] Binding constant() const {
    Binding same = *this;
    same.m_facts.constant = true;
    return same;
  }
  /// The same binding of whatever input has the name of that one, in another program too.
  [[nodiscard]] Binding named() const {
    Binding same = *this;
    same.m_facts.tensor.vertex = -1;
    return same;
  }
  /// Fills a dense row-major block of the input; fences `space`.
  void fill(const Space& space, const Vertex& input, const Box& box, void* into) const {
    m_fill(space, input, box, into);
  }

 private:
  run::BindingFacts m_facts;
  Fill m_fill;
};

namespace run {

template <class T>
inline constexpr bool is_binding = false;
template <class MemorySpace>
inline constexpr bool is_binding<ViewBinding<MemorySpace>> = true;
template <class T, int Rank, class Function>
inline constexpr bool is_binding<GeneratorBinding<T, Rank, Function>> = true;
template <class Space>
inline constexpr bool is_binding<Binding<Space>> = true;

using core::Located;

/// A symbol's facts, and the compile-time checks of a view that is to be bound to it.
template <class Symbol, class View>
BindingFacts facts_of_view(const Symbol& symbol, BindingKind kind, std::source_location where) {
  using Value = typename View::non_const_value_type;
  if constexpr (TypedSymbol<Symbol>) {
    static_assert(
        std::is_same_v<Value, Stored<typename Symbol::value_type>>,
        "EinDecomp: the view's value type is not the tensor's; declare the input with the "
        "view's type, or bind a view of the input's");
    static_assert(compat::rank_of<View> == static_cast<int>(Symbol::rank),
                  "EinDecomp: the view's rank is not the tensor's");
  }
  BindingFacts facts;
  facts.tensor = reference_to(symbol);
  facts.where = where;
  facts.kind = kind;
  facts.element = element_type<Value>();
  return facts;
}

template <class Symbol, class View>
auto bind_views(const Symbol& symbol, std::vector<View> views, BindingKind kind, int root,
                std::source_location where) {
  if constexpr (compat::is_view<View>) {
    ViewBinding<typename View::memory_space> binding{
        facts_of_view<Symbol, View>(symbol, kind, where)};
    binding.facts.root = root;
    for (const View& view : views) binding.facts.views.push_back(kernel::StridedTensor::of(view));
    binding.facts.owner = std::make_shared<const std::vector<View>>(std::move(views));
    return binding;
  } else {
    static_assert(expr::never<View>,
                  "EinDecomp: bind and bind_global take Kokkos views; wrap the pointer to other "
                  "memory in one, as in Kokkos::View<double**, Kokkos::LayoutRight, "
                  "Kokkos::HostSpace>(pointer, rows, columns)");
    return expr::Refused{};
  }
}

}  // namespace run

// std::bind is found wherever an argument has a type of std in it; forwarding parameters make ours
// the better match.

/// This rank's block of an input: any layout, const or not, managed or not; its extents those of
/// plan.local(symbol, rank). Read in place, through its strides; may not change during the run. A
/// managed view is kept alive by the binding. A rank that stores no block binds an empty view. Not
/// collective; all checks of extents happen when the run starts.
template <TensorName Symbol, class View>
  requires(compat::is_view<std::remove_cvref_t<View>>)
[[nodiscard]] auto bind(Symbol&& symbol, View&& block,
                        std::source_location where = std::source_location::current()) {
  using V = std::remove_cvref_t<View>;
  return run::bind_views(symbol, std::vector<V>{block}, run::BindingKind::blocks, -1, where);
}

/// This rank's blocks of an input, for more workers than ranks or for a rank that stores none: as
/// many as plan.local(symbol, rank) lists, in its order.
template <TensorName Symbol, class View>
[[nodiscard]] auto bind(Symbol&& symbol, const std::vector<View>& blocks,
                        std::source_location where = std::source_location::current()) {
  return run::bind_views(symbol, blocks, run::BindingKind::blocks, -1, where);
}
/// The same with the blocks written out: `bind(X, {first, second})`.
template <TensorName Symbol, class View>
[[nodiscard]] auto bind(Symbol&& symbol, std::initializer_list<View> blocks,
                        std::source_location where = std::source_location::current()) {
  return run::bind_views(symbol, std::vector<View>(blocks), run::BindingKind::blocks, -1, where);
}

/// This rank's blocks of a result of this or another plan, in place and without a copy. They stay
/// as they are for as long as the binding lives, whatever runs meanwhile. A run takes them if the
/// tensors have equal extents and the plans store the same boxes on this rank.
template <TensorName Symbol, class T, int Rank, class MemorySpace>
[[nodiscard]] auto bind(Symbol&& symbol, const LocalTensor<T, Rank, MemorySpace>& blocks,
                        std::source_location where = std::source_location::current()) {
  using View = typename LocalTensor<T, Rank, MemorySpace>::Block::View;
  ViewBinding<MemorySpace> binding{run::facts_of_view<std::remove_cvref_t<Symbol>, View>(
      symbol, run::BindingKind::blocks, where)};
  binding.facts.result = blocks.name();
  binding.facts.result_bound = blocks.bound();
  binding.facts.boxes.emplace();
  for (const auto& block : blocks) {
    binding.facts.views.push_back(kernel::StridedTensor::of(block.view));
    binding.facts.boxes->push_back(block.box);
  }
  binding.facts.owner = std::make_shared<const LocalTensor<T, Rank, MemorySpace>>(blocks);
  return binding;
}

/// This rank's arrays of an input that lies on the ranks as the user has it: one view per array of
/// the distribution on this rank, of any layout, or the view alone where there is one. Where an
/// array has all of a block that the plan stores here, the block is read in place; what other
/// blocks lack is brought in one exchange before the plan's first instruction, apart from its words
/// (RunStatistics::inputs, Plan::input_words). The same distribution on every rank. Not collective;
/// the run checks the extents.
template <TensorName Symbol, class Where, class Views>
  requires(std::is_same_v<std::remove_cvref_t<Where>, Distribution>)
[[nodiscard]] auto bind(Symbol&& symbol, Where&& distribution, Views&& views,
                        std::source_location where = std::source_location::current()) {
  using View = run::ViewOf<std::remove_cvref_t<Views>>;
  ViewBinding<typename View::memory_space> binding{
      run::facts_of_view<std::remove_cvref_t<Symbol>, View>(symbol, run::BindingKind::distributed,
                                                            where)};
  binding.facts.views = run::strided_views(views);
  binding.facts.distribution =
      std::make_shared<const Distribution>(std::forward<Where>(distribution));
  binding.facts.owner =
      std::make_shared<const std::remove_cvref_t<Views>>(std::forward<Views>(views));
  return binding;
}

/// The same with the views written out: `bind(X, rows, {first, second})`.
template <TensorName Symbol, class Where, class View>
  requires(std::is_same_v<std::remove_cvref_t<Where>, Distribution>)
[[nodiscard]] auto bind(Symbol&& symbol, Where&& distribution, std::initializer_list<View> views,
                        std::source_location where = std::source_location::current()) {
  return eindecomp::bind(symbol, std::forward<Where>(distribution), std::vector<View>(views),
                         where);
}

/// A whole input, present on every rank: each reads its part in place.
template <TensorName Symbol, class View>
[[nodiscard]] auto bind_global(Symbol&& symbol, const View& whole,
                               std::source_location where = std::source_location::current()) {
  return run::bind_views(symbol, std::vector<View>{whole}, run::BindingKind::whole, -1, where);
}

/// A whole input, present on rank `root` only; the other ranks' views are not looked at and may be
/// empty. The parts are sent to the ranks that store them, in memory of the run's own, before the
/// plan's first instruction and apart from its words.
template <TensorName Symbol, class View>
[[nodiscard]] auto bind_global(Symbol&& symbol, const View& whole, int root,
                               std::source_location where = std::source_location::current()) {
  return run::bind_views(symbol, std::vector<View>{whole}, run::BindingKind::whole_on_root, root,
                         where);
}

/// An input computed where it is stored: function(i, j, …) gives the element of that index in the
/// whole tensor, on every rank the same. Called on the host, on a host execution space from its
/// threads at once; it must not change what it captures. What it throws ends the run on all ranks.
/// The tensor is given by name, or by a symbol of a graph built at run time; its elements are T.
template <class T, int Rank, TensorName Name, class Function>
[[nodiscard]] auto bind_generator_as(Name&& tensor, Function&& function,
                                     std::source_location where = std::source_location::current()) {
  using F = std::decay_t<Function>;  // a function is kept by its address
  static_assert(run::generates<F, T>(std::make_index_sequence<static_cast<std::size_t>(Rank)>{}),
                "EinDecomp: the generator cannot be called with one index per dimension of the "
                "tensor, or does not give its value type (it must be callable as const)");
  run::BindingFacts facts;
  facts.tensor = run::reference_to(tensor);
  facts.where = where;
  facts.kind = run::BindingKind::generator;
  facts.element = element_type<T>();
  facts.rank = Rank;
  return GeneratorBinding<T, Rank, F>{std::move(facts), std::forward<Function>(function)};
}

/// The same for a symbol that says its value type and rank.
template <run::TypedSymbol Symbol, class Function>
[[nodiscard]] auto bind_generator(Symbol&& symbol, Function&& function,
                                  std::source_location where = std::source_location::current()) {
  using S = std::remove_cvref_t<Symbol>;
  return bind_generator_as<Stored<typename S::value_type>, static_cast<int>(S::rank)>(
      symbol, std::forward<Function>(function), where);
}

}  // namespace eindecomp
