// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The memory of results: blocks that live as long as anyone reads them, reused by later runs, and
/// found again by their address when a view of one is bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/relation/box.hpp"
#include "eindecomp/relation/rank_program.hpp"
#include "eindecomp/run/block_memory.hpp"
#include "eindecomp/run/result_block.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// Addresses from `begin` up to `end`.
struct AddressRange {
  const char* begin = nullptr;
  const char* end = nullptr;
  [[nodiscard]] bool overlaps(const AddressRange& other) const {
    return begin < other.end && other.begin < end;
  }
};

/// What lies in a block of a result.
struct KnownBlock {
  std::string tensor;
  std::vector<Extent> bound;  ///< the whole tensor's extents
  Box box;                    ///< the block's place in it; row-major and without gaps in memory
  int bytes = 0;              ///< of one element
};

/// The blocks of results that this process holds, by address. A view does not know which part of a
/// tensor it shows; this does. Thread-safe.
class StoredBlocks {
 public:
  [[nodiscard]] static StoredBlocks& of_process() {
    static StoredBlocks blocks;
    return blocks;
  }

  void add(const char* data, KnownBlock block) {
    const std::lock_guard lock(m_mutex);
    m_blocks.insert_or_assign(data, std::move(block));
  }
  void remove(const char* data) {
    const std::lock_guard lock(m_mutex);
    m_blocks.erase(data);
  }

  /// The block that begins at `data`.
  [[nodiscard]] std::optional<KnownBlock> find(const void* data) const {
    const std::lock_guard lock(m_mutex);
    const auto found = m_blocks.find(static_cast<const char*>(data));
    if (found == m_blocks.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable std::mutex m_mutex;
  std::map<const char*, KnownBlock> m_blocks;
};

/// Memory of one block of a result; known to StoredBlocks while it lives.
template <class MemorySpace>
class ResultBlock {
 public:
  ResultBlock(KnownBlock block, std::int64_t bytes, const std::source_location& where)
      : m_memory(allocate<MemorySpace>("EinDecomp::result " + block.tensor, bytes, where)) {
    if (bytes > 0) StoredBlocks::of_process().add(data(), std::move(block));
  }
  ResultBlock(const ResultBlock&) = delete;
  ResultBlock& operator=(const ResultBlock&) = delete;
  ~ResultBlock() {
    if (data() != nullptr) StoredBlocks::of_process().remove(data());
  }

  [[nodiscard]] char* data() const { return m_memory.data(); }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(m_memory.size()); }
  [[nodiscard]] AddressRange range() const { return {data(), data() + m_memory.size()}; }

 private:
  Memory<MemorySpace> m_memory;
};

/// The results' memory of one executor, up to three blocks per block of a result: a run may read
/// the results of the one before, or of the two before, while it writes its own. A loop that does
/// so allocates in its first two runs, or three, and holds two blocks, or three.
template <class MemorySpace>
class ResultPool {
 public:
  /// A block per result buffer: one that nobody holds and that lies in none of the ranges, or else
  /// a new one. \param results  the buffers' numbers (Session::result_buffers)
  /// \throws Error if there is no memory.
  [[nodiscard]] std::vector<SharedBlock<MemorySpace>> take(const EinGraph& graph,
                                                           const std::vector<Buffer>& buffers,
                                                           const std::vector<int>& results,
                                                           const std::vector<AddressRange>& read,
                                                           const std::source_location& where) {
    m_blocks.resize(results.size());
    std::vector<SharedBlock<MemorySpace>> taken(results.size());
    for (std::size_t n = 0; n < results.size(); ++n) {
      for (const SharedBlock<MemorySpace>& block : m_blocks[n]) {
        if (taken[n] == nullptr && is_free(block, read)) taken[n] = block;
      }
      if (taken[n] != nullptr) continue;
      const Buffer& buffer = buffers[to_index(results[n])];
      const Vertex& tensor = graph[buffer.tensor];
      taken[n] = std::make_shared<const ResultBlock<MemorySpace>>(
          KnownBlock{tensor.name.str(), tensor.bound, buffer.box,
                     static_cast<int>(tensor.element.bytes)},
          buffer.bytes, where);
      while (m_blocks[n].size() >= tuning::kept_results && forget_one(m_blocks[n])) {
      }
      m_blocks[n].push_back(taken[n]);
    }
    return taken;
  }

  /// Bytes of blocks that are free, beyond those that a run takes.
  /// \param read    by the run
  /// \param wanted  blocks of each result that it has yet to take: 1, or 0
  [[nodiscard]] std::int64_t spare_bytes(const std::vector<AddressRange>& read, int wanted) const {
    std::int64_t bytes = 0;
    for (const auto& blocks : m_blocks) {
      int free = 0;
      for (const SharedBlock<MemorySpace>& block : blocks) {
        if (is_free(block, read) && ++free > wanted) bytes += block->bytes();
      }
    }
    return bytes;
  }

  /// Frees them.
  void free_spare(const std::vector<AddressRange>& read, int wanted) {
    for (auto& blocks : m_blocks) {
      int free = 0;
      std::erase_if(blocks, [&](const SharedBlock<MemorySpace>& block) {
        return is_free(block, read) && ++free > wanted;
      });
    }
  }

 private:
  [[nodiscard]] static bool is_free(const SharedBlock<MemorySpace>& block,
                                    const std::vector<AddressRange>& read) {
    if (block.use_count() != 1) return false;
    for (const AddressRange& range : read) {
      if (range.overlaps(block->range())) return false;
    }
    return true;
  }

  /// Forgets a block that somebody else holds, who then frees it. One that a view without an owner
  /// reads is kept: the memory must not go while it is read. \returns whether there was one.
  static bool forget_one(std::vector<SharedBlock<MemorySpace>>& blocks) {
    const auto held = std::ranges::find_if(
        blocks, [](const SharedBlock<MemorySpace>& block) { return block.use_count() > 1; });
    if (held == blocks.end()) return false;
    blocks.erase(held);
    return true;
  }

  std::vector<std::vector<SharedBlock<MemorySpace>>> m_blocks;  ///< by result buffer
};

}  // namespace eindecomp::run
