// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A plan as an SVG picture, drawn by Graphviz.
#pragma once

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <source_location>
#include <string>
#include <vector>

#include "eindecomp/core/error.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/tools/dot.hpp"
#include "eindecomp/tools/write_file.hpp"

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX leaves it to programs to declare it.
extern char** environ;  ///< of the process, from POSIX; handed on to the programs it starts

namespace eindecomp {
namespace tools {

/// Runs a program that the search path has, without a shell. \returns whether it ended well.
[[nodiscard]] inline bool run_program(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tools

/// Writes the picture of to_dot(plan) to a file, which is replaced as a whole or, on an error, left
/// as it was. Runs Graphviz' program `dot`.
/// \throws Error if there is no such program or the file cannot be written.
inline void write_svg(const Plan& plan, const std::filesystem::path& path,
                      const std::source_location& where = std::source_location::current()) {
  const relation::UnfinishedFile svg = tools::begin_beside(path, "the picture", where);
  const relation::UnfinishedFile dot = tools::begin_beside(path, "the plan", where);
  tools::write_file(svg.path(), {}, path, "the picture", where);
  tools::write_file(dot.path(), {to_dot(plan)}, path, "the plan", where);
  if (!tools::run_program({"dot", "-Tsvg", "-o" + svg.path(), dot.path()})) {
    core::fail(
        ErrorKind::io,
        "cannot draw the plan (Graphviz' program dot did not do it); install graphviz, or write "
        "DOT and draw it elsewhere",
        where);
  }
  tools::put_in_place(svg.path(), path, "the picture", where);
}

}  // namespace eindecomp
