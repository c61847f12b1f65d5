// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws programs that end in a scalar, as data, so that one recipe is written into programs of
// several backends; and differentiates the scalar by central differences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/gradient.hpp"
#include "eindecomp/graph/print.hpp"
#include "support/loop_backend.hpp"

namespace random_gradients {

namespace ein = eindecomp;
using ein::Extent;
using eindecomp_tests::LoopRun;
using Values = std::map<std::string, std::vector<double>>;
using Random = std::mt19937_64;

inline Extent draw(Random& random, Extent low, Extent high) {
  // Not std::uniform_int_distribution: seeds mean the same with every standard library.
  return low + static_cast<Extent>(random() % static_cast<std::uint64_t>(high - low + 1));
}
inline bool chance(Random& random, int percent) { return draw(random, 1, 100) <= percent; }
inline double real(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(draw(random, 0, 1 << 30)) / (1 << 30);
}
template <class T>
const T& pick(Random& random, const std::vector<T>& of) {
  return of[static_cast<std::size_t>(draw(random, 0, static_cast<Extent>(of.size()) - 1))];
}

/// ⊗ and ⊕ of index tensors, of doubles and of the values of some labels, and how a statement of
/// them is written.
template <class Backend>
struct Signature {
  using Builder = ein::Builder<Backend>;
  int index_tensors = 0;
  int operands = 1;  ///< besides
  int values = 0;    ///< those that index tensors hold among them
  bool aggregates = false;
  bool positive = false;  ///< defined for positive operands
  std::function<ein::AnySymbol(
      Builder&, std::string_view, const std::vector<typename Builder::Read>&,
      const std::vector<typename Builder::Write>&, const ein::LabelStrings&)>
      write;
};

template <class Monoid, class... Ts, class Backend, class Join>
void add(std::vector<Signature<Backend>>& to, const Join& join, bool positive = false) {
  constexpr int values = (0 + ... + (std::is_same_v<Ts, std::int64_t> ? 1 : 0));
  constexpr int lookups = ein::expr::index_tensors<Join>;
  to.push_back({lookups, static_cast<int>(sizeof...(Ts)) - values - lookups, values,
                !std::is_same_v<Monoid, ein::NoAggregation>, positive,
                [join](auto& builder, std::string_view name, const auto& operands,
                       const auto& output, const ein::LabelStrings& labels) {
                  return builder.template statement<Join, Monoid, Ts...>(name, operands, output,
                                                                         labels, join, Monoid{});
                }});
}

/// Those that a program of any backend takes few kernels for.
template <class Backend>
std::vector<Signature<Backend>> few_signatures() {
  using None = ein::NoAggregation;
  std::vector<Signature<Backend>> all;
  add<ein::Sum, double, double>(all, ein::Mul{});
  add<None, double, double>(all, ein::Mul{});
  add<None, double, double>(all, ein::Add{});
  add<ein::Sum, double>(all, ein::Identity{});
  add<None, double>(all, ein::Identity{});
  add<None, double>(all, ein::Tanh{});
  add<ein::Max, double>(all, ein::Identity{});
  add<ein::Prod, double>(all, ein::Identity{});
  add<ein::LogSumExp, double>(all, ein::Identity{});
  // A triangle.
  using ein::expr::node;
  add<None, double, std::int64_t, std::int64_t>(
      all, node(ein::Select{}, node(ein::LessEqual{}, ein::Arg<2>{}, ein::Arg<1>{}),
                node(ein::Square{}, ein::Arg<0>{}), ein::Arg<0>{}));
  return all;
}

/// An index of an operand: of the labels of some names.
struct Index {
  std::vector<std::pair<std::string, Extent>> terms;
  Extent offset = 0;
  Extent divisor = 1;
  ein::Boundary boundary = ein::Boundary::ignored;
};
struct Read {
  std::string tensor;
  std::vector<Index> indices;
};
struct Statement {
  int signature = 0;
  std::string name;
  std::vector<Read> reads;
  std::vector<std::string> output;
  std::vector<std::string> values;
  std::map<std::string, Extent> extents;
};
struct Input {
  std::string name;
  std::vector<Extent> bound;
  bool indices = false;  ///< an index tensor
};
struct Recipe {
  std::vector<Input> inputs;
  std::vector<Statement> statements;
  std::string loss;
};

/// A recipe as a program.
template <class Program>
void write_input(Program& program, const Input& input) {
  ein::Builder<typename Program::Backend> builder(program);
  if (input.indices) {
    (void)builder.template input<std::int32_t>(input.name, input.bound);
  } else {
    (void)builder.template input<double>(input.name, input.bound);
  }
}
template <class Program>
void write_statement(Program& program,
                     const std::vector<Signature<typename Program::Backend>>& signatures,
                     const Statement& statement) {
  using Builder = ein::Builder<typename Program::Backend>;
  Builder builder(program);
  std::vector<typename Builder::Read> reads;
  for (const Read& read : statement.reads) {
    typename Builder::Read& to = reads.emplace_back(typename Builder::Read{
        ein::AnySymbol(program.graph(), program.graph().find(read.tensor)), {}});
    const bool plain =
        std::all_of(read.indices.begin(), read.indices.end(), [](const Index& index) {
          return index.terms.size() == 1 && index.terms[0].second == 1 && index.offset == 0 &&
                 index.divisor == 1 && index.boundary == ein::Boundary::ignored;
        });
    for (const Index& index : read.indices) {
      if (plain) {
        to.labels.push_back(index.terms[0].first);
        continue;
      }
      ein::IndexSpec& spec = to.indices.emplace_back();
      for (const auto& [label, coefficient] : index.terms) {
        spec.terms.push_back({label, coefficient, statement.extents.at(label)});
      }
      spec.offset = index.offset;
      spec.divisor = index.divisor;
      spec.boundary = index.boundary;
    }
  }
  std::vector<typename Builder::Write> output;
  for (const std::string& label : statement.output) {
    output.push_back({label, statement.extents.at(label)});
  }
  (void)signatures.at(static_cast<std::size_t>(statement.signature))
      .write(builder, statement.name, reads, output, statement.values);
}
template <class Program>
void write(Program& program, const std::vector<Signature<typename Program::Backend>>& signatures,
           const Recipe& recipe) {
  for (const Input& input : recipe.inputs) write_input(program, input);
  for (const Statement& statement : recipe.statements) {
    write_statement(program, signatures, statement);
  }
}

/// Calls `visit` with the tensor of a name as a typed symbol.
template <class Program, class Visit>
void with_symbol(Program& program, ein::VertexId v, const Visit& visit) {
  using Backend = typename Program::Backend;
  switch (program.graph()[v].rank()) {
    case 0:
      return visit(ein::Symbol<double, 0, Backend>(program.state(), v));
    case 1:
      return visit(ein::Symbol<double, 1, Backend>(program.state(), v));
    case 2:
      return visit(ein::Symbol<double, 2, Backend>(program.state(), v));
    default:
      return visit(ein::Symbol<double, 3, Backend>(program.state(), v));
  }
}

/// Makes checkpoints of a third of the statements' tensors, which the seed chooses, but for every
/// third seed.
template <class Program>
void add_checkpoints(Program& program, std::uint64_t seed) {
  Random random(seed);
  for (ein::VertexId v = 0; seed % 3 != 0 && v < program.graph().size(); ++v) {
    if (program.graph()[v].is_input() || !chance(random, 33)) continue;
    with_symbol(program, v, [](const auto& tensor) { (void)ein::checkpoint(tensor); });
  }
}

/// Draws a recipe and values of its inputs. `Loops` is a program of a LoopBackend.
template <class Loops>
class Drawing {
  using Signatures = std::vector<Signature<typename Loops::Backend>>;

 public:
  Drawing(std::uint64_t seed, const Signatures& signatures)
      : m_random(seed), m_signatures(&signatures) {
    const Extent statements = draw(m_random, 1, 4);
    for (Extent s = 0; s < statements; ++s) {
      while (!try_statement(
          static_cast<int>(draw(m_random, 0, static_cast<Extent>(signatures.size()) - 1)))) {
      }
    }
    sum_up();
  }

  Recipe recipe;
  Values values;

 private:
  static constexpr Extent most_points = 240;
  /// Where few_signatures() has what a loss is summed up by.
  static constexpr int product_sum = 0;
  static constexpr int add_two = 2;
  static constexpr int plain_sum = 3;

  [[nodiscard]] const std::vector<Extent>& bound_of(const std::string& tensor) const {
    return m_bounds.at(tensor);
  }

  std::string fresh_label(Statement& s, Extent extent) {
    const std::string label(1, static_cast<char>('a' + s.extents.size()));
    s.extents[label] = extent;
    return label;
  }
  std::string label_of(Statement& s, Extent extent) {
    std::vector<std::string> fitting;
    for (const auto& [label, its] : s.extents) {
      if (its == extent) fitting.push_back(label);
    }
    if (!fitting.empty() && chance(m_random, 60)) return pick(m_random, fitting);
    return fresh_label(s, extent);
  }
  std::string any_label(Statement& s) {
    if (!s.extents.empty() && chance(m_random, 50)) {
      auto at = s.extents.begin();
      std::advance(at, draw(m_random, 0, static_cast<Extent>(s.extents.size()) - 1));
      return at->first;
    }
    return fresh_label(s, draw(m_random, 1, 4));
  }
  Index draw_index(Statement& s, Extent extent, bool positive) {
    if (chance(m_random, 75)) return {{{label_of(s, extent), 1}}};
    Index index;
    const Extent labels = draw(m_random, 0, 2);
    for (Extent l = 0; l < labels; ++l) {
      const std::string label = any_label(s);
      if (l > 0 && index.terms[0].first == label) continue;
      static const std::vector<Extent> coefficients{1, 1, 1, -1, 2, -2, 3};
      index.terms.emplace_back(label, pick(m_random, coefficients));
    }
    index.offset = draw(m_random, index.terms.empty() ? 0 : -2, extent - 1);
    if (!index.terms.empty() && !positive && chance(m_random, 20))
      index.divisor = draw(m_random, 2, 3);
    static const std::vector<ein::Boundary> boundaries{
        ein::Boundary::ignored, ein::Boundary::zero, ein::Boundary::periodic, ein::Boundary::clamp,
        ein::Boundary::reflect};
    index.boundary = index.divisor > 1 ? ein::Boundary::zero : pick(m_random, boundaries);
    // What is defined for positive elements reads no zeros outside.
    if (positive && index.boundary == ein::Boundary::zero) index.boundary = ein::Boundary::ignored;
    return index;
  }

  Read draw_read(Statement& s, Recipe& to, Values& values, bool strictly) {
    const bool positive = strictly || chance(m_random, 40);
    std::vector<std::string> there;
    for (const auto& [name, bound] : m_bounds) there.push_back(name);
    Read read;
    if (!there.empty() && chance(m_random, 65)) {
      read.tensor = pick(m_random, there);
      for (const Extent extent : bound_of(read.tensor)) {
        read.indices.push_back(draw_index(s, extent, strictly));
      }
      return read;
    }
    Input input{"X" + std::to_string(m_inputs++), {}};
    const Extent rank = draw(m_random, 0, 3);
    for (Extent k = 0; k < rank; ++k) {
      input.bound.push_back(draw(m_random, 1, 4));
      read.indices.push_back(draw_index(s, input.bound.back(), strictly));
    }
    add_input(input, to, values, positive);
    read.tensor = input.name;
    return read;
  }
  void add_input(const Input& input, Recipe& to, Values& values, bool positive) {
    Extent size = 1;
    for (const Extent extent : input.bound) size *= extent;
    const bool zeros = !positive && chance(m_random, 10);
    std::vector<double> numbers;
    for (Extent i = 0; i < size; ++i) {
      const double x = positive ? real(m_random, 0.4, 1.6) : real(m_random, -1.4, 1.4);
      numbers.push_back(zeros && chance(m_random, 30) ? 0 : x);
    }
    values[input.name] = std::move(numbers);
    to.inputs.push_back(input);
  }

  /// Labels that index tensors hold the values of, and the tensors. \returns those that no operand
  /// has, which the output must have
  std::vector<std::string> draw_lookups(int index_tensors, Statement& s, Recipe& to,
                                        Values& values) {
    std::vector<std::string> bare;
    for (int k = 0; k < index_tensors; ++k) {
      std::vector<std::string> free;
      for (const auto& [label, extent] : s.extents) {
        if (!contains(s.values, label)) free.push_back(label);
      }
      if (!free.empty() && chance(m_random, 60)) {
        s.values.push_back(pick(m_random, free));
      } else {
        s.values.push_back(fresh_label(s, draw(m_random, 1, 4)));
        bare.push_back(s.values.back());
      }
    }
    for (int k = 0; k < index_tensors; ++k) {
      Input input{"I" + std::to_string(m_inputs++), {}, true};
      Read read{input.name, {}};
      const Extent rank = draw(m_random, 0, 2);
      for (Extent d = 0; d < rank; ++d) {
        std::string label = any_label(s);
        while (contains(s.values, label)) label = fresh_label(s, draw(m_random, 1, 4));
        input.bound.push_back(s.extents.at(label));
        read.indices.push_back({{{label, 1}}});
      }
      Extent size = 1;
      for (const Extent extent : input.bound) size *= extent;
      std::vector<double>& numbers = values[input.name];
      numbers.clear();
      const Extent extent = s.extents.at(s.values[static_cast<std::size_t>(k)]);
      for (Extent i = 0; i < size; ++i) {
        numbers.push_back(static_cast<double>(draw(m_random, 0, extent - 1)));
      }
      to.inputs.push_back(input);
      s.reads.insert(s.reads.begin() + k, read);
    }
    return bare;
  }
  [[nodiscard]] static bool contains(const std::vector<std::string>& names,
                                     const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  bool try_statement(int number) {
    const auto& signature = (*m_signatures)[static_cast<std::size_t>(number)];
    Recipe to = recipe;
    Values numbers = values;
    const int inputs = m_inputs;
    Statement s;
    s.signature = number;
    s.name = "S" + std::to_string(to.statements.size());
    for (int o = 0; o < signature.operands; ++o) {
      s.reads.push_back(draw_read(s, to, numbers, signature.positive));
    }
    const auto bare = draw_lookups(signature.index_tensors, s, to, numbers);
    for (int k = signature.index_tensors; k < signature.values; ++k) {
      s.values.push_back(any_label(s));
    }
    std::vector<std::string> labels;
    Extent points = 1;
    for (const auto& [label, extent] : s.extents) {
      labels.push_back(label);
      points *= extent;
    }
    for (std::size_t l = labels.size(); l > 1; --l) {
      std::swap(labels[l - 1],
                labels[static_cast<std::size_t>(draw(m_random, 0, static_cast<Extent>(l) - 1))]);
    }
    if (signature.aggregates) {
      if (labels.empty()) return give_up(inputs);
      labels.resize(static_cast<std::size_t>(
          draw(m_random, 0, std::min<Extent>(static_cast<Extent>(labels.size()) - 1, 3))));
    }
    for (const std::string& label : bare) {
      if (!contains(labels, label)) labels.push_back(label);
    }
    if (labels.size() < 3 && chance(m_random, 15)) {
      labels.insert(labels.begin(), fresh_label(s, draw(m_random, 1, 3)));
      points *= s.extents.at(labels.front());
    }
    if (labels.size() > 3 || points > most_points) return give_up(inputs);
    s.output = labels;
    to.statements.push_back(s);

    Loops program;
    try {
      write(program, *m_signatures, to);
    } catch (const ein::Error&) {
      return give_up(inputs);  // an index leaves its tensor, or a label gives no extent
    }
    if (program.graph().find(s.name) < 0) return give_up(inputs);  // it is one that there is
    const LoopRun run(program, numbers);
    for (const Read& read : s.reads) {
      if (!signature.positive) continue;
      for (const double x : run.of_vertex(program.graph().find(read.tensor))) {
        if (!(x > 0.2)) return give_up(inputs);
      }
    }
    const ein::VertexId v = program.graph().find(s.name);
    for (const double x : run.of_vertex(v)) {
      if (!(std::abs(x) < 30)) return give_up(inputs);
    }
    recipe = std::move(to);
    values = std::move(numbers);
    for (const Input& input : recipe.inputs) {
      if (!input.indices) m_bounds[input.name] = input.bound;
    }
    m_bounds[s.name] = program.graph()[v].bound;
    return true;
  }
  bool give_up(int inputs) {
    m_inputs = inputs;
    return false;
  }

  /// A sum of what no statement reads, with weights or without.
  void sum_up() {
    std::vector<std::string> ends;
    for (const Statement& s : recipe.statements) {
      const bool read = std::any_of(
          recipe.statements.begin(), recipe.statements.end(), [&](const Statement& other) {
            return std::any_of(other.reads.begin(), other.reads.end(),
                               [&](const Read& r) { return r.tensor == s.name; });
          });
      if (!read || chance(m_random, 20)) ends.push_back(s.name);
    }
    for (std::size_t e = 0; e < ends.size(); ++e) {
      const std::vector<Extent> bound = bound_of(ends[e]);
      Statement s;
      s.name = "T" + std::to_string(e);
      Read read{ends[e], {}};
      for (const Extent extent : bound) read.indices.push_back({{{fresh_label(s, extent), 1}}});
      s.reads.push_back(read);
      s.signature = bound.empty() ? add_two : plain_sum;
      if (chance(m_random, 70)) {
        const Input weights{"W" + std::to_string(e), bound};
        add_input(weights, recipe, values, false);
        m_bounds[weights.name] = bound;
        s.reads.push_back({weights.name, read.indices});
        if (!bound.empty()) s.signature = product_sum;
      } else if (bound.empty()) {
        s.reads.push_back(read);
      }
      recipe.statements.push_back(s);
      if (e == 0) {
        recipe.loss = s.name;
        continue;
      }
      Statement sum;
      sum.signature = add_two;
      sum.name = "L" + std::to_string(e);
      sum.reads = {{recipe.loss, {}}, {s.name, {}}};
      recipe.statements.push_back(sum);
      recipe.loss = sum.name;
    }
  }

  Random m_random;
  const Signatures* m_signatures;
  std::map<std::string, std::vector<Extent>> m_bounds;
  int m_inputs = 0;
};

/// A central difference, and how far it may be from the derivative.
struct Difference {
  double slope;
  double tolerance;
};
/// Of a function at 0; nothing where it has a kink there or near.
template <class F>
std::optional<Difference> central_difference(const F& f, double step) {
  const double high = f(step);
  const double low = f(-step);
  const double half_high = f(step / 2);
  const double half_low = f(-step / 2);
  const double here = f(0);
  const double whole = (high - low) / (2 * step);
  const double half = (half_high - half_low) / step;
  const double bend = std::abs(high - 2 * here + low) / step;
  const double half_bend = 2 * std::abs(half_high - 2 * here + half_low) / step;
  const double scale = std::max({1.0, std::abs(half), std::abs(here)});
  const double apart = std::abs(whole - half);
  if (!(apart <= 1e-5 * scale)) return std::nullopt;
  // What is smooth bends half as much over half the step.
  if (half_bend > 1e-6 * scale && half_bend > 0.75 * bend) return std::nullopt;
  return Difference{(4 * half - whole) / 3, 1e-6 * scale + 2 * apart};
}

}  // namespace random_gradients
