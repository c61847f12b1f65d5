// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/data.hpp"

#include <random>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/relation/distribution.hpp"
#include "support/random_distribution.hpp"

namespace property {

namespace ein = eindecomp;
using ein::Extent;
using ein::VertexId;
using reference::Kind;
using reference::Wide;

namespace {

constexpr int most_rank = 6;

template <class T>
T element_from(Wide z) {
  if constexpr (std::is_arithmetic_v<ein::Widened<T>>) {
    return static_cast<T>(z.real());
  } else {
    return T(static_cast<typename T::value_type>(z.real()),
             static_cast<typename T::value_type>(z.imag()));
  }
}
template <class T>
Wide wide_from(T x) {
  if constexpr (std::is_arithmetic_v<ein::Widened<T>>) {
    return {static_cast<long double>(x), 0};
  } else {
    return {static_cast<long double>(x.real()), static_cast<long double>(x.imag())};
  }
}

template <class F>
auto with_type(Kind kind, F f) {
  switch (kind) {
    case Kind::float32:
      return f(std::type_identity<float>{});
    case Kind::float64:
      return f(std::type_identity<double>{});
    case Kind::complex64:
      return f(std::type_identity<Kokkos::complex<float>>{});
    case Kind::complex128:
      return f(std::type_identity<Kokkos::complex<double>>{});
    case Kind::int32:
      return f(std::type_identity<std::int32_t>{});
    case Kind::int64:
      return f(std::type_identity<std::int64_t>{});
    case Kind::float16:
      return f(std::type_identity<ein::float16>{});
    case Kind::bfloat16:
      return f(std::type_identity<ein::bfloat16>{});
    default:
      throw std::logic_error("a tensor of another type");
  }
}
template <class F, int Rank = 0>
auto with_rank(int rank, F f) {
  if constexpr (Rank < most_rank) {
    if (rank != Rank) return with_rank<F, Rank + 1>(rank, f);
  }
  return f(std::integral_constant<int, Rank>{});
}

template <class T, int Rank>
using DataOf = typename ein::kernel::DataType<T, Rank>::type;

/// Puts place(index) into every element of a strided block.
template <class T, int Rank>
void fill(T* elements, const std::size_t* strides, const reference::Tensor& tensor,
          const std::vector<Extent>& extents, const auto& place) {
  std::vector<Extent> index(extents.size(), 0);
  do {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < index.size(); ++k) {
      offset += static_cast<std::size_t>(index[k]) * strides[k];
    }
    elements[offset] = element_from<T>(tensor.values[place(index)]);
  } while (reference::detail::next(index, extents));
}

/// A new view of some extents.
template <class T, int Rank, class Layout>
struct Dense {
  using View = Kokkos::View<DataOf<T, Rank>, Layout, Kokkos::HostSpace>;
  static View make(const std::vector<Extent>& extents) {
    Layout layout;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      layout.dimension[k] = static_cast<std::size_t>(extents[k]);
    }
    return View("test::input", layout);
  }
};

/// A part of a view that is wider along every dimension, which it neither owns nor changes.
template <class T, int Rank>
auto within(const reference::Tensor& tensor, const std::vector<Extent>& extents, const auto& place,
            Memory& memory) {
  using Whole = Dense<T, Rank, Kokkos::LayoutRight>;
  using Part = Kokkos::View<DataOf<const T, Rank>, Kokkos::LayoutStride, Kokkos::HostSpace,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  std::vector<Extent> wider;
  for (Extent extent : extents) wider.push_back(extent + 2);
  const auto whole = Whole::make(wider);
  memory.push_back(std::make_shared<const typename Whole::View>(whole));
  Kokkos::LayoutStride layout;
  T* begin = whole.data();
  for (std::size_t k = 0; k < extents.size(); ++k) {
    layout.dimension[k] = static_cast<std::size_t>(extents[k]);
    layout.stride[k] = whole.stride(static_cast<int>(k));
    begin += layout.stride[k];
  }
  fill<T, Rank>(begin, layout.stride, tensor, extents, place);
  return Part(begin, layout);
}

template <class T, int Rank, class Layout>
auto dense(const reference::Tensor& tensor, const std::vector<Extent>& extents, const auto& place) {
  const auto view = Dense<T, Rank, Layout>::make(extents);
  std::size_t strides[most_rank + 1] = {};
  view.stride(strides);
  fill<T, Rank>(view.data(), strides, tensor, extents, place);
  return view;
}

/// Binds the whole tensor or this rank's blocks of it, in views made by make(extents, place).
template <int Rank, class Make>
Binding bind_as(const ein::Plan& plan, ein::AnySymbol symbol, const reference::Tensor& tensor,
                Way way, int rank, int root, const Make& make) {
  std::vector<int> labels(static_cast<std::size_t>(Rank));
  for (int k = 0; k < Rank; ++k) labels[static_cast<std::size_t>(k)] = k;
  std::vector<Extent> first(tensor.bound.size(), 0);
  std::vector<std::vector<Extent>> sets;
  // Of the block that begins at `first`, or of the array that has the indices of `sets`.
  const auto place = [&](std::vector<Extent> index) {
    for (std::size_t k = 0; k < index.size(); ++k) {
      index[k] = sets.empty() ? first[k] + index[k] : sets[k][static_cast<std::size_t>(index[k])];
    }
    return reference::detail::place(labels, tensor.bound, index);
  };
  using View = decltype(make(tensor.bound, place));
  if (way == Way::from_root) {
    return ein::bind_global(symbol, rank == root ? make(tensor.bound, place) : View{}, root);
  }
  if (way == Way::whole_left || way == Way::whole_right || way == Way::whole_within) {
    return ein::bind_global(symbol, make(tensor.bound, place));
  }
  std::vector<View> blocks;
  if (way == Way::distributed) {
    std::mt19937_64 random(plan.hash() + static_cast<std::uint64_t>(root));
    const ein::Distribution distribution =
        eindecomp_tests::random_distribution(random, tensor.bound, plan.ranks);
    for (const ein::LocalArray& array : distribution.arrays(rank)) {
      sets.clear();
      for (const ein::IndexBlocks& set : array.indices) {
        sets.push_back(eindecomp_tests::indices_of(set));
      }
      blocks.push_back(make(array.extents(), place));
    }
    return ein::bind(symbol, distribution, blocks);
  }
  for (const ein::Box& box : plan.local(symbol, rank)) {
    std::vector<Extent> extents;
    for (int k = 0; k < Rank; ++k) extents.push_back(box.extent(k));
    first.assign(box.lo.begin(), box.lo.end());
    blocks.push_back(make(extents, place));
  }
  return ein::bind(symbol, blocks);
}

/// The element of an index, by any number of indices.
template <class T, int Rank>
struct Element {
  reference::Tensor tensor;
  template <class... Indices>
  T operator()(Indices... indices) const {
    std::size_t place = 0;
    std::size_t k = 0;
    ((place =
          place * static_cast<std::size_t>(tensor.bound[k++]) + static_cast<std::size_t>(indices)),
     ...);
    return element_from<T>(tensor.values[place]);
  }
};

template <class T, int Rank>
Binding bind_any_way(const ein::Plan& plan, ein::AnySymbol symbol, const reference::Tensor& tensor,
                     Way way, int rank, int root, [[maybe_unused]] Memory& memory) {
  const auto bind = [&](const auto& make) {
    return bind_as<Rank>(plan, symbol, tensor, way, rank, root, make);
  };
  // One type stands for all: less to compile.
  if constexpr (std::is_same_v<T, double>) {
    if (way == Way::whole_within || way == Way::blocks_within) {
      return bind([&](const std::vector<Extent>& extents, const auto& place) {
        return within<T, Rank>(tensor, extents, place, memory);
      });
    }
    if (way == Way::generated) {
      return ein::bind_generator_as<T, Rank>(symbol, Element<T, Rank>{tensor});
    }
    if (way == Way::whole_left || way == Way::blocks_left) {
      return bind([&](const std::vector<Extent>& extents, const auto& place) {
        return dense<T, Rank, Kokkos::LayoutLeft>(tensor, extents, place);
      });
    }
  }
  return bind([&](const std::vector<Extent>& extents, const auto& place) {
    return dense<T, Rank, Kokkos::LayoutRight>(tensor, extents, place);
  });
}

/// f(value type, rank) of a tensor.
template <class F>
auto with_tensor(const ein::Vertex& v, const F& f) {
  return with_type(v.element.kind, [&](auto type) {
    return with_rank(v.rank(), [&](auto rank_constant) { return f(type, rank_constant); });
  });
}

}  // namespace

Binding bind_tensor(const ein::Plan& plan, VertexId v, const reference::Tensor& tensor, Way way,
                    int rank, int root, Memory& memory) {
  const ein::AnySymbol symbol(plan.graph, v);
  return with_tensor(plan.graph[v], [&](auto type, auto rank_constant) {
    return bind_any_way<typename decltype(type)::type, rank_constant()>(plan, symbol, tensor, way,
                                                                        rank, root, memory);
  });
}

Binding bind_result(const ein::Plan& plan, VertexId input, const Run& run,
                    const ein::EinGraph& graph, VertexId result, Handover how) {
  const ein::AnySymbol to(plan.graph, input);
  const ein::AnySymbol from(graph, result);
  return with_tensor(graph[result], [&](auto type, auto rank_constant) -> Binding {
    const auto local = run.local_as<typename decltype(type)::type, rank_constant()>(from);
    if constexpr (std::is_same_v<typename decltype(type)::type, double>) {
      using Local = std::remove_const_t<decltype(local)>;
      std::vector<typename Local::Block::View> views;
      for (const auto& block : local) views.push_back(block.view);
      if (how == Handover::views) return ein::bind(to, views);
    }
    return ein::bind(to, local);
  });
}

std::vector<Wide> gather_tensor(const Run& run, const ein::EinGraph& graph, VertexId v) {
  const ein::AnySymbol symbol(graph, v);
  return with_tensor(graph[v], [&](auto type, auto rank_constant) {
    const auto view = run.gather_as<typename decltype(type)::type, rank_constant()>(symbol);
    std::vector<Wide> values;
    for (std::size_t i = 0; i < view.span(); ++i) values.push_back(wide_from(view.data()[i]));
    return values;
  });
}

std::size_t count_wrong(const Run& run, const ein::EinGraph& graph, VertexId v,
                        const reference::Tensor& expected, long double tolerance) {
  const ein::AnySymbol symbol(graph, v);
  return with_tensor(graph[v], [&](auto type, auto rank_constant) {
    constexpr int rank = rank_constant();
    std::vector<int> labels(static_cast<std::size_t>(rank));
    for (int k = 0; k < rank; ++k) labels[static_cast<std::size_t>(k)] = k;
    std::size_t wrong = 0;
    for (const auto& block : run.local_as<typename decltype(type)::type, rank>(symbol)) {
      std::vector<Extent> extents;
      for (int k = 0; k < rank; ++k) extents.push_back(block.box.extent(k));
      std::vector<Extent> index(extents.size(), 0);
      std::size_t element = 0;
      do {
        std::vector<Extent> whole = index;
        for (std::size_t k = 0; k < whole.size(); ++k) whole[k] += block.box.lo[k];
        const Wide got = wide_from(block.view.data()[element++]);
        const Wide want = expected.values[reference::detail::place(labels, expected.bound, whole)];
        if (reference::differs(got, want, tolerance)) ++wrong;
      } while (reference::detail::next(index, extents));
    }
    return wrong;
  });
}

std::size_t count_wrong_distributed(const Run& run, const ein::Plan& plan, VertexId v,
                                    const reference::Tensor& expected, long double tolerance,
                                    int rank, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const ein::Distribution distribution =
      eindecomp_tests::random_distribution(random, expected.bound, plan.ranks);
  const ein::AnySymbol symbol(plan.graph, v);
  return with_tensor(plan.graph[v], [&](auto type, auto rank_constant) {
    constexpr int dimensions = rank_constant();
    using T = typename decltype(type)::type;
    using Array = Dense<T, dimensions, Kokkos::LayoutRight>;
    std::vector<typename Array::View> views;
    for (const ein::LocalArray& array : distribution.arrays(rank)) {
      views.push_back(Array::make(array.extents()));
    }
    const ein::RedistributionStatistics moved = run.redistribute(symbol, distribution, views);
    const Extent predicted =
        plan.result_words(symbol, distribution)[static_cast<std::size_t>(rank)];
    std::size_t wrong = moved.words_received == predicted ? 0 : 1;
    std::vector<int> labels(static_cast<std::size_t>(dimensions));
    for (int k = 0; k < dimensions; ++k) labels[static_cast<std::size_t>(k)] = k;
    for (std::size_t n = 0; n < views.size(); ++n) {
      std::size_t element = 0;
      eindecomp_tests::for_each_element(
          distribution.arrays(rank)[n],
          [&](const std::vector<Extent>& global, const std::vector<Extent>&) {
            const Wide got = wide_from(views[n].data()[element++]);
            const Wide want =
                expected.values[reference::detail::place(labels, expected.bound, global)];
            if (reference::differs(got, want, tolerance)) ++wrong;
          });
    }
    return wrong;
  });
}

}  // namespace property
