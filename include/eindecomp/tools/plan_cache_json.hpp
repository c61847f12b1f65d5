// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Plans kept in a folder from one run of a program to the next. Needs nlohmann-json.
///
///     ein::PlanCache cache(".plans");
///     const auto plan = cache.decompose(g, {.workers = 64});  // searched for once
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include "eindecomp/core/error.hpp"
#include "eindecomp/core/hash.hpp"
#include "eindecomp/core/text.hpp"
#include "eindecomp/core/version.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/graph/program.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "eindecomp/plan/hash.hpp"
#include "eindecomp/plan/options.hpp"
#include "eindecomp/plan/plan.hpp"
#include "eindecomp/tools/plan_file_json.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {

/// A folder of plan files. A plan is found again for the same program (statements, extents, element
/// types, scalars), the same options, machine included, and the same version of the library.
///
/// A file that is damaged, of another version or of another program counts as none: the plan is
/// made anew and takes its place. Processes may share a folder; each file is replaced as a whole.
/// An object is for one thread, and not collective: under MPI, let rank 0 ask it (share_plan).
class PlanCache {
 public:
  /// What a cache has done so far.
  struct Statistics {
    int hits = 0;      ///< plans that were there
    int misses = 0;    ///< plans that had to be made
    Text refused;      ///< why a file that was there was not used; of the last such
    Text not_written;  ///< why a plan could not be kept; of the last such
  };

  /// Makes the folder unless it is there. \throws Error of the kind io if it cannot be made.
  explicit PlanCache(std::filesystem::path folder,
                     const std::source_location& where = std::source_location::current())
      : m_folder(std::move(folder)) {
    std::error_code failed;
    std::filesystem::create_directories(m_folder, failed);
    std::error_code ignored;
    if (!std::filesystem::is_directory(m_folder, ignored)) {
      core::fail(ErrorKind::io, where, "cannot make the folder of plans ", m_folder.string(), " (",
                 (failed ? failed.message() : std::string("there is a file of that name")),
                 "); give a path that can be one");
    }
  }

  /// The plan of a program: from the folder, or decompose() and then kept there. Where the disk is
  /// full or not writable the plan is given all the same, and statistics() says why it was not
  /// kept.
  /// \throws Error as decompose(); such plans are not remembered.
  [[nodiscard]] Plan decompose(
      const EinGraph& graph, const DecomposeOptions& options,
      const std::source_location& where = std::source_location::current()) {
    const std::filesystem::path path = file_of(graph, options);
    if (std::optional<Plan> known = find(graph, path)) {
      ++m_statistics.hits;
      return std::move(*known);
    }
    ++m_statistics.misses;
    Plan plan = eindecomp::decompose(graph, options, where);
    try {
      save_plan(plan, path, where);
    } catch (const Error& error) {
      m_statistics.not_written = error.sentence();
    }
    return plan;
  }
  /// As above, for a program that names its backend: the plan can be executed.
  template <class Backend>
  [[nodiscard]] BasicPlan<typename PlanBackendOf<Backend>::type> decompose(
      const BasicProgram<Backend>& program, const DecomposeOptions& options,
      const std::source_location& where = std::source_location::current()) {
    return {decompose(program.graph(), plan::options_on<Backend>(options), where),
            program.launchers()};
  }

  /// The file that a plan is kept in, whether it is there or not.
  [[nodiscard]] std::filesystem::path file_of(const EinGraph& graph,
                                              const DecomposeOptions& options) const {
    core::Hasher asked;
    asked.add(static_cast<std::uint64_t>(EINDECOMP_VERSION));
    plan::add_to_hash(asked, options);
    for (const Vertex& v : graph.vertices) plan::add_to_hash(asked, v.kernel);
    return m_folder /
           (tools::hash_of_program(graph) + '-' + tools::hash_text(asked.value()) + ".plan");
  }

  /// What the cache has done so far.
  [[nodiscard]] const Statistics& statistics() const { return m_statistics; }

 private:
  [[nodiscard]] std::optional<Plan> find(const EinGraph& graph, const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::nullopt;
    try {
      return load_plan(graph, path);
    } catch (const Error& error) {
      m_statistics.refused = error.sentence();
      return std::nullopt;
    }
  }

  std::filesystem::path m_folder;
  Statistics m_statistics;
};

}  // namespace eindecomp
