// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of strided boxes, element sizes and alignments of all kinds, against plain loops.

#include <cstring>

#include "random_einsum.hpp"

using namespace kernel_test;

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;

void check_copy(std::uint64_t seed) {
  CAPTURE(seed);
  Random random(seed);
  const auto bytes =
      static_cast<std::size_t>(pick<Extent>(random, {1, 2, 3, 4, 8, 12, 16, 24, 32}));
  StridedBox box;
  box.rank = static_cast<int>(draw(random, 0, 6));
  std::vector<Extent> extents;
  std::vector<int> labels;
  for (int k = 0; k < box.rank; ++k) {
    extents.push_back(pick<Extent>(random, box.rank <= 3 ? std::vector<Extent>{1, 2, 7, 33}
                                                         : std::vector<Extent>{0, 1, 2, 5}));
    labels.push_back(k);
  }
  if (box.rank == 1) extents[0] = draw(random, 0, 20000);
  const Tensor from(random, labels, extents);
  const Tensor into(random, labels, extents);
  for (int k = 0; k < box.rank; ++k) {
    const auto i = static_cast<std::size_t>(k);
    box.extent[k] = extents[i];
    box.from_stride[k] = from.stride[i];
    box.into_stride[k] = into.stride[i];
  }
  // Memory that is only as aligned as an element of that size needs to be.
  const std::size_t shift = static_cast<std::size_t>(draw(random, 0, 1)) * bytes;
  std::vector<unsigned char> source(static_cast<std::size_t>(from.span) * bytes + shift);
  std::vector<unsigned char> target(static_cast<std::size_t>(into.span) * bytes + shift, 0x77);
  for (unsigned char& byte : source) byte = static_cast<unsigned char>(draw(random, 0, 255));
  std::vector<unsigned char> expected = target;
  std::vector<Extent> index(extents.size(), 0);
  for_each_index(extents, std::vector<bool>(extents.size(), true), index, 0, [&] {
    std::memcpy(expected.data() + shift + static_cast<std::size_t>(into.offset(index)) * bytes,
                source.data() + shift + static_cast<std::size_t>(from.offset(index)) * bytes,
                bytes);
  });
  eindecomp::kernel::copy_box(Space(), static_cast<std::int64_t>(bytes), box, target.data() + shift,
                              source.data() + shift);
  Kokkos::fence();
  REQUIRE(target == expected);
}

}  // namespace

TEST_CASE("copies of random boxes") {
  for (std::uint64_t i = 0; i < 400; ++i) check_copy(7000 + i);
}

TEST_CASE("Kokkos' complex types are known to the graph") {
  using eindecomp::ElementKind;
  CHECK(eindecomp::ElementTraits<Kokkos::complex<float>>::kind == ElementKind::complex64);
  CHECK(eindecomp::element_type<Kokkos::complex<double>>() ==
        eindecomp::ElementType{ElementKind::complex128, 16});
}
