// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// How examples that train go on from a file.
#pragma once

#include <eindecomp/tools/safetensors_json.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "example.hpp"

namespace examples {

/// Resumes a trainer from a file where it exists, which rank 0 reads; else starts it. Collective.
/// \param first  the first weights
/// \throws std::runtime_error if the file has taken all the steps.
template <class Trainer, class Bindings>
void start_or_resume(const Context& context, Trainer& trainer, const std::string& file,
                     const Bindings& first, Extent steps) {
  if (trainer.any(context.rank == 0 && !file.empty() && std::filesystem::exists(file))) {
    trainer.resume(context.rank == 0 ? ein::read_checkpoint(file) : ein::Checkpoint{});
  } else {
    trainer.start(first);
  }
  if (trainer.steps() >= steps) {
    throw std::runtime_error(file + " has taken all steps; ask for more");
  }
}

}  // namespace examples
