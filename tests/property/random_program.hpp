// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a program: statements from the signatures, labels, extents and values at random, such that
// no result is out of range or hangs on the last bit of an operand.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eindecomp/graph/print.hpp"
#include "eindecomp/plan/decompose.hpp"
#include "property/random_input.hpp"
#include "property/signatures.hpp"

namespace property {

/// How operands of random programs are read.
enum class Accesses {
  labels,    ///< every index is a label
  computed,  ///< some are computed from labels, and may leave their tensors
  looked_up  ///< so they are, and others are elements of index tensors
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed, Accesses accesses = Accesses::labels)
      : m_random(seed), m_accesses(accesses), program(draw_options(m_random)), m_builder(program) {
    const Extent statements = draw(m_random, 1, 4);
    for (Extent s = 0; s < statements; ++s) {
      while (!draw_statement()) {
      }
    }
    // Now and then a tensor that is read is a result as well.
    for (VertexId v = 0; v < program.graph().size(); ++v) {
      if (!program.graph()[v].is_input() && chance(m_random, 15)) {
        m_builder.keep({program.graph(), v});
      }
    }
  }

  [[nodiscard]] ein::DecomposeOptions draw_plan(int ranks) {
    ein::DecomposeOptions options;
    options.workers = 1 << draw(m_random, 0, 4);
    options.ranks = ranks;
    options.strategy = "by_hand";
    for (VertexId v = 0; v < program.graph().size(); ++v) {
      const ein::Vertex& vertex = program.graph()[v];
      if (vertex.is_input()) continue;
      ein::StatementParts statement{vertex.name, {}};
      Extent left = options.workers;
      std::vector<std::size_t> order(vertex.labels.size());
      for (std::size_t l = 0; l < order.size(); ++l) order[l] = l;
      for (std::size_t l = order.size(); l > 1; --l) {
        std::swap(order[l - 1],
                  order[static_cast<std::size_t>(draw(m_random, 0, static_cast<Extent>(l) - 1))]);
      }
      for (std::size_t l : order) {
        Extent parts = 1;
        while (parts * 2 <= vertex.extents[l] && parts * 2 <= left && chance(m_random, 70)) {
          parts *= 2;
        }
        left /= parts;
        statement.parts.push_back(
            {program.graph().labels[static_cast<std::size_t>(vertex.labels[l])].name, parts});
      }
      options.by_hand.push_back(std::move(statement));
    }
    return options;
  }

  /// Other values of an input; of an index tensor, indices.
  [[nodiscard]] reference::Tensor draw_input(Random& random, VertexId v) const {
    std::optional<Extent> indices;
    for (const ein::Vertex& statement : program.graph().vertices) {
      for (int k = 0; k < statement.op.index_tensors; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (statement.operands[at].vertex != v) continue;
        const Extent extent = statement.extents[static_cast<std::size_t>(statement.values[at])];
        indices = std::min(indices.value_or(extent), extent);
      }
    }
    const ein::Vertex& input = program.graph()[v];
    return indices ? random_indices(random, input.element.kind, input.bound, *indices)
                   : random_input(random, input.element.kind, input.bound);
  }

  /// What every vertex holds for other inputs, `inputs` by vertex; nothing where an index is none,
  /// a result is out of range or one hangs on the last bit of an operand.
  [[nodiscard]] std::optional<std::vector<reference::Tensor>> evaluate(
      const std::vector<reference::Tensor>& inputs) const {
    std::vector<reference::Tensor> all;
    for (VertexId v = 0; v < program.graph().size(); ++v) {
      const ein::Vertex& vertex = program.graph()[v];
      if (vertex.is_input()) {
        all.push_back(inputs[static_cast<std::size_t>(v)]);
        if (!is_readable(all.back())) return std::nullopt;
        continue;
      }
      try {
        all.push_back(reference::evaluate_statement(vertex, all, user_operators()));
      } catch (const std::out_of_range&) {
        return std::nullopt;
      }
      if (!is_sound(vertex, all)) return std::nullopt;
      if (is_read(v) && !is_readable(all.back())) return std::nullopt;
    }
    return all;
  }

  /// Per vertex: what it holds.
  std::vector<reference::Tensor> tensors;

 private:
  static ein::LoweringOptions draw_options(Random& random) {
    ein::LoweringOptions options;
    options.order_contractions = chance(random, 70);
    options.aggregate_private_labels = chance(random, 70);
    options.share_subexpressions = chance(random, 70);
    return options;
  }

  struct Draft {
    std::map<std::string, Extent> extents;
    std::vector<std::string> order;  // labels as they appear
    Extent points = 1;

    [[nodiscard]] bool knows(const std::string& label) const { return extents.contains(label); }
    void add(const std::string& label, Extent extent) {
      if (extents.emplace(label, extent).second) {
        order.push_back(label);
        points *= extent;
      }
    }
  };
  static constexpr Extent most_points = 1500;

  /// What labels may be called.
  static const std::vector<std::string>& names() {
    static const std::vector<std::string> all{"a", "b", "c", "i", "j", "k",   "l",
                                              "m", "n", "p", "q", "r", "head"};
    return all;
  }
  std::string unused_label(const Draft& draft) {
    while (draft.order.size() < names().size()) {
      const std::string& name = pick(m_random, names());
      if (!draft.knows(name)) return name;
    }
    return "x" + std::to_string(draft.order.size());
  }
  std::string label_of_extent(const Draft& draft, Extent extent) {
    std::vector<std::string> fitting;
    for (const auto& [label, its] : draft.extents) {
      if (its == extent) fitting.push_back(label);
    }
    // The first may be one of this very operand: a diagonal.
    if (!fitting.empty() && chance(m_random, 70)) return pick(m_random, fitting);
    return unused_label(draft);
  }

  /// A label of the statement, or a new one, as a term of an index.
  ein::IndexSpec::Term draw_term(Draft& draft, const std::vector<Extent>& coefficients) {
    std::string label;
    if (draft.order.size() >= 8 || (!draft.order.empty() && chance(m_random, 50))) {
      label = pick(m_random, draft.order);
    } else {
      label = unused_label(draft);
      draft.add(label, draw(m_random, 1, draft.points > 200 ? 2 : 6));
    }
    // A name that outlives the statement.
    const auto name = std::find(names().begin(), names().end(), label);
    return {*name, pick(m_random, coefficients), draft.extents.at(label)};
  }
  /// An index into a dimension, which may leave it.
  ein::IndexSpec draw_index(Extent bound, Draft& draft) {
    using ein::Boundary;
    static const std::vector<Extent> coefficients{1, 1, 1, -1, 2, -2, 3};
    static const std::vector<Boundary> boundaries{
        Boundary::ignored,  Boundary::ignored, Boundary::ignored, Boundary::zero,
        Boundary::periodic, Boundary::clamp,   Boundary::reflect};
    ein::IndexSpec index;
    const Extent way = draw(m_random, 1, 100);
    if (way <= 15) {
      index.offset = draw(m_random, 0, bound - 1);
      return index;
    }
    index.terms.push_back(draw_term(draft, coefficients));
    if (way > 60) {
      const ein::IndexSpec::Term second = draw_term(draft, coefficients);
      if (second.label != index.terms[0].label) index.terms.push_back(second);
    }
    index.offset = draw(m_random, -3, bound);
    index.boundary = pick(m_random, boundaries);
    if (index.boundary == Boundary::ignored && chance(m_random, 25)) {
      index.divisor = draw(m_random, 2, 3);
    }
    return index;
  }
  [[nodiscard]] bool is_read(VertexId v) const {
    const auto& all = program.graph().vertices;
    return std::any_of(all.begin(), all.end(), [&](const ein::Vertex& statement) {
      return std::any_of(statement.operands.begin(), statement.operands.end(),
                         [&](const ein::Operand& operand) { return operand.vertex == v; });
    });
  }
  /// Whether statements may read it: not what ⊕ gives of no terms, which may be infinite.
  [[nodiscard]] static bool is_readable(const reference::Tensor& tensor) {
    return std::all_of(tensor.values.begin(), tensor.values.end(), [&](reference::Wide z) {
      return std::isfinite(z.real()) &&
             (!reference::is_integer(tensor.kind) || std::abs(z.real()) < 0x1p30L);
    });
  }
  [[nodiscard]] std::vector<VertexId> readable(Kind kind) const {
    std::vector<VertexId> there;
    for (VertexId v = 0; v < program.graph().size(); ++v) {
      const reference::Tensor& tensor = tensors[static_cast<std::size_t>(v)];
      if (tensor.kind == kind && is_readable(tensor)) there.push_back(v);
    }
    return there;
  }
  VertexId new_input(reference::Tensor data) {
    const ein::AnySymbol symbol =
        add_input(m_builder, data.kind, "X" + std::to_string(m_inputs++), data.bound);
    tensors.push_back(std::move(data));
    return symbol.vertex();
  }
  Builder::Read draw_computed(Kind kind, Draft& draft) {
    std::vector<VertexId> there = readable(kind);
    std::erase_if(there, [&](VertexId v) { return program.graph()[v].bound.empty(); });
    if (there.empty() || chance(m_random, 40)) {
      std::vector<Extent> bound(static_cast<std::size_t>(draw(m_random, 1, 3)));
      for (Extent& b : bound) b = draw(m_random, 1, 8);
      there.assign(1, new_input(random_input(m_random, kind, std::move(bound))));
    }
    return read_computed(pick(m_random, there), draft);
  }
  Builder::Read read_computed(VertexId v, Draft& draft) {
    Builder::Read read{ein::AnySymbol(program.graph(), v), {}};
    for (const Extent bound : program.graph()[v].bound) {
      read.indices.push_back(draw_index(bound, draft));
    }
    return read;
  }
  Builder::Read read_by_labels(VertexId v, Draft& draft) {
    ein::LabelStrings labels;
    for (const Extent extent : program.graph()[v].bound) {
      const std::string label = label_of_extent(draft, extent);
      draft.add(label, extent);
      labels.push_back(label);
    }
    return {ein::AnySymbol(program.graph(), v), labels};
  }

  /// A new input, or a tensor there is.
  Builder::Read draw_operand(Kind kind, Draft& draft) {
    if (m_accesses == Accesses::computed && chance(m_random, 60)) {
      return draw_computed(kind, draft);
    }
    if (m_accesses == Accesses::looked_up && chance(m_random, 25)) {
      return draw_computed(kind, draft);
    }
    const std::vector<VertexId> there = readable(kind);
    if (!there.empty() && chance(m_random, 60)) {
      return read_by_labels(pick(m_random, there), draft);
    }
    static const std::vector<Extent> ranks{0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6};
    const Extent rank = pick(m_random, ranks);
    ein::LabelStrings labels;
    std::vector<Extent> bound;
    for (Extent k = 0; k < rank; ++k) {
      std::string label;
      if (!draft.order.empty() && chance(m_random, 45)) {
        label = pick(m_random, draft.order);
      } else {
        label = unused_label(draft);
        draft.add(label, draw(m_random, 1, draft.points > 200 ? 2 : rank > 3 ? 4 : 7));
      }
      labels.push_back(label);
      bound.push_back(draft.extents.at(label));
    }
    const VertexId v = new_input(random_input(m_random, kind, std::move(bound)));
    return {ein::AnySymbol(program.graph(), v), labels};
  }

  /// A tensor whose elements are values of a label of that extent: one there is, another taken back
  /// into the range, or an input.
  VertexId draw_indices(Kind kind, Extent extent) {
    std::vector<VertexId> there = readable(kind);
    if (!there.empty() && chance(m_random, 25)) {
      const VertexId v = pick(m_random, there);
      ein::LabelStrings labels;
      for (std::size_t k = 0; k < program.graph()[v].bound.size(); ++k) {
        labels.push_back(names()[k]);
      }
      (void)write_inside(m_builder, chance(m_random, 50) ? Inside::wrapped : Inside::clipped, kind,
                         "S" + std::to_string(m_statements++),
                         {ein::AnySymbol(program.graph(), v), labels}, labels, extent);
      evaluate_new();
    }
    there = readable(kind);
    std::erase_if(there, [&](VertexId v) {
      const auto& values = tensors[static_cast<std::size_t>(v)].values;
      return !std::all_of(values.begin(), values.end(), [&](reference::Wide z) {
        return z.real() >= 0 && z.real() < static_cast<long double>(extent);
      });
    });
    // The latest is the one that was written for this.
    if (!there.empty() && chance(m_random, 60)) {
      return chance(m_random, 50) ? there.back() : pick(m_random, there);
    }
    static const std::vector<std::size_t> ranks{0, 1, 1, 1, 2, 2, 3};
    std::vector<Extent> bound(pick(m_random, ranks));
    for (Extent& b : bound) b = draw(m_random, 1, 6);
    return new_input(random_indices(m_random, kind, std::move(bound), extent));
  }

  /// Labels to look up, of operands or, in `bare`, of the output alone, and index tensors for them.
  /// \returns false if an index tensor is read along one of these labels
  bool draw_lookups(const Signature& signature, Draft& draft, std::vector<Builder::Read>& operands,
                    ein::LabelStrings& values, ein::LabelStrings& bare) {
    for (int k = 0; k < signature.index_tensors; ++k) {
      std::vector<std::string> free = draft.order;
      std::erase_if(free, [&](const std::string& label) { return contains(values, label); });
      if (!free.empty() && chance(m_random, 60)) {
        values.push_back(pick(m_random, free));
      } else {
        values.push_back(unused_label(draft));
        bare.push_back(values.back());
        draft.add(values.back(), draw(m_random, 1, 7));
      }
    }
    std::vector<Builder::Read> indices;
    for (int k = 0; k < signature.index_tensors; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const VertexId v = draw_indices(signature.operands[at], draft.extents.at(values[at]));
      indices.push_back(chance(m_random, 20) ? read_computed(v, draft) : read_by_labels(v, draft));
      for (const std::string& label : indices.back().labels) {
        if (contains(values, label)) return false;
      }
      for (const ein::IndexSpec& index : indices.back().indices) {
        for (const ein::IndexSpec::Term& term : index.terms) {
          if (contains(values, std::string(term.label))) return false;
        }
      }
    }
    operands.insert(operands.begin(), indices.begin(), indices.end());
    return true;
  }
  [[nodiscard]] static bool contains(const ein::LabelStrings& labels, const std::string& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }

  /// The output's labels, in any order, `bare` ones among them, with one that no operand has now
  /// and then.
  bool draw_output(const Signature& signature, Draft& draft, const ein::LabelStrings& bare,
                   std::vector<Builder::Write>& output) {
    std::vector<std::string> labels = draft.order;
    for (std::size_t l = labels.size(); l > 1; --l) {
      std::swap(labels[l - 1],
                labels[static_cast<std::size_t>(draw(m_random, 0, static_cast<Extent>(l) - 1))]);
    }
    if (signature.one_aggregated_label) {
      if (labels.empty()) return false;
      labels.pop_back();
    } else if (!signature.monoid.empty()) {
      labels.resize(static_cast<std::size_t>(
          draw(m_random, 0, static_cast<Extent>(std::min<std::size_t>(labels.size(), 5)))));
    }
    for (const std::string& label : bare) {
      if (!contains(labels, label)) labels.push_back(label);
    }
    if (labels.size() > 6) return false;
    for (const std::string& label : labels) {
      // Saying an extent that is known anyway is allowed.
      const bool says = chance(m_random, 10) || contains(bare, label);
      output.push_back({label, says ? draft.extents.at(label) : 0});
    }
    if (labels.size() < 6 && draft.points < 300 && chance(m_random, 10)) {
      const std::string label = unused_label(draft);
      draft.add(label, draw(m_random, 1, 5));
      output.insert(output.begin() + draw(m_random, 0, static_cast<Extent>(output.size())),
                    {label, draft.extents.at(label)});
    }
    return true;
  }

  /// \returns false, and leaves the program as it was, if the draw came to nothing.
  bool draw_statement() {
    const ein::BasicProgram<Backend> before = program;
    const std::vector<reference::Tensor> tensors_before = tensors;
    const int inputs_before = m_inputs;
    const bool fine = try_statement();
    if (!fine) {
      *program.state() = *before.state();
      tensors = tensors_before;
      m_inputs = inputs_before;
    }
    return fine;
  }

  bool try_statement() {
    const bool looks_up = m_accesses == Accesses::looked_up && chance(m_random, 70);
    const Signature& signature = pick(m_random, looks_up ? lookup_signatures() : signatures());
    Draft draft;
    std::vector<Builder::Read> operands;
    for (std::size_t o = static_cast<std::size_t>(signature.index_tensors);
         o < signature.operands.size(); ++o) {
      operands.push_back(draw_operand(signature.operands[o], draft));
    }
    ein::LabelStrings values;
    ein::LabelStrings bare;
    if (!draw_lookups(signature, draft, operands, values, bare)) return false;
    for (int k = 0; k < signature.values; ++k) {
      if (k < signature.index_tensors) continue;
      if (draft.order.empty()) return false;
      values.push_back(pick(m_random, draft.order));
    }
    std::vector<Builder::Write> output;
    if (draft.points > most_points || !draw_output(signature, draft, bare, output)) return false;
    const std::string name = "S" + std::to_string(m_statements++);
    if (m_accesses == Accesses::labels) {
      signature.write(m_builder, name, operands, output, values);
    } else {
      // Refused where an index leaves its tensor and ⊗ and ⊕ ignore no value, for one.
      try {
        signature.write(m_builder, name, operands, output, values);
      } catch (const ein::Error&) {
        return false;
      }
    }
    return evaluate_new();
  }
  /// Of statements that were written last. \returns whether their results can be compared
  bool evaluate_new() {
    for (auto v = static_cast<VertexId>(tensors.size()); v < program.graph().size(); ++v) {
      const ein::Vertex& vertex = program.graph()[v];
      tensors.push_back(reference::evaluate_statement(vertex, tensors, user_operators()));
      if (!is_sound(vertex, tensors)) return false;
    }
    return true;
  }

  /// Whether the last of `tensors`, the result of v, is in range, and no comparison on the way to
  /// it hangs on a rounding error.
  static bool is_sound(const ein::Vertex& v, const std::vector<reference::Tensor>& tensors) {
    const reference::Tensor& result = tensors.back();
    const std::string monoid = v.op.aggregate.str();
    const bool of_no_terms =
        v.op.index_tensors > 0 && (monoid == "min" || monoid == "max" || monoid == "log_sum_exp");
    for (reference::Wide z : result.values) {
      if (std::isnan(z.real()) || std::isnan(z.imag())) return false;
      if (!of_no_terms && (!std::isfinite(z.real()) || !std::isfinite(z.imag()))) return false;
    }
    if (reference::is_integer(result.kind) && !(result.scale < 0x1p30L)) return false;
    if (!(result.scale < 1e6L)) return result.exact && result.scale < 1e15L;
    bool exact_operands = true;
    bool positive = true;
    for (const ein::Operand& o : v.operands) {
      const reference::Tensor& t = tensors[static_cast<std::size_t>(o.vertex)];
      exact_operands = exact_operands && t.exact;
      for (reference::Wide z : t.values) positive = positive && z.real() > 0;
    }
    static const std::vector<std::string> steps{
        "less", "less_equal", "greater", "equal", "not_equal",  "greater_equal", "and",
        "or",   "not",        "select",  "div",   "to_float16", "to_bfloat16"};
    std::string join = v.op.join.str();
    if (v.op.index_tensors > 0) join.erase(0, std::string("where ").size());
    if (std::find(steps.begin(), steps.end(), join) != steps.end() && !exact_operands) return false;
    if (std::find(steps.begin(), steps.end(), monoid) != steps.end() && !exact_operands) {
      return false;
    }
    if (monoid.starts_with("arg") && !exact_operands) return false;
    if ((join == "log" || join == "sqrt") && !(exact_operands && positive)) return false;
    return join != "exp" || exact_operands;
  }

  Random m_random;
  Accesses m_accesses;

 public:
  ein::BasicProgram<Backend> program;

 private:
  Builder m_builder;
  int m_inputs = 0;
  int m_statements = 0;
};

}  // namespace property
