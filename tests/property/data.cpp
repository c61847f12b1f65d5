// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "property/data.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "eindecomp/graph/builder.hpp"

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
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(z.real());
  } else {
    return T(static_cast<typename T::value_type>(z.real()),
             static_cast<typename T::value_type>(z.imag()));
  }
}
template <class T>
Wide wide_from(T x) {
  if constexpr (std::is_arithmetic_v<T>) {
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

/// A new view of some extents, filled by place(index).
template <class T, int Rank, class Layout, class Place>
auto filled(const reference::Tensor& tensor, const std::vector<Extent>& extents, Place place) {
  using Data = typename ein::detail::DataType<T, Rank>::type;
  Layout layout;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    layout.dimension[k] = static_cast<std::size_t>(extents[k]);
  }
  Kokkos::View<Data, Layout, Kokkos::HostSpace> view("test::input", layout);
  std::vector<Extent> index(extents.size(), 0);
  do {
    std::size_t offset = 0;
    for (std::size_t k = 0; k < index.size(); ++k) {
      offset += static_cast<std::size_t>(index[k]) * view.stride(static_cast<int>(k));
    }
    view.data()[offset] = element_from<T>(tensor.values[place(index)]);
  } while (reference::detail::next(index, extents));
  return view;
}

template <class T, int Rank, class Layout>
Binding bind_as(const ein::Plan& plan, ein::AnySymbol symbol, const reference::Tensor& tensor,
                Way way, int rank, int root) {
  std::vector<int> labels(static_cast<std::size_t>(Rank));
  for (int k = 0; k < Rank; ++k) labels[static_cast<std::size_t>(k)] = k;
  const auto whole = [&](const std::vector<Extent>& index) {
    return reference::detail::place(labels, tensor.bound, index);
  };
  if (way == Way::from_root) {
    auto view = rank == root ? filled<T, Rank, Layout>(tensor, tensor.bound, whole)
                             : decltype(filled<T, Rank, Layout>(tensor, tensor.bound, whole)){};
    return ein::bind_global(symbol, view, root);
  }
  if (way == Way::whole_left || way == Way::whole_right) {
    return ein::bind_global(symbol, filled<T, Rank, Layout>(tensor, tensor.bound, whole));
  }
  std::vector<decltype(filled<T, Rank, Layout>(tensor, tensor.bound, whole))> blocks;
  for (const ein::Box& box : plan.local(symbol, rank)) {
    std::vector<Extent> extents;
    for (int k = 0; k < Rank; ++k) extents.push_back(box.extent(k));
    blocks.push_back(filled<T, Rank, Layout>(tensor, extents, [&](std::vector<Extent> index) {
      for (std::size_t k = 0; k < index.size(); ++k) index[k] += box.lo[k];
      return whole(index);
    }));
  }
  return ein::bind(symbol, blocks);
}

}  // namespace

Binding bind_tensor(const ein::Plan& plan, VertexId v, const reference::Tensor& tensor, Way way,
                    int rank, int root) {
  const ein::AnySymbol symbol(plan.graph, v);
  const bool left = way == Way::whole_left || way == Way::blocks_left;
  return with_type(tensor.kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return with_rank(static_cast<int>(tensor.bound.size()), [&](auto rank_constant) {
      constexpr int tensor_rank = rank_constant();
      // One other layout and type stands for all: less to compile.
      if constexpr (std::is_same_v<T, double> && tensor_rank > 1) {
        if (left) {
          return bind_as<T, tensor_rank, Kokkos::LayoutLeft>(plan, symbol, tensor, way, rank, root);
        }
      }
      return bind_as<T, tensor_rank, Kokkos::LayoutRight>(plan, symbol, tensor, way, rank, root);
    });
  });
}

std::vector<Wide> gather_tensor(const Run& run, const ein::EinGraph& graph, VertexId v) {
  const ein::AnySymbol symbol(graph, v);
  const ein::Vertex& vertex = graph[v];
  return with_type(vertex.element.kind, [&](auto type) {
    using T = typename decltype(type)::type;
    return with_rank(vertex.rank(), [&](auto rank_constant) {
      const auto view = run.gather_as<T, rank_constant()>(symbol);
      std::vector<Wide> values;
      for (std::size_t i = 0; i < view.span(); ++i) values.push_back(wide_from(view.data()[i]));
      return values;
    });
  });
}

}  // namespace property
