// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launcher that takes one algorithm, whatever it is given, so that shapes reach it that dispatch
// leaves to others.
#pragma once

#include "eindecomp/kernel/backend.hpp"
#include "eindecomp/kernel/semiring/prepared_packed.hpp"
#include "test_launcher.hpp"

namespace kernel_test {

/// Runs a prepared kernel in a workspace of its own.
template <class Space, class Kernel>
void run_prepared(const Space& space, const Kernel& kernel, const void* const* operands,
                  void* output) {
  eindecomp::kernel::detail::run_in_workspace(space, kernel, operands, output, [] {});
}

#if defined(EINDECOMP_REGISTER_BYTES)
/// The packed algorithm.
template <class Space>
struct PackedWay {
  static constexpr auto algorithm = eindecomp::kernel::Algorithm::packed;
  template <class Join, class Monoid, class A, class B>
  static auto prepare(const eindecomp::kernel::LocalEinsum& shape, const Join& join,
                      const Monoid& monoid, eindecomp::kernel::Write write) {
    namespace detail = eindecomp::kernel::detail;
    static_assert(detail::has_packed<Space, Join, Monoid, A, B>());
    return detail::PreparedPacked<Space, Join, Monoid, A, B>(Space(), shape, join, monoid, write,
                                                             nullptr);
  }
};
#endif

/// \tparam Way has `static constexpr Algorithm algorithm` and `prepare<Join, Monoid, A, B>(shape,
/// join, monoid,
///   write)`, which gives a prepared kernel
template <class Space, class Way, class Join, class MonoidType, class A, class B>
class ForcedLauncher {
 public:
  using ExecutionSpace = Space;
  using Sig = eindecomp::kernel::Signature<Join, MonoidType, A, B>;
  using State = typename Sig::State;
  using Result = typename Sig::Result;

  explicit ForcedLauncher(Join join = {}, MonoidType monoid = {})
      : m_join(join), m_monoid(monoid), m_boxes(join, monoid) {}

  [[nodiscard]] static eindecomp::kernel::Algorithm algorithm(
      const eindecomp::kernel::LocalEinsum&) {
    return Way::algorithm;
  }
  void join(const Space& space, const eindecomp::kernel::LocalEinsum& shape,
            const void* const* operands, void* output, eindecomp::kernel::Write write) const {
    run_prepared(space,
                 Way::template prepare<Join, MonoidType, A, B>(shape, m_join, m_monoid, write),
                 operands, output);
  }
  void combine(const Space& space, const eindecomp::kernel::StridedBox& box, void* into,
               const void* from) const {
    m_boxes.combine(space, box, into, from);
  }
  void finish(const Space& space, const eindecomp::kernel::StridedBox& box, void* into,
              const void* from) const {
    m_boxes.finish(space, box, into, from);
  }

 private:
  Join m_join;
  MonoidType m_monoid;
  TestLauncher<Space, Join, MonoidType, A, B> m_boxes;
};

}  // namespace kernel_test
