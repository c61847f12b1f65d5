// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Which samples are in which step of training.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/random.hpp"

namespace eindecomp {

/// Minibatches of shuffled samples, an epoch after another. What is in a step's batch is a function
/// of the seed and the step's number: the same for any number of ranks, after a checkpoint, and
/// however many microbatches it is cut into.
class Batches {
 public:
  /// \param samples  how many there are
  /// \param size     of each batch; the samples that do not fill a last batch are skipped,
  ///   different ones in each epoch
  /// \param seed     of the order; each epoch has another
  /// \throws Error if a batch has no sample, or more than there are.
  Batches(Extent samples, Extent size, std::uint64_t seed = 0,
          std::source_location where = std::source_location::current())
      : m_samples(samples), m_size(size), m_seed(seed) {
    if (size < 1 || size > samples) {
      core::fail(ErrorKind::shape,
                 Text("a batch of ") + size + " of " + samples +
                     " samples (it has at least one, and each at most once); give another size",
                 where);
    }
  }

  /// The same batches, each cut into so many microbatches, for a step of an Accumulated optimiser.
  /// They are numbered through: samples() and rows() are of number step · microbatches + n for
  /// microbatch n of a step, which has the samples from n · size / microbatches on of the step's
  /// batch.
  /// \throws Error if the batches are cut already, or not into microbatches of equally many
  /// samples.
  [[nodiscard]] Batches split(Extent microbatches,
                              std::source_location where = std::source_location::current()) const {
    if (m_microbatches > 1) {
      core::fail(ErrorKind::shape, where, "batches of ", m_size, " samples are cut into ",
                 microbatches, " and were cut into ", m_microbatches,
                 " before (a microbatch is not cut again); split the batches that were not");
    }
    if (microbatches < 1 || m_size % microbatches != 0) {
      core::fail(ErrorKind::shape, where, "a batch of ", m_size, " samples in ", microbatches,
                 " microbatches (each has equally many, so that the mean of their means is that "
                 "of all); give a divisor of ",
                 m_size);
    }
    Batches cut = *this;
    cut.m_microbatches = microbatches;
    return cut;
  }

  /// Steps of one epoch, whatever the microbatches.
  [[nodiscard]] Extent per_epoch() const { return m_samples / m_size; }
  /// The samples of a step's batch, in its order, or those of a microbatch; both count from 0.
  /// \throws Error if the number is negative.
  [[nodiscard]] std::vector<Extent> samples(
      Extent number, std::source_location where = std::source_location::current()) const {
    if (number < 0) {
      core::fail(ErrorKind::shape, where, "samples of batch ", number,
                 " are asked for (batches count from 0); give the number of a step");
    }
    const Extent step = number / m_microbatches;
    const Extent size = m_size / m_microbatches;
    const Extent first = step % per_epoch() * m_size + number % m_microbatches * size;
    std::vector<Extent> chosen;
    for (Extent n = first; n < first + size; ++n) {
      chosen.push_back(shuffled(step / per_epoch(), n));
    }
    return chosen;
  }
  /// A function of a batch's index from one of the sample's, for bind_generator: row n of the batch
  /// is `sample(samples(number)[n], …)`. The function throws an Error for a row that the batch
  /// lacks.
  template <class Sample>
  [[nodiscard]] auto rows(Extent number, Sample sample,
                          std::source_location where = std::source_location::current()) const {
    auto chosen = std::make_shared<const std::vector<Extent>>(samples(number, where));
    return
        [chosen = std::move(chosen), sample = std::move(sample), where](Extent row, auto... index) {
          if (row < 0 || row >= std::ssize(*chosen)) {
            core::fail(ErrorKind::shape, where, "row ", row, " of a batch of ", chosen->size(),
                       " samples is asked for (the input has other extents than the batches); give "
                       "both the same size");
          }
          return sample((*chosen)[static_cast<std::size_t>(row)], index...);
        };
  }

 private:
  /// The sample at a place of an epoch's order: a permutation of all samples that is nowhere
  /// stored. It is a Feistel network (Luby and Rackoff 1988) over the numbers below a power of 4,
  /// gone through again where it leaves the samples (Black and Rogaway 2002).
  [[nodiscard]] Extent shuffled(Extent epoch, Extent place) const {
    constexpr std::uint32_t rounds = 6;
    const auto all = static_cast<std::uint64_t>(m_samples);
    const auto number = static_cast<std::uint64_t>(epoch);
    const int half = (static_cast<int>(std::bit_width(all - 1)) + 1) / 2;
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    auto n = static_cast<std::uint64_t>(place);
    do {
      std::uint64_t left = n >> half;
      std::uint64_t right = n & mask;
      for (std::uint32_t round = 0; round < rounds; ++round) {
        const auto random = philox(
            {graph::low_half(right), round, graph::low_half(number), graph::high_half(number)},
            {graph::low_half(m_seed), graph::high_half(m_seed)});
        left = std::exchange(right, left ^ (random[0] & mask));
      }
      n = left << half | right;
    } while (n >= all);
    return static_cast<Extent>(n);
  }

  Extent m_samples;
  Extent m_size;
  std::uint64_t m_seed;
  Extent m_microbatches = 1;
};

}  // namespace eindecomp
