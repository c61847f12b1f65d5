// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// What is told of a run while it runs: progress to a function of the user's, events to a trace.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/run/options.hpp"
#include "eindecomp/run/tuning.hpp"

namespace eindecomp::run {

/// Watches one run of this rank's program. A run that nobody asked to watch has none.
class Observer {
 public:
  using Clock = std::chrono::steady_clock;

  /// \param stages  that the program has
  /// \param begin   of the run
  Observer(const EinGraph& graph, const ExecuteOptions& options, int stages,
           Clock::time_point begin)
      : m_graph(graph), m_options(options), m_stages(stages), m_begin(begin), m_told(begin) {
    if (records()) m_events.reserve(static_cast<std::size_t>(stages));
  }

  /// Whether any run with these options is to be watched.
  [[nodiscard]] static bool wanted(const ExecuteOptions& options) {
    return options.trace || options.progress;
  }

  [[nodiscard]] bool records() const { return m_options.trace; }

  /// Seconds since the run began.
  [[nodiscard]] double now() const {
    return std::chrono::duration<double>(Clock::now() - m_begin).count();
  }

  void record(const Event& event) { m_events.push_back(event); }

  /// To be called after every stage. \param done  how many have run
  void after_stage(VertexId statement, int done) {
    if (!m_options.progress) return;
    const Clock::time_point now = Clock::now();
    if (done < m_stages && now - m_told < tuning::progress_interval) return;
    m_told = now;
    m_options.progress({m_graph[statement].name.view(), done, m_stages,
                        std::chrono::duration<double>(now - m_begin).count()});
  }

  [[nodiscard]] std::vector<Event> take_events() { return std::move(m_events); }

 private:
  const EinGraph& m_graph;
  const ExecuteOptions& m_options;
  int m_stages;
  Clock::time_point m_begin;
  Clock::time_point m_told;  ///< when progress was last told
  std::vector<Event> m_events;
};

}  // namespace eindecomp::run
