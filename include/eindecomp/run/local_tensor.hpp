// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The blocks of a result on one rank.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/run/result_block.hpp"

namespace eindecomp {
namespace run {

/// View of rank Rank, row-major.
template <class T, int Rank, class MemorySpace, class... Traits>
using TensorView = Kokkos::View<typename kernel::DataType<T, Rank>::type, Kokkos::LayoutRight,
                                MemorySpace, Traits...>;

/// A View's layout argument from extents.
[[nodiscard]] inline Kokkos::LayoutRight layout_of(const std::vector<Extent>& extents) {
  Kokkos::LayoutRight layout;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    layout.dimension[k] = static_cast<std::size_t>(extents[k]);
  }
  return layout;
}

}  // namespace run

/// One block of a result on this rank. The view owns nothing: it is valid as long as this object, a
/// copy of it or the Run lives.
template <class T, int Rank, class MemorySpace>
struct LocalBlock {
  /// A view of the block, of the tensor's rank.
  using View = run::TensorView<T, Rank, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Box box;                              ///< its place in the whole tensor
  View view;                            ///< row-major, without gaps
  run::SharedBlock<MemorySpace> owner;  ///< keeps the memory alive
};

/// The blocks of a result on this rank: one, unless a rank hosts several workers or the tensor
/// leaves workers out. Its memory lives, unchanged, as long as this object or a copy of it. Binding
/// it hands it on to a run: `bind(X, run.local(Y))`.
template <class T, int Rank, class MemorySpace>
class LocalTensor {
 public:
  /// One block: its box and a view of it.
  using Block = LocalBlock<T, Rank, MemorySpace>;

  /// The blocks, in the order of Plan::local, of the tensor of that name and those extents.
  LocalTensor(std::string name, std::vector<Extent> bound, std::vector<Block> blocks)
      : m_name(std::move(name)), m_bound(std::move(bound)), m_blocks(std::move(blocks)) {}

  /// The tensor's name in its program.
  [[nodiscard]] const std::string& name() const { return m_name; }
  /// The whole tensor's extents.
  [[nodiscard]] const std::vector<Extent>& bound() const { return m_bound; }

  [[nodiscard]] std::size_t size() const { return m_blocks.size(); }
  [[nodiscard]] bool empty() const { return m_blocks.empty(); }
  [[nodiscard]] auto begin() const { return m_blocks.begin(); }
  [[nodiscard]] auto end() const { return m_blocks.end(); }
  [[nodiscard]] const Block& operator[](std::size_t i) const { return m_blocks[i]; }

  /// The one block's view. \throws Error unless the rank has exactly one block.
  [[nodiscard]] const typename Block::View& view(
      std::source_location where = std::source_location::current()) const {
    return only(where).view;
  }
  /// The one block's place in the whole tensor. \throws Error unless the rank has exactly one.
  [[nodiscard]] const Box& box(std::source_location where = std::source_location::current()) const {
    return only(where).box;
  }

 private:
  const Block& only(const std::source_location& where) const {
    if (m_blocks.size() != 1) {
      throw Error(ErrorKind::binding,
                  "this rank has " + std::to_string(m_blocks.size()) + " blocks of " + m_name +
                      " (view() and box() speak of the only one); loop over the blocks",
                  where);
    }
    return m_blocks.front();
  }

  std::string m_name;
  std::vector<Extent> m_bound;
  std::vector<Block> m_blocks;
};

}  // namespace eindecomp
