// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A rank's part in a redistribution with the memory for its messages, kept from run to run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/run/array_exchange.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/transport.hpp"

namespace eindecomp::run {

/// Prepared anew only where distributions or strides are not those of the time before.
template <class Space>
class StagedExchange {
 public:
  using MemorySpace = typename Space::memory_space;
  using Arrays = std::vector<kernel::StridedTensor>;

  /// Makes an exchange ready between the rank's old arrays and its new ones, wherever they lie.
  /// Does not communicate.
  /// \param bytes  of an element.
  /// \param skip   per new array, whether it lies where its elements are and gets none; empty:
  ///   none.
  /// \throws Error if the distributions are not of one tensor and number of ranks.
  void prepare(const Distribution& from, const Distribution& to, int rank, int bytes,
               const Arrays& old_arrays, const Arrays& new_arrays, const Flags& skip,
               const std::source_location& where) {
    Known known{from.hash(), to.hash(), bytes, strides_of(old_arrays), strides_of(new_arrays),
                skip};
    if (m_exchange && m_known == known) return;
    m_exchange.reset();
    m_exchange.emplace(relation::make_redistribution(from, to, rank, where), rank, from.ranks(),
                       bytes, known.from_strides, known.to_strides, skip, from.is_column_major());
    m_known = std::move(known);
  }

  /// Bytes that messages take, in the space's memory: those it holds, or those of the next run if
  /// these are more.
  [[nodiscard]] std::int64_t bytes() const {
    return std::max(needed(), static_cast<std::int64_t>(m_staging.size()));
  }

  /// Takes memory for messages, if what there is does not do. \throws Error if there is none.
  void allocate(const std::source_location& where) {
    if (needed() <= static_cast<std::int64_t>(m_staging.size())) return;
    m_staging = {};
    // The host's first: whether there is enough of both is told by the other.
    if constexpr (!host_reaches<Space>) {
      m_host = {};
      m_host = run::allocate<compat::HostPinnedSpace>("EinDecomp::redistribution on host", bytes(),
                                                      where);
    }
    m_staging = run::allocate<MemorySpace>("EinDecomp::redistribution", bytes(), where);
  }

  /// Moves the elements. Collective; fences `space`. \returns what this rank sent and received.
  template <comm::Communicator Group>
  RedistributionStatistics run(const Space& space, Group& group, const Arrays& from,
                               const Arrays& to) const {
    std::vector<const char*> sources;
    std::vector<char*> targets;
    for (const kernel::StridedTensor& array : from) {
      sources.push_back(static_cast<const char*>(array.data));
    }
    for (const kernel::StridedTensor& array : to) {
      targets.push_back(static_cast<char*>(const_cast<void*>(array.data)));
    }
    const comm::Traffic before = group.traffic();
    const auto begin = std::chrono::steady_clock::now();
    m_exchange->run(space, group, sources, targets, m_staging.data(), m_host.data());
    const comm::Traffic moved = group.traffic() - before;
    return {moved.words_sent, moved.words_received, moved.messages_sent, moved.messages_received,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  }

 private:
  [[nodiscard]] std::int64_t needed() const { return m_exchange ? m_exchange->staging_bytes() : 0; }

  /// What an exchange depends on.
  struct Known {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    int bytes = 0;
    std::vector<ArrayStrides> from_strides;
    std::vector<ArrayStrides> to_strides;
    Flags skip;
    bool operator==(const Known&) const = default;
  };

  [[nodiscard]] static std::vector<ArrayStrides> strides_of(const Arrays& arrays) {
    std::vector<ArrayStrides> strides(arrays.size());
    for (std::size_t n = 0; n < arrays.size(); ++n) {
      std::copy(arrays[n].stride, arrays[n].stride + arrays[n].rank, strides[n].begin());
    }
    return strides;
  }

  std::optional<ArrayExchange<Space>> m_exchange;
  Known m_known;
  Memory<MemorySpace> m_staging;
  Memory<compat::HostPinnedSpace> m_host;
};

}  // namespace eindecomp::run
