// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Timelines to look at: as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open, and
/// as a picture. A run's own beside the one that was predicted:
///
///     ein::Executor executor(plan, MPI_COMM_WORLD, space, {.trace = true});
///     const auto run = executor.run(…);
///     const ein::Timeline measured = run.timeline();                       // collective
///     const ein::Timeline predicted = ein::simulate(plan, machine).in_turn;
///     if (rank == 0) ein::write_trace(plan.graph, {{"run", measured}, {"predicted", predicted}},
///                                     "run.json");                         // or "run.svg"
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/ein_graph.hpp"
#include "eindecomp/plan/timeline.hpp"
#include "eindecomp/tools/table.hpp"
#include "eindecomp/tools/write_file.hpp"

namespace eindecomp {

/// A timeline, and what it is called beside others. Refers to it.
struct NamedTimeline {
  std::string name;                                 ///< such as "run" or "predicted"
  std::reference_wrapper<const Timeline> timeline;  ///< must outlive this
};

namespace tools {

/// The bytes of the character that a text begins with; 0 if they are no UTF-8.
[[nodiscard]] inline std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [text](std::size_t n) {
    return n < text.size() ? static_cast<unsigned char>(text[n]) : 0U;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC0 || first >= 0xF8) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::uint32_t character = first & (0x7FU >> bytes);
  for (std::size_t n = 1; n < bytes; ++n) {
    if ((byte(n) & 0xC0U) != 0x80) return 0;
    character = character << 6 | (byte(n) & 0x3FU);
  }
  // It must not be written longer than need be, be half of a pair, or lie beyond the last.
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = character >= 0xD800 && character < 0xE000;
  return character < least[bytes] || is_half || character > 0x10FFFF ? 0 : bytes;
}

/// A text as UTF-8, which JSON and XML are: each byte that is none is replaced by U+FFFD.
[[nodiscard]] inline std::string utf8_text(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t bytes = utf8_bytes(text);
    valid += bytes == 0 ? "\xEF\xBF\xBD" : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return valid;
}

/// A text as JSON, quotes included.
[[nodiscard]] inline std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char c : utf8_text(text)) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      json += "\\u00";
      json += digits[static_cast<std::size_t>(c) / 16];
      json += digits[static_cast<std::size_t>(c) % 16];
    } else {
      json += c;
    }
  }
  return json + '"';
}

/// A text between tags or quotes of XML.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
  std::string xml;
  for (const char c : utf8_text(text)) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      default:
        xml += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return xml;
}

[[nodiscard]] constexpr std::string_view event_name(Event::Kind kind) {
  constexpr std::array<std::string_view, 5> names{"send", "receive", "copy", "kernel", "combine"};
  return names[static_cast<std::size_t>(kind)];
}

/// The row of a rank that an event stands in: what computes, what is sent, what is received.
[[nodiscard]] constexpr int event_row(const Event& event) {
  if (event.computes()) return 0;
  return event.kind == Event::Kind::send ? 1 : 2;
}

/// `send 512 words of X to rank 3, for H`.
[[nodiscard]] inline std::string event_text(const EinGraph& graph, const Event& event) {
  std::string text(event_name(event.kind));
  if (event.words > 0) text += ' ' + grouped(event.words) + " words";
  if (event.tensor >= 0 && event.tensor != event.statement) {
    text += " of " + graph[event.tensor].name.str();
  }
  if (event.peer >= 0) {
    text += event.kind == Event::Kind::send ? " to rank " : " from rank ";
    text += std::to_string(event.peer);
  }
  return text + ", for " + graph[event.statement].name.str();
}

/// Draws timelines one below the other on one scale of time.
class TimelinePicture {
 public:
  TimelinePicture(const EinGraph& graph, const std::vector<NamedTimeline>& timelines)
      : m_graph(graph) {
    for (const NamedTimeline& named : timelines) {
      m_seconds = std::max(m_seconds, named.timeline.get().seconds);
    }
    if (m_seconds <= 0) m_seconds = 1;
    for (const NamedTimeline& named : timelines) panel(named);
    legend();
  }

  [[nodiscard]] std::string svg() const {
    const auto size = [](double number) { return decimal(number, 0); };
    return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + size(left + width + right) +
           "\" height=\"" + size(m_y) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" "
           "height=\"100%\" fill=\"white\"/>\n" +
           m_body + "</svg>\n";
  }

 private:
  static constexpr double left = 70;
  static constexpr double right = 20;
  static constexpr double width = 1100;
  static constexpr double row = 26;      ///< of a rank
  static constexpr double kernels = 14;  ///< of which so much for what computes
  static constexpr std::array<std::string_view, 10> colours{
      "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2",
      "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#86bcb6"};

  [[nodiscard]] double x(double seconds) const { return left + width * seconds / m_seconds; }

  void text(double x, double y, std::string_view anchor, std::string_view content) {
    m_body += "<text x=\"" + decimal(x, 1) + "\" y=\"" + decimal(y, 1) + "\" text-anchor=\"" +
              std::string(anchor) + "\">" + xml_text(content) + "</text>\n";
  }
  void rectangle(double x, double y, double w, double h, std::string_view fill,
                 std::string_view title) {
    m_body += "<rect x=\"" + decimal(x, 2) + "\" y=\"" + decimal(y, 1) + "\" width=\"" +
              decimal(w, 2) + "\" height=\"" + decimal(h, 1) + "\" fill=\"" + std::string(fill) +
              "\"><title>" + xml_text(title) + "</title></rect>\n";
  }

  void panel(const NamedTimeline& named) {
    const Timeline& timeline = named.timeline;
    text(left, m_y + 16, "start", named.name + ": " + seconds_text(timeline.seconds));
    m_y += 24;
    for (std::size_t r = 0; r < timeline.events.size(); ++r) {
      text(left - 6, m_y + kernels - 2, "end", "rank " + std::to_string(r));
      for (const Event& event : timeline.events[r]) draw(event);
      m_y += row;
    }
    axis();
  }

  void draw(const Event& event) {
    constexpr double message = (row - kernels - 4) / 2;
    const int place = event_row(event);
    const double y = m_y + (place == 0 ? 0 : kernels + (place - 1) * message);
    const std::string_view colour =
        place == 0 ? colours[static_cast<std::size_t>(event.statement) % colours.size()]
                   : (place == 1 ? "#666666" : "#aaaaaa");
    rectangle(x(event.begin), y, std::max(x(event.end) - x(event.begin), 0.3),
              place == 0 ? kernels : message, colour,
              event_text(m_graph, event) + ": " + seconds_text(event.seconds()));
  }

  void axis() {
    // A step of 1, 2 or 5 that gives five to twelve marks.
    double step = std::pow(10.0, std::floor(std::log10(m_seconds / 5)));
    if (m_seconds / step > 12) step *= m_seconds / step > 25 ? 5 : 2;
    m_body += "<line x1=\"" + decimal(left, 1) + "\" x2=\"" + decimal(left + width, 1) +
              "\" y1=\"" + decimal(m_y, 1) + "\" y2=\"" + decimal(m_y, 1) +
              "\" stroke=\"black\"/>\n";
    for (int n = 0; n * step <= m_seconds; ++n) {
      text(x(n * step), m_y + 14, "middle", seconds_text(n * step));
    }
    m_y += 26;
  }

  void legend() {
    double at = left;
    for (const Vertex& v : m_graph.vertices) {
      if (v.is_input()) continue;
      const auto number = static_cast<std::size_t>(&v - m_graph.vertices.data());
      const double wide = 22 + 7 * static_cast<double>(v.name.size());
      if (at + wide > left + width) {
        at = left;
        m_y += 16;
      }
      rectangle(at, m_y, 10, 10, colours[number % colours.size()], v.name.view());
      text(at + 14, m_y + 9, "start", v.name.view());
      at += wide;
    }
    m_y += 24;
  }

  /// In the unit that suits it.
  [[nodiscard]] static std::string seconds_text(double seconds) {
    if (seconds == 0) return "0";
    if (seconds < 1e-3) return decimal(seconds * 1e6, 1) + " µs";
    if (seconds < 1) return decimal(seconds * 1e3, 2) + " ms";
    return decimal(seconds, 3) + " s";
  }

  const EinGraph& m_graph;
  double m_seconds = 0;
  double m_y = 8;
  std::string m_body;
};

}  // namespace tools

/// Timelines as a trace in the Trace Event Format of Chrome, which Perfetto reads: each a process,
/// each rank three threads in it (what it computes, sends, receives), each event a slice that bears
/// its statement's name and has what is done, with which tensor and rank, and the words as
/// arguments. Times are in microseconds. A few hundred bytes an event. Of names, bytes that are no
/// UTF-8 are replaced by U+FFFD, here and in timeline_svg().
/// \param graph  of the plan that they are of
[[nodiscard]] inline std::string trace_json(const EinGraph& graph,
                                            const std::vector<NamedTimeline>& timelines) {
  constexpr std::array<std::string_view, 3> rows{"", " sends", " receives"};
  std::string json = R"({"displayTimeUnit": "ns", "traceEvents": [)";
  const auto number = [](double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return std::string(digits.data(), end);
  };
  bool first = true;
  const auto add = [&](const std::string& members) {
    json += first ? "\n{" : ",\n{";
    json += members + '}';
    first = false;
  };
  const auto name = [&](std::string_view what, const std::string& place, std::string_view text) {
    add(R"("ph": "M", "name": ")" + std::string(what) + "\", " + place + R"(, "args": {"name": )" +
        tools::json_text(text) + '}');
  };
  for (std::size_t t = 0; t < timelines.size(); ++t) {
    const Timeline& timeline = timelines[t].timeline;
    const std::string process = "\"pid\": " + std::to_string(t);
    name("process_name", process, timelines[t].name);
    for (std::size_t r = 0; r < timeline.events.size(); ++r) {
      const auto thread = [&](int row) {
        return process + ", \"tid\": " + std::to_string(3 * r + static_cast<std::size_t>(row));
      };
      for (int row = 0; row < 3; ++row) {
        name("thread_name", thread(row),
             "rank " + std::to_string(r) + std::string(rows[static_cast<std::size_t>(row)]));
      }
      for (const Event& e : timeline.events[r]) {
        std::string members = R"("ph": "X", "name": )" +
                              tools::json_text(graph[e.statement].name.view()) + R"(, "cat": ")" +
                              std::string(tools::event_name(e.kind)) + "\", " +
                              thread(tools::event_row(e)) + ", \"ts\": " + number(1e6 * e.begin) +
                              ", \"dur\": " + number(1e6 * e.seconds()) + R"(, "args": {"does": )" +
                              tools::json_text(tools::event_text(graph, e));
        if (e.peer >= 0) members += ", \"peer\": " + std::to_string(e.peer);
        if (e.words > 0) members += ", \"words\": " + std::to_string(e.words);
        add(members + '}');
      }
    }
  }
  return json + "\n]}\n";
}

/// Timelines as an SVG picture, one below the other on one scale of time: a row a rank, kernels
/// coloured by statement above, messages sent and received in two lines below. What an event is
/// shows when the pointer rests on it.
/// \param graph  of the plan that they are of
[[nodiscard]] inline std::string timeline_svg(const EinGraph& graph,
                                              const std::vector<NamedTimeline>& timelines) {
  return tools::TimelinePicture(graph, timelines).svg();
}

/// Writes timelines to a file, which is replaced as a whole or, on an error, left as it was: as
/// timeline_svg() where the path ends in .svg, else as trace_json(). Not collective: let one rank
/// do it.
/// \throws Error of the kind io if the file cannot be written.
inline void write_trace(const EinGraph& graph, const std::vector<NamedTimeline>& timelines,
                        const std::filesystem::path& path,
                        const std::source_location& where = std::source_location::current()) {
  const bool picture = path.extension() == ".svg";
  const std::string text = picture ? timeline_svg(graph, timelines) : trace_json(graph, timelines);
  tools::replace_file(path, {text}, "the trace", where);
}

}  // namespace eindecomp
