// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// The members of Executor, of Run and of Redistributor. With EINDECOMP_SEPARATE_EXECUTOR, one
/// translation unit compiles those of the default execution space, and those that use another space
/// include this header.
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/comm/communicator.hpp"
#include "eindecomp/run/engine.hpp"
#include "eindecomp/run/executor.hpp"
#include "eindecomp/run/redistribute_members.hpp"
#include "eindecomp/run/run_members.hpp"

namespace eindecomp {

template <class Space, comm::Communicator Group>
Executor<Space, Group>::Executor(const BasicPlan<KokkosBackend<Space>>& plan, Group&& transfers,
                                 Group&& control, const Space& space, const ExecuteOptions& options,
                                 const std::source_location& where)
    : m_engine(std::make_unique<run::Engine<Space, Group>>(
          plan, std::move(transfers), std::move(control), space, options, where)) {}

template <class Space, comm::Communicator Group>
Executor<Space, Group>::Executor(Executor&& other) noexcept = default;

template <class Space, comm::Communicator Group>
Executor<Space, Group>& Executor<Space, Group>::operator=(Executor&& other) noexcept = default;

template <class Space, comm::Communicator Group>
Executor<Space, Group>::~Executor() = default;

template <class Space, comm::Communicator Group>
typename Executor<Space, Group>::RunType Executor<Space, Group>::run_bound(
    const std::vector<Binding<Space>>& bindings, const std::source_location& where) {
  return engine(where).run(bindings, where);
}

template <class Space, comm::Communicator Group>
run::Engine<Space, Group>& Executor<Space, Group>::engine(const std::source_location& where) const {
  if (m_engine == nullptr) {
    throw Error(ErrorKind::binding,
                "the executor was moved from (its memory is that of the one it was moved to); use "
                "that one",
                where);
  }
  return *m_engine;
}

template <class Space, comm::Communicator Group>
void Executor<Space, Group>::forget_constants(std::source_location where) {
  engine(where).forget_constants();
}

template <class Space, comm::Communicator Group>
const RankProgram& Executor<Space, Group>::program(std::source_location where) const {
  return engine(where).program();
}

template <class Space, comm::Communicator Group>
std::string Executor<Space, Group>::explain(std::source_location where) const {
  return engine(where).explain();
}

}  // namespace eindecomp
