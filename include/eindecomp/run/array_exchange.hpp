// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A rank's part in a redistribution made ready to run on arrays of known strides: packed, sent,
/// received and unpacked in slabs that stay in cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/kernel/copy/box_kernel.hpp"
#include "eindecomp/kernel/kokkos_compat.hpp"
#include "eindecomp/kernel/strided_tensor.hpp"
#include "eindecomp/relation/arena.hpp"
#include "eindecomp/relation/redistribution.hpp"
#include "eindecomp/relation/rounds.hpp"
#include "eindecomp/run/transport.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// The strides of a rank's arrays, in elements.
using ArrayStrides = std::array<Extent, max_rank>;

/// Runs of a dimension from position `first` to before `last`, counted over all runs.
[[nodiscard]] inline std::vector<relation::SharedRuns> cut_runs(
    const std::vector<relation::SharedRuns>& runs, Extent first, Extent last) {
  std::vector<relation::SharedRuns> cut;
  const auto add = [&cut](const relation::SharedRuns& run, Extent n, Extent begin, Extent end,
                          Extent count) {
    if (begin >= end || count <= 0) return;
    cut.push_back({end - begin, count, run.a + n * run.a_step + begin,
                   run.b + n * run.b_step + begin, run.a_step, run.b_step});
  };
  Extent before = 0;
  for (const relation::SharedRuns& run : runs) {
    const Extent lo = std::max<Extent>(first - before, 0);
    const Extent hi = std::min(last - before, run.size());
    before += run.size();
    if (lo >= hi) continue;
    const Extent n = lo / run.length;
    const Extent m = hi / run.length;
    if (n == m) {
      add(run, n, lo % run.length, hi % run.length, 1);
      continue;
    }
    const Extent whole = lo % run.length == 0 ? n : n + 1;
    if (whole != n) add(run, n, lo % run.length, run.length, 1);
    add(run, whole, 0, run.length, m - whole);
    add(run, m, 0, hi % run.length, 1);
  }
  return cut;
}

/// Cuts elements into pieces of at most `limit` that follow one another when packed with the
/// dimensions in that order, the slowest first; calls visit(piece).
template <class Visit>
void for_each_piece(const relation::SharedElements& elements,
                    const std::vector<std::size_t>& slowest_first, Extent limit,
                    const Visit& visit) {
  Extent size = elements.size();
  if (size <= limit) {
    visit(elements);
    return;
  }
  for (std::size_t k : slowest_first) {
    Extent extent = 0;
    for (const relation::SharedRuns& run : elements.runs[k]) extent += run.size();
    if (extent == 1) continue;
    const Extent step = std::max<Extent>(limit / (size / extent), 1);
    for (Extent i = 0; i < extent; i += step) {
      relation::SharedElements piece = elements;
      piece.runs[k] = cut_runs(elements.runs[k], i, std::min(i + step, extent));
      for_each_piece(piece, slowest_first, limit, visit);
    }
    return;
  }
}

/// A rank's redistribution on arrays of known strides. Runs as often as one likes on arrays at any
/// address, and allocates nothing then.
template <class Space>
class ArrayExchange {
 public:
  using MemorySpace = typename Space::memory_space;

  /// \param rank, ranks  this rank, of so many
  /// \param bytes  of an element
  /// \param from, to  the strides of the rank's old and new arrays
  /// \param skip  per new array, whether it is where its elements are and gets none
  /// \param column_major  whether messages have the first dimension fastest
  ArrayExchange(const relation::RankRedistribution& moved, int rank, int ranks, int bytes,
                std::vector<ArrayStrides> from, std::vector<ArrayStrides> to, const Flags& skip,
                bool column_major)
      : m_bytes(bytes), m_from(std::move(from)), m_to(std::move(to)) {
    const std::size_t dimensions = dimensions_of(moved);
    for (std::size_t k = 0; k < dimensions; ++k) {
      m_slowest_first.push_back(column_major ? dimensions - 1 - k : k);
    }
    for (const relation::SharedElements& stays : moved.copies) {
      if (!skip.empty() && skip[to_index(stays.to)] != 0) continue;
      for_each_box(stays, Strides::both,
                   [&](const kernel::StridedBox& box, Extent a, Extent b, Extent) {
                     m_copies.push_back({kernel::prepare_copy<Space>(bytes, box), stays.to,
                                         b * m_bytes, stays.from, a * m_bytes});
                   });
    }
    make_waves(pieces_of(moved.sends, rank, ranks, 1), pieces_of(moved.receives, rank, ranks, -1));
  }

  /// Bytes that run() needs for messages, in the memory of the space.
  [[nodiscard]] std::int64_t staging_bytes() const { return 2 * (m_send_bytes + m_receive_bytes); }
  /// Whether it moves anything on this rank.
  [[nodiscard]] bool is_empty() const { return m_copies.empty() && m_waves.empty(); }

  /// Moves the elements. Collective over the ranks of the redistribution; fences `space`.
  /// \param from, to  where the rank's arrays begin
  /// \param staging   of staging_bytes(), in the memory of the space
  /// \param host      as many on the host, where MPI cannot reach that memory; else null
  template <comm::Communicator Group>
  void run(const Space& space, Group& group, const std::vector<const char*>& from,
           const std::vector<char*>& to, char* staging, char* host) const {
    const std::int64_t half = m_send_bytes + m_receive_bytes;
    const Wave* previous = nullptr;
    const auto unpack = [&](const Wave& wave, std::int64_t area) {
      for (const Piece& piece : wave.receives) {
        if (host != nullptr) {
          copy_from_host(space, staging + area + m_send_bytes + piece.staging,
                         host + area + m_send_bytes + piece.staging, piece.words * m_bytes);
        }
        for (const Move& move : piece.moves) {
          move.pass->run(space, to[to_index(move.array)] + move.in_array,
                         staging + area + m_send_bytes + move.in_message);
        }
      }
    };
    for (std::size_t w = 0; w < m_waves.size(); ++w) {
      const Wave& wave = m_waves[w];
      const std::int64_t area = w % 2 == 0 ? 0 : half;
      char* const reached = host != nullptr ? host : staging;
      for (const Piece& piece : wave.sends) {
        for (const Move& move : piece.moves) {
          move.pass->run(space, staging + area + move.in_message,
                         from[to_index(move.array)] + move.in_array);
        }
        if (host != nullptr) {
          copy_to_host(space, host + area + piece.staging, staging + area + piece.staging,
                       piece.words * m_bytes);
        }
      }
      // Also for the receives: kernels may still read what lay in their place before.
      compat::fence(space, "EinDecomp::before messages");
      for (const Piece& piece : wave.receives) {
        char* const into = piece.direct() ? to[to_index(piece.array)] + piece.in_array
                                          : reached + area + m_send_bytes + piece.staging;
        group.receive(piece.peer, into, piece.words, m_bytes, tag);
      }
      for (const Piece& piece : wave.sends) {
        const char* const out = piece.direct() ? from[to_index(piece.array)] + piece.in_array
                                               : reached + area + piece.staging;
        group.send(piece.peer, out, piece.words, m_bytes, tag);
      }
      if (previous != nullptr) unpack(*previous, half - area);
      if (w == 0) copy(space, from, to);
      group.wait();
      previous = &wave;
    }
    if (m_waves.empty()) copy(space, from, to);
    if (previous != nullptr) unpack(*previous, m_waves.size() % 2 == 1 ? 0 : half);
    compat::fence(space, "EinDecomp::redistributed");
  }

 private:
  static constexpr int tag = 2;

  /// A copy between an array and another, or a message.
  struct Copy {
    std::unique_ptr<const kernel::PreparedBox<Space>> pass;
    int into = 0;
    std::int64_t into_at = 0;
    int from = 0;
    std::int64_t from_at = 0;
  };
  struct Move {
    std::unique_ptr<const kernel::PreparedBox<Space>> pass;
    int array = 0;
    std::int64_t in_array = 0;    ///< bytes
    std::int64_t in_message = 0;  ///< bytes of the wave's messages
  };
  /// A part of what goes to a peer or comes from it, one message. Without moves, where it lies
  /// without gaps.
  struct Piece {
    int peer = -1;
    int distance = 0;  ///< to the peer
    int number = 0;    ///< in what passes between the two
    Extent words = 0;
    std::int64_t staging = 0;
    int array = 0;              ///< where it lies without gaps
    std::int64_t in_array = 0;  ///< see there
    bool gapless = false;
    std::vector<Move> moves;
    [[nodiscard]] bool direct() const { return moves.empty(); }
  };
  /// Pieces that are under way together.
  struct Wave {
    std::vector<Piece> sends;
    std::vector<Piece> receives;
    [[nodiscard]] std::size_t pieces() const { return sends.size() + receives.size(); }
  };
  enum class Strides : std::uint8_t { both, sends, receives };

  [[nodiscard]] static std::size_t dimensions_of(const relation::RankRedistribution& moved) {
    if (!moved.copies.empty()) return moved.copies.front().runs.size();
    if (!moved.sends.empty()) return moved.sends.front().elements.front().runs.size();
    if (!moved.receives.empty()) return moved.receives.front().elements.front().runs.size();
    return 0;
  }

  void copy(const Space& space, const std::vector<const char*>& from,
            const std::vector<char*>& to) const {
    for (const Copy& c : m_copies) {
      c.pass->run(space, to[to_index(c.into)] + c.into_at, from[to_index(c.from)] + c.from_at);
    }
  }

  /// Calls visit(box, offset in the old array, in the new, in the packed elements), all in
  /// elements, for boxes that together are `elements`. The box is that of a copy between the two of
  /// the three that `strides` says.
  template <class Visit>
  void for_each_box(const relation::SharedElements& elements, Strides strides,
                    const Visit& visit) const {
    const std::size_t rank = elements.runs.size();
    ArrayStrides packed{};
    Extent step = 1;
    for (std::size_t n = rank; n-- > 0;) {
      const std::size_t k = m_slowest_first[n];
      packed[k] = step;
      Extent extent = 0;
      for (const relation::SharedRuns& run : elements.runs[k]) extent += run.size();
      step *= extent;
    }
    const ArrayStrides none{};
    // The array at the other end of a message is another rank's.
    const ArrayStrides& a = strides == Strides::receives ? none : m_from[to_index(elements.from)];
    const ArrayStrides& b = strides == Strides::sends ? none : m_to[to_index(elements.to)];
    kernel::StridedBox box;
    const auto push = [&](Extent extent, Extent in_a, Extent in_b, Extent in_packed) {
      if (extent == 1) return true;
      if (box.rank == max_rank) return false;
      box.extent[box.rank] = extent;
      box.into_stride[box.rank] = strides == Strides::sends ? in_packed : in_b;
      box.from_stride[box.rank] = strides == Strides::receives ? in_packed : in_a;
      ++box.rank;
      return true;
    };
    const auto nest = [&](const auto& self, std::size_t n, Extent at_a, Extent at_b,
                          Extent at_packed) -> void {
      if (n == rank) {
        visit(box, at_a, at_b, at_packed);
        return;
      }
      const std::size_t k = m_slowest_first[n];
      Extent before = 0;
      for (const relation::SharedRuns& run : elements.runs[k]) {
        const int outer = box.rank;
        const Extent in_a = at_a + run.a * a[k];
        const Extent in_b = at_b + run.b * b[k];
        const Extent in_packed = at_packed + before * packed[k];
        // A box has so many dimensions; where runs would take more, they are copied one by one,
        // and what a dimension of the tensor needs at least is left for those to come.
        const bool fits = run.count == 1 || box.rank + static_cast<int>(rank - n) < max_rank;
        if (fits) {
          push(run.count, run.a_step * a[k], run.b_step * b[k], run.length * packed[k]);
        }
        const Extent rest = fits ? 1 : run.count;
        push(run.length, a[k], b[k], packed[k]);
        for (Extent i = 0; i < rest; ++i) {
          self(self, n + 1, in_a + i * run.a_step * a[k], in_b + i * run.b_step * b[k],
               in_packed + i * run.length * packed[k]);
        }
        box.rank = outer;
        before += run.size();
      }
    };
    nest(nest, 0, 0, 0, 0);
  }

  /// The pieces of messages: large parts of arrays by themselves, small ones together. Both ends
  /// make the same. \param direction  of a peer: 1 of sends.
  [[nodiscard]] std::vector<Piece> pieces_of(
      const std::vector<relation::RedistributionMessage>& messages, int rank, int ranks,
      int direction) const {
    const Extent limit = std::max<Extent>(tuning::exchange_slab_bytes / m_bytes, 1);
    const bool sent = direction > 0;
    std::vector<Piece> pieces;
    for (const relation::RedistributionMessage& message : messages) {
      const int distance = relation::peer_distance(message.peer, rank, direction, ranks);
      int number = 0;
      bool is_open = false;  // the last piece takes small parts
      for (const relation::SharedElements& elements : message.elements) {
        for_each_piece(elements, m_slowest_first, limit, [&](const relation::SharedElements& part) {
          const Extent words = part.size();
          const bool is_small = words * m_bytes < tuning::own_piece_bytes;
          const bool joins = is_open && is_small && pieces.back().words + words <= limit;
          is_open = is_small;
          if (!joins) {
            Piece& fresh = pieces.emplace_back();
            fresh.peer = message.peer;
            fresh.distance = distance;
            fresh.number = number++;
            fresh.gapless = host_reaches<Space>;
          }
          Piece& piece = pieces.back();
          const int array = sent ? part.from : part.to;
          for_each_box(
              part, sent ? Strides::sends : Strides::receives,
              [&](const kernel::StridedBox& box, Extent a, Extent b, Extent packed) {
                piece.gapless = piece.gapless && piece.moves.empty() && same_strides(box);
                piece.moves.push_back({kernel::prepare_copy<Space>(m_bytes, box), array,
                                       (sent ? a : b) * m_bytes, (piece.words + packed) * m_bytes});
              });
          piece.words += words;
        });
      }
    }
    for (Piece& piece : pieces) {
      if (!piece.gapless) continue;
      piece.array = piece.moves.front().array;
      piece.in_array = piece.moves.front().in_array;
      piece.moves.clear();
    }
    return pieces;
  }

  [[nodiscard]] static bool same_strides(const kernel::StridedBox& box) {
    return std::equal(box.into_stride, box.into_stride + box.rank, box.from_stride);
  }

  /// Shares pieces out among waves, as many to each as its slabs hold, and not so many that to ask
  /// whether they have arrived takes long. Ranks may end their waves at
  /// different pieces: both ends of a transfer order theirs by distance and number, and what a rank
  /// sends and receives of one distance and number is in one wave, so that the first of all pieces
  /// under way has both its ends in waves that have begun.
  void make_waves(std::vector<Piece> sends, std::vector<Piece> receives) {
    const auto key = [](const Piece& piece) { return std::pair(piece.distance, piece.number); };
    const auto bytes = [this](const Piece& piece) {
      return piece.direct() ? 0 : piece.words * m_bytes;
    };
    const auto place = [&](Piece& piece, std::int64_t& used, std::vector<Piece>& wave) {
      piece.staging = used;
      for (Move& move : piece.moves) move.in_message += used;
      used += bytes(piece);
      wave.push_back(std::move(piece));
    };
    auto send = sends.begin();
    auto receive = receives.begin();
    std::int64_t out = 0;
    std::int64_t in = 0;
    while (send != sends.end() || receive != receives.end()) {
      const bool has_send =
          send != sends.end() && (receive == receives.end() || key(*send) <= key(*receive));
      const bool has_receive =
          receive != receives.end() && (send == sends.end() || key(*receive) <= key(*send));
      const bool full =
          (has_send && out > 0 && out + bytes(*send) > tuning::exchange_slab_bytes) ||
          (has_receive && in > 0 && in + bytes(*receive) > tuning::exchange_slab_bytes) ||
          (!m_waves.empty() && m_waves.back().pieces() >= tuning::max_pieces_of_wave);
      if (m_waves.empty() || full) {
        m_waves.emplace_back();
        out = in = 0;
      }
      if (has_send) place(*send++, out, m_waves.back().sends);
      if (has_receive) place(*receive++, in, m_waves.back().receives);
      m_send_bytes = std::max(m_send_bytes, Arena::round_up(out));
      m_receive_bytes = std::max(m_receive_bytes, Arena::round_up(in));
    }
  }

  int m_bytes;
  std::vector<ArrayStrides> m_from;
  std::vector<ArrayStrides> m_to;
  std::vector<std::size_t> m_slowest_first;  ///< dimensions, in the order of messages
  std::vector<Copy> m_copies;
  std::vector<Wave> m_waves;
  std::int64_t m_send_bytes = 0;     ///< the most of any wave
  std::int64_t m_receive_bytes = 0;  ///< the most of any wave
};

}  // namespace eindecomp::run
