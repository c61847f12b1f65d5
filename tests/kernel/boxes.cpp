// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of strided boxes, element sizes and alignments of all kinds, against plain loops.

#include <cstring>

#include "eindecomp/kernel/copy/fill.hpp"
#include "random_einsum.hpp"

using namespace kernel_test;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// Copies elements of that many bytes between tensors of random layouts and those extents.
void check_copy(Random& random, std::size_t bytes, const std::vector<Extent>& extents) {
  StridedBox box;
  box.rank = static_cast<int>(extents.size());
  std::vector<int> labels;
  for (int k = 0; k < box.rank; ++k) labels.push_back(k);
  const Tensor from(random, labels, extents);
  const Tensor into(random, labels, extents);
  for (int k = 0; k < box.rank; ++k) {
    const auto i = static_cast<std::size_t>(k);
    box.extent[k] = extents[i];
    box.from_stride[k] = from.stride[i];
    box.into_stride[k] = into.stride[i];
  }
  // Memory that is only as aligned as an element of that size needs to be.
  const std::size_t alignment = std::min<std::size_t>(bytes & (~bytes + 1), 8);
  const std::size_t shift = static_cast<std::size_t>(draw(random, 0, 1)) * alignment;
  std::vector<unsigned char> source(static_cast<std::size_t>(from.span) * bytes + shift);
  std::vector<unsigned char> target(static_cast<std::size_t>(into.span) * bytes + shift, 0x77);
  auto bits = static_cast<std::uint64_t>(draw(random, 1, 1000000));
  for (unsigned char& byte : source) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<unsigned char>(bits >> 56U);
  }
  std::vector<unsigned char> expected = target;
  std::vector<Extent> index(extents.size(), 0);
  for_each_index(extents, std::vector<bool>(extents.size(), true), index, 0, [&] {
    std::memcpy(expected.data() + shift + static_cast<std::size_t>(into.offset(index)) * bytes,
                source.data() + shift + static_cast<std::size_t>(from.offset(index)) * bytes,
                bytes);
  });
  const InSpace<Space, unsigned char> there(source);
  const InSpace<Space, unsigned char> here(target);
  eindecomp::kernel::copy_box(Space(), static_cast<std::int64_t>(bytes), box, here.data() + shift,
                              there.data() + shift);
  Kokkos::fence();
  here.fetch();
  REQUIRE(target == expected);
}

}  // namespace

TEST_CASE("copies of random boxes") {
  for (std::uint64_t seed = 7000; seed < 7800; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto bytes =
        static_cast<std::size_t>(pick<Extent>(random, {1, 2, 3, 4, 8, 12, 16, 24, 32}));
    std::vector<Extent> extents(static_cast<std::size_t>(draw(random, 0, 6)));
    for (Extent& extent : extents) {
      extent = pick<Extent>(random, extents.size() <= 3 ? std::vector<Extent>{1, 2, 7, 33, 70}
                                                        : std::vector<Extent>{0, 1, 2, 5});
    }
    if (extents.size() == 1) extents[0] = draw(random, 0, 20000);
    check_copy(random, bytes, extents);
  }
}

TEST_CASE("large copies, by non-temporal stores where they apply") {
  // Lines of the target begin at elements, or not, and tiles are whole, or not.
  for (std::uint64_t seed = 7800; seed < 7824; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto bytes = static_cast<std::size_t>(pick<Extent>(random, {4, 8, 16}));
    const Extent elements =
        eindecomp::kernel::machine_rates.min_streamed_bytes / static_cast<Extent>(bytes);
    const Extent rows = pick<Extent>(random, {64, 256, 333, 1000});
    std::vector<Extent> extents{rows, elements / rows / 8 + draw(random, 1, 2) * 8, 8};
    if (draw(random, 0, 1) == 0) extents = {rows, elements / rows + draw(random, 1, 9)};
    check_copy(random, bytes, extents);
  }
}

TEST_CASE("short runs that follow one another in a large target") {
  using eindecomp::kernel::detail::CopySchedule;
  using eindecomp::kernel::detail::StorePolicy;
  // From (k,j,i) to (j,k,i), i contiguous: runs of every length, more and fewer than a buffer has
  // room for, gaps between those of some.
  for (const Extent run : {3, 12, 16, 24, 33, 100}) {
    for (const Extent gap : {0, 5}) {
      CAPTURE(run);
      CAPTURE(gap);
      const Extent j = 131;
      const Extent k = 1500000 / (run * j);
      eindecomp::kernel::detail::CopyNest nest;
      const Extent into[] = {1, k * run + gap, run};
      const Extent from[] = {1, run, j * run};
      const Extent extents[] = {run, j, k};
      for (int l = 0; l < 3; ++l) nest.push(extents[l], {into[l], from[l]});
      std::vector<float> source(static_cast<std::size_t>(run * j * k));
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i % 65521);
      // Not on a line.
      std::vector<float> target(static_cast<std::size_t>(j * (k * run + gap) + 1), -1.0F);
      std::vector<float> expected = target;
      for (Extent y = 0; y < j; ++y) {
        for (Extent z = 0; z < k; ++z) {
          std::copy_n(source.begin() + y * from[1] + z * from[2], run,
                      expected.begin() + 1 + y * into[1] + z * into[2]);
        }
      }
#if defined(EINDECOMP_STREAMING_BYTES)
      CHECK(CopySchedule(nest, sizeof(float), target.data() + 1, StorePolicy::non_temporal, false)
                .gathered);
#endif
      const InSpace<Space, float> there(source);
      const InSpace<Space, float> here(target);
      eindecomp::kernel::detail::copy_nest(Space(), "EinDecomp::copy", nest, sizeof(float),
                                           StorePolicy::non_temporal, here.data() + 1,
                                           there.data());
      Kokkos::fence();
      here.fetch();
      REQUIRE(target == expected);
    }
  }
}

namespace {

/// Copies j·k runs of words, side by side in the source or one word over and over, to runs with
/// gaps between them. \returns how that was cut.
template <class Word>
eindecomp::kernel::detail::CopySchedule check_runs(Extent run, Extent gap, Extent shift,
                                                   bool fill) {
  using namespace eindecomp::kernel::detail;
  constexpr auto size = static_cast<Extent>(sizeof(Word));
  const Extent k = 3;
  const Extent j = std::max<Extent>(2, 20000 / run);
  CopyNest nest;
  const Extent into[] = {1, run + gap, (run + gap) * j + gap};
  const Extent from[] = {1, run, run * j};
  const Extent extents[] = {run, j, k};
  for (int l = 0; l < 3; ++l) nest.push(extents[l], {into[l], fill ? 0 : from[l]});
  std::vector<unsigned char> source(static_cast<std::size_t>(run * j * k * size));
  for (std::size_t b = 0; b < source.size(); ++b) {
    source[b] = static_cast<unsigned char>(b * 2654435761U >> 13U);
  }
  std::vector<unsigned char> target(static_cast<std::size_t>(into[2] * k * size) + 320, 0x77);
  // That many words beyond the beginning of a line.
  unsigned char* first = target.data();
  first +=
      64 - reinterpret_cast<std::uintptr_t>(first) % 64 + static_cast<std::size_t>(shift * size);
  std::vector<unsigned char> expected = target;
  unsigned char* const first_expected = expected.data() + (first - target.data());
  for (Extent z = 0; z < k; ++z) {
    for (Extent y = 0; y < j; ++y) {
      for (Extent x = 0; x < run; ++x) {
        std::memcpy(first_expected + (x + y * into[1] + z * into[2]) * size,
                    source.data() + (fill ? 0 : x + y * from[1] + z * from[2]) * size,
                    sizeof(Word));
      }
    }
  }
  const InSpace<Space, unsigned char> there(source);
  const InSpace<Space, unsigned char> here(target);
  copy_nest(Space(), "EinDecomp::copy", nest, size, StorePolicy::non_temporal,
            here.data() + (first - target.data()), there.data());
  Kokkos::fence();
  here.fetch();
  REQUIRE(target == expected);
  return {nest, size, first, StorePolicy::non_temporal, false};
}

}  // namespace

TEST_CASE("runs with gaps between them, of every length") {
  using namespace eindecomp::kernel::detail;
  for (const Extent run : {1,  2,   3,   4,    5,    7,    13,   16,   17,   27,  33,
                           64, 100, 250, 1000, 2047, 2048, 2500, 4099, 8192, 9001}) {
    for (const Extent gap : {1, 4, 16}) {
      for (const Extent shift : {0, 1, 5, 15}) {
        for (const bool fill : {false, true}) {
          CAPTURE(run);
          CAPTURE(gap);
          CAPTURE(shift);
          CAPTURE(fill);
          const CopySchedule words = check_runs<Word<std::uint32_t>>(run, gap, shift, fill);
          check_runs<Word<std::uint64_t>>(run, gap, shift, fill);
          check_runs<Word16>(run, gap, shift, fill);
          CHECK(words.planes == (run < 4));
#if defined(EINDECOMP_STREAMING_BYTES)
          // Where rows begin on lines, and where few of their lines are written in part.
          const bool on_lines = shift == 0 && (run + gap) % 16 == 0 && gap % 16 == 0;
          CHECK(words.streamed == (!fill && run >= 4 && (on_lines || run >= 2048)));
          CHECK(words.whole == (run >= 4 && run <= 8192 && !words.streamed));
#endif
        }
      }
    }
  }
}

#if defined(EINDECOMP_STREAMING_BYTES)
namespace {

/// Transposes a plane into rows that begin where they may.
template <class Word>
void check_plane(Random& random) {
  using Plane = eindecomp::kernel::detail::StreamedTranspose<Word>;
  constexpr auto size = static_cast<Extent>(sizeof(Word));
  constexpr Extent line_words = 64 / size;
  constexpr Extent alignment = std::min<Extent>(size, 8);
  const Extent rows = draw(random, 1, 5 * line_words);
  const Extent columns = draw(random, 1, Plane::max_columns);
  const bool aligned = draw(random, 0, 2) == 0;
  const Extent step = aligned ? (rows / line_words + 1) * line_words : rows + draw(random, 0, 9);
  const Extent source_step = columns + draw(random, 0, 9);
  const Extent shift = aligned ? 0 : draw(random, 0, 64 / alignment - 1) * alignment;
  std::vector<unsigned char> source(static_cast<std::size_t>(source_step * rows * size));
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(draw(random, 0, 255));
  std::vector<unsigned char> target(static_cast<std::size_t>(step * columns * size + 128), 0x77);
  const auto begin = static_cast<Extent>(reinterpret_cast<std::uintptr_t>(target.data()) % 64);
  const Extent first = 64 - begin + shift;
  std::vector<unsigned char> expected = target;
  for (Extent p = 0; p < rows; ++p) {
    for (Extent q = 0; q < columns; ++q) {
      std::memcpy(expected.data() + first + (p + q * step) * size,
                  source.data() + (p * source_step + q) * size, static_cast<std::size_t>(size));
    }
  }
  // In one plane, or in two of which the first is whole lines.
  const Extent whole = draw(random, 0, (rows - 1) / line_words) * line_words;
  const auto plane = [&](Extent begin, Extent end) {
    return Plane{reinterpret_cast<Word*>(target.data() + first) + begin,
                 step,
                 reinterpret_cast<const Word*>(source.data()) + begin * source_step,
                 source_step,
                 end - begin,
                 columns,
                 aligned,
                 begin > 0,
                 end < rows};
  };
  const Plane last = plane(whole, rows);
  if (whole > 0) plane(0, whole).run(&last);
  last.run(nullptr);
  eindecomp::kernel::detail::end_streaming();
  REQUIRE(target == expected);
}

}  // namespace

TEST_CASE("planes transposed by non-temporal stores") {
  using eindecomp::kernel::detail::Word16;
  for (std::uint64_t seed = 7900; seed < 8100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    check_plane<eindecomp::kernel::detail::Word<std::uint32_t>>(random);
    check_plane<eindecomp::kernel::detail::Word<std::uint64_t>>(random);
    check_plane<Word16>(random);
  }
}
#endif

TEST_CASE("boxes of elements of any size are filled") {
  // Longer ones with zeros behind the value.
  for (const int bytes : {4, 16, 24, 40}) {
    CAPTURE(bytes);
    eindecomp::kernel::StridedBox box;
    box.rank = 2;
    box.extent[0] = 3;
    box.extent[1] = 5;
    box.into_stride[0] = 7;
    box.into_stride[1] = 1;
    eindecomp::kernel::ElementBytes value;
    for (std::size_t k = 0; k < value.size(); ++k) value[k] = static_cast<unsigned char>(k + 1);
    const auto size = static_cast<std::size_t>(bytes);
    std::vector<unsigned char> filled(3 * 7 * size, 0xee);
    std::vector<unsigned char> expected = filled;
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t byte = 0; byte < 5 * size; ++byte) {
        const std::size_t k = byte % size;
        expected[row * 7 * size + byte] = k < value.size() ? value[k] : 0;
      }
    }
    const InSpace<Space, unsigned char> here(filled);
    const auto fill = eindecomp::kernel::prepare_fill(Space(), bytes, box, value);
    fill->run(Space(), here.data(), nullptr);
    Kokkos::fence();
    here.fetch();
    CHECK(filled == expected);
  }
}

TEST_CASE("Kokkos' complex types are known to the graph") {
  using eindecomp::ElementKind;
  CHECK(eindecomp::ElementTraits<Kokkos::complex<float>>::kind == ElementKind::complex64);
  CHECK(eindecomp::element_type<Kokkos::complex<double>>() ==
        eindecomp::ElementType{ElementKind::complex128, 16});
}
