// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launcher of a signature, whose kernels are prepared and run at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "eindecomp/kernel/backend.hpp"

namespace kernel_test {

template <class SpaceType, class Join, class Monoid, class... Ts>
class TestLauncher {
 public:
  using ExecutionSpace = SpaceType;
  using Sig = eindecomp::kernel::Signature<Join, Monoid, Ts...>;
  using Value = typename Sig::Value;
  using State = typename Sig::State;
  using Result = typename Sig::Result;
  using LocalEinsum = eindecomp::kernel::LocalEinsum;
  using StridedBox = eindecomp::kernel::StridedBox;
  using Write = eindecomp::kernel::Write;

  explicit TestLauncher(Join join = {}, Monoid monoid = {})
      : m_join(join), m_monoid(monoid), m_launcher(join, monoid) {}

  [[nodiscard]] eindecomp::kernel::Algorithm algorithm(const LocalEinsum& shape) const {
    return m_launcher.prepare(SpaceType(), shape, Write::finished)->algorithm();
  }
  /// The bytes that join takes for a shape, whatever it writes.
  [[nodiscard]] std::int64_t workspace_bytes(const SpaceType& space,
                                             const LocalEinsum& shape) const {
    return std::max(m_launcher.prepare(space, shape, Write::finished)->workspace_bytes(),
                    m_launcher.prepare(space, shape, Write::accumulate)->workspace_bytes());
  }
  void join(const SpaceType& space, const LocalEinsum& shape, const void* const* operands,
            void* output, Write write) const {
    eindecomp::kernel::kernels_of<SpaceType, Join, Monoid, Ts...>().run(
        space, shape, m_join, m_monoid, operands, output, write);
  }
  void combine(const SpaceType& space, const StridedBox& box, void* into, const void* from) const {
    if constexpr (!Sig::elementwise) m_launcher.prepare_combine(box)->run(space, into, from);
  }
  void finish(const SpaceType& space, const StridedBox& box, void* into, const void* from) const {
    m_launcher.prepare_finish(box)->run(space, into, from);
  }

 private:
  Join m_join;
  Monoid m_monoid;
  eindecomp::kernel::JoinAggregateLauncher<SpaceType, Join, Monoid, Ts...> m_launcher;
};

}  // namespace kernel_test
