// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph means, evaluated slowly and obviously: whole tensors, one statement after another,
// every term of every aggregation in a list. Knows an EinGraph's data and the names of operators,
// nothing else of the library.
//
// Numbers are kept as complex<long double>, which holds all 64-bit integers and all floating-point
// types exactly, and are rounded to their kind after every operation.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eindecomp/graph/ein_graph.hpp"

namespace reference {

using eindecomp::EinGraph;
using eindecomp::Extent;
using eindecomp::Vertex;
using eindecomp::VertexId;
using Kind = eindecomp::ElementKind;
using Wide = std::complex<long double>;

/// A number and the type it has in the program.
struct Number {
  Kind kind = Kind::float64;
  Wide value{};
  [[nodiscard]] long double real() const { return value.real(); }
};

[[nodiscard]] inline bool is_integer(Kind kind) {
  return kind == Kind::int32 || kind == Kind::int64;
}
[[nodiscard]] inline bool is_complex(Kind kind) {
  return kind == Kind::complex64 || kind == Kind::complex128;
}

/// The type that numbers of a kind are computed with: those of 16 bits as floats.
[[nodiscard]] inline Kind computed(Kind kind) {
  return kind == Kind::float16 || kind == Kind::bfloat16 ? Kind::float32 : kind;
}

/// The type of an arithmetic expression over both, as C++ has it.
[[nodiscard]] inline Kind promoted(Kind a, Kind b) {
  const auto order = [](Kind kind) {
    const Kind from_low[] = {Kind::int32,   Kind::int64,     Kind::float32,
                             Kind::float64, Kind::complex64, Kind::complex128};
    return std::find(std::begin(from_low), std::end(from_low), kind) - std::begin(from_low);
  };
  if (is_complex(a) != is_complex(b) && (a == Kind::float64 || b == Kind::float64)) {
    return Kind::complex128;
  }
  return order(a) < order(b) ? b : a;
}
/// What exp and its kin return.
[[nodiscard]] inline Kind floating(Kind kind) { return is_integer(kind) ? Kind::float64 : kind; }

/// The largest number below which all whole numbers are numbers of the kind.
[[nodiscard]] inline long double exact_limit(Kind kind) {
  switch (kind) {
    case Kind::float16:   // whole numbers that were rounded
    case Kind::bfloat16:  // are whole
    case Kind::float32:
    case Kind::complex64:
      return 0x1p24L;
    case Kind::int32:
      return 0x1p31L;
    case Kind::int64:
      return 0x1p62L;
    default:
      return 0x1p53L;
  }
}

/// To so many bits of mantissa, to the even number where two are as near; below 2^`least` to
/// multiples of the least number.
[[nodiscard]] inline long double rounded_to_bits(long double value, int bits, int least) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int unit = std::max(std::ilogb(value), least) - bits;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

[[nodiscard]] inline Number rounded(Kind kind, Wide value) {
  switch (kind) {
    case Kind::float16: {
      const long double nearest = rounded_to_bits(value.real(), 10, -14);
      return {kind, std::abs(nearest) < 65536 ? nearest : value.real() * HUGE_VALL};
    }
    case Kind::bfloat16:
      return {kind, rounded_to_bits(value.real(), 7, -126)};
    case Kind::float32:
      return {kind, static_cast<long double>(static_cast<float>(value.real()))};
    case Kind::float64:
      return {kind, static_cast<long double>(static_cast<double>(value.real()))};
    case Kind::complex64:
      return {kind, {static_cast<float>(value.real()), static_cast<float>(value.imag())}};
    case Kind::complex128:
      return {kind, {static_cast<double>(value.real()), static_cast<double>(value.imag())}};
    default:
      return {kind, std::trunc(value.real())};
  }
}
[[nodiscard]] inline Number truth(bool value) { return {Kind::int32, value ? 1.0L : 0.0L}; }

/// A whole tensor, row-major.
struct Tensor {
  Kind kind = Kind::float64;
  std::vector<Extent> bound;
  std::vector<Wide> values;
  /// Every term was a whole number that its type holds, so that no order of evaluation rounds.
  bool exact = true;
  /// The largest magnitude met on the way to the values.
  long double scale = 0;
};

using Operands = std::vector<Number>;
/// A user's own ⊗ and ⊕, by name.
struct UserOperators {
  std::map<std::string, std::function<Number(const Operands&)>, std::less<>> joins;
  std::map<std::string, std::function<Number(const Operands&)>, std::less<>> monoids;
};

/// ⊗ by name.
[[nodiscard]] inline Number apply(std::string_view name, Operands x, const UserOperators& user) {
  if (name == "identity") return x.at(0);
  for (Number& number : x) number.kind = computed(number.kind);
  if (const auto found = user.joins.find(name); found != user.joins.end()) {
    return found->second(x);
  }
  const Kind kind = x.size() == 1 ? x[0].kind : promoted(x[0].kind, x[1].kind);
  const auto fold = [&](auto op) {
    Number result = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) {
      result = rounded(promoted(result.kind, x[k].kind), op(result.value, x[k].value));
    }
    return result;
  };
  if (name == "mul") return fold([](Wide a, Wide b) { return a * b; });
  if (name == "add") return fold([](Wide a, Wide b) { return a + b; });
  if (name == "to_float16") return rounded(Kind::float16, x[0].value);
  if (name == "to_bfloat16") return rounded(Kind::bfloat16, x[0].value);
  if (name == "to_float") return rounded(Kind::float32, x[0].value);
  if (name == "to_double") return rounded(Kind::float64, x[0].value);
  if (name == "negate") return {kind, -x[0].value};
  if (name == "not") return truth(x[0].value == Wide{});
  if (name == "relu") return {kind, std::max(x[0].real(), 0.0L)};
  if (name == "abs") {
    const Kind part = kind == Kind::complex64    ? Kind::float32
                      : kind == Kind::complex128 ? Kind::float64
                                                 : kind;
    return rounded(part, std::abs(x[0].value));
  }
  if (name == "exp") return rounded(floating(kind), std::exp(x[0].value));
  if (name == "sqrt") return rounded(floating(kind), std::sqrt(x[0].value));
  if (name == "tanh") return rounded(floating(kind), std::tanh(x[0].value));
  if (name == "log") {
    return is_complex(kind) ? rounded(kind, std::log(x[0].value))
                            : rounded(floating(kind), std::log(x[0].real()));
  }
  if (name == "sin") return rounded(floating(kind), std::sin(x[0].value));
  if (name == "square") return rounded(kind, x[0].value * x[0].value);
  if (name == "gelu") {
    return rounded(floating(kind), x[0].real() / 2 * std::erfc(-x[0].real() / std::sqrt(2.0L)));
  }
  if (name == "clip") {
    return rounded(kind, std::min(std::max(x[0].real(), x.at(1).real()), x.at(2).real()));
  }
  if (name == "select") {
    return rounded(promoted(x.at(1).kind, x.at(2).kind),
                   x[0].value != Wide{} ? x[1].value : x[2].value);
  }
  if (name == "select_or_zero") return {x.at(1).kind, x[0].value != Wide{} ? x[1].value : Wide{}};
  if (name == "where_equal")
    return {x[0].kind, x.at(1).value == x.at(2).value ? x[0].value : Wide{}};
  if (x.size() == 2) {
    const Wide a = x[0].value;
    const Wide b = x[1].value;
    if (name == "count_equal") return {kind, a == b ? Wide{1} : Wide{}};
    if (name == "sub") return rounded(kind, a - b);
    if (name == "div") return rounded(kind, a / b);
    if (name == "abs_diff") return rounded(kind, std::abs(a.real() - b.real()));
    if (name == "pow") return rounded(kind, std::pow(a, b));
    if (name == "mod") return rounded(kind, a.real() - b.real() * std::floor(a.real() / b.real()));
    if (name == "sq_diff") return rounded(kind, (a - b) * (a - b));
    if (name == "min") return rounded(kind, std::min(a.real(), b.real()));
    if (name == "max") return rounded(kind, std::max(a.real(), b.real()));
    if (name == "less") return truth(a.real() < b.real());
    if (name == "less_equal") return truth(a.real() <= b.real());
    if (name == "greater") return truth(a.real() > b.real());
    if (name == "greater_equal") return truth(a.real() >= b.real());
    if (name == "equal") return truth(a == b);
    if (name == "not_equal") return truth(a != b);
    if (name == "and") return truth(a != Wide{} && b != Wide{});
    if (name == "or") return truth(a != Wide{} || b != Wide{});
  }
  throw std::logic_error("the reference has no operator " + std::string(name) + " of " +
                         std::to_string(x.size()) + " operands");
}

/// ⊗ as a graph describes it: a name, or a composition such as `exp(sub(#0,#1))`.
class Formula {
 public:
  Formula(std::string_view text, const Operands& operands, const UserOperators& user)
      : m_text(text), m_operands(operands), m_user(user) {}

  [[nodiscard]] Number value() {
    if (m_operands.empty()) return parse();
    if (m_text.find('#') == std::string_view::npos) return apply(m_text, m_operands, m_user);
    const Number result = parse();
    if (m_at != m_text.size()) throw std::logic_error("cannot read " + std::string(m_text));
    return result;
  }

 private:
  [[nodiscard]] Number parse() {
    const std::size_t end = std::min(m_text.find_first_of("(,)", m_at), m_text.size());
    const std::string_view word = m_text.substr(m_at, end - m_at);
    m_at = end;
    if (word.starts_with('#')) return m_operands.at(std::stoul(std::string(word.substr(1))));
    if (m_at == m_text.size() || m_text[m_at] != '(') {
      const std::string digits(word);
      char* rest = nullptr;
      const long double number = std::strtold(digits.c_str(), &rest);
      if (*rest != '\0') throw std::logic_error("cannot read " + digits);
      // A scalar promotes like an operand of the statement's own type.
      Kind kind = m_operands.empty() ? Kind::int32 : m_operands[0].kind;
      if (is_integer(kind) && number != std::trunc(number)) kind = Kind::float64;
      return {kind, number};
    }
    Operands arguments;
    while (m_text[m_at] != ')') {
      ++m_at;
      arguments.push_back(parse());
    }
    ++m_at;
    return apply(word, arguments, m_user);
  }

  std::string_view m_text;
  const Operands& m_operands;
  const UserOperators& m_user;
  std::size_t m_at = 0;
};

/// One term of an aggregation and its place along the first aggregated label.
struct Term {
  Number number;
  Extent index = 0;
};

/// ⊕ by name over all terms.
[[nodiscard]] inline Number aggregate(std::string_view name, const std::vector<Term>& terms,
                                      const UserOperators& user) {
  const Kind kind = computed(terms.at(0).number.kind);
  if (const auto found = user.monoids.find(name); found != user.monoids.end()) {
    Operands all;
    for (const Term& term : terms) all.push_back({kind, term.number.value});
    return found->second(all);
  }
  if (name.empty()) {
    if (terms.size() != 1) throw std::logic_error("several terms and no aggregation");
    return terms[0].number;
  }
  if (name == "argmin" || name == "argmax") {
    const Term* best = &terms[0];
    for (const Term& term : terms) {
      const bool better = name == "argmin" ? term.number.real() < best->number.real()
                                           : best->number.real() < term.number.real();
      if (better) best = &term;
    }
    return {Kind::int64, static_cast<long double>(best->index)};
  }
  if (name == "log_sum_exp") {
    long double sum = 0;
    for (const Term& term : terms) sum += std::exp(term.number.real());
    return rounded(kind, std::log(sum));
  }
  if (name == "and" || name == "or") {
    bool all = true;
    bool any = false;
    for (const Term& term : terms) {
      all = all && term.number.value != Wide{};
      any = any || term.number.value != Wide{};
    }
    return truth(name == "and" ? all : any);
  }
  Wide result = terms[0].number.value;
  for (std::size_t t = 1; t < terms.size(); ++t) {
    const Wide term = terms[t].number.value;
    if (name == "sum" || name == "compensated_sum") {
      result += term;
    } else if (name == "prod") {
      result *= term;
    } else if (name == "min") {
      result = std::min(result.real(), term.real());
    } else if (name == "max") {
      result = std::max(result.real(), term.real());
    } else {
      throw std::logic_error("the reference has no aggregation " + std::string(name));
    }
  }
  return rounded(kind, result);
}

/// What ⊕ gives of no terms of a kind.
[[nodiscard]] inline Number neutral(std::string_view name, Kind kind, const UserOperators& user) {
  if (const auto found = user.monoids.find(name); found != user.monoids.end()) {
    return found->second({});
  }
  kind = computed(kind);
  if (name == "and" || name == "or") return truth(name == "and");
  if (name == "sum" || name == "compensated_sum") return {kind, 0};
  if (name == "prod") return {kind, 1};
  long double most = std::numeric_limits<long double>::infinity();
  long double least = -most;
  if (kind == Kind::int32) {
    most = static_cast<long double>(std::numeric_limits<std::int32_t>::max());
    least = static_cast<long double>(std::numeric_limits<std::int32_t>::min());
  } else if (kind == Kind::int64) {
    most = static_cast<long double>(std::numeric_limits<std::int64_t>::max());
    least = static_cast<long double>(std::numeric_limits<std::int64_t>::min());
  }
  if (name == "min") return {kind, most};
  if (name == "max" || name == "log_sum_exp") return {kind, least};
  throw std::logic_error("the reference knows no result of no terms of " + std::string(name));
}

namespace detail {

inline std::size_t at(Extent i) { return static_cast<std::size_t>(i); }

/// Row-major place of the element that some labels point to.
inline std::size_t place(const std::vector<int>& labels, const std::vector<Extent>& bound,
                         const std::vector<Extent>& index) {
  Extent sum = 0;
  for (std::size_t k = 0; k < labels.size(); ++k) sum = sum * bound[k] + index[at(labels[k])];
  return at(sum);
}

/// The value that an operand has where the labels have these values.
inline Wide read(const eindecomp::Operand& o, const Tensor& t, const std::vector<Extent>& index) {
  if (!o.is_computed()) return t.values.at(place(o.labels, t.bound, index));
  Extent sum = 0;
  for (std::size_t k = 0; k < o.indices.size(); ++k) {
    const eindecomp::OperandIndex& of = o.indices[k];
    const Extent bound = t.bound[k];
    Extent i = of.offset;
    for (const auto& term : of.terms) i += term.coefficient * index[at(term.label)];
    bool inside = i % of.divisor == 0;
    i /= of.divisor;
    if (of.boundary == eindecomp::Boundary::periodic) i = ((i % bound) + bound) % bound;
    if (of.boundary == eindecomp::Boundary::clamp) i = std::clamp<Extent>(i, 0, bound - 1);
    while (of.boundary == eindecomp::Boundary::reflect && (i < 0 || i >= bound)) {
      i = bound == 1 ? 0 : i < 0 ? -i : 2 * (bound - 1) - i;
    }
    inside = inside && i >= 0 && i < bound;
    if (!inside) {
      using eindecomp::OutsideValue;
      if (o.outside == OutsideValue::zero) return 0;
      if (o.outside == OutsideValue::one) return 1;
      const long double infinite = std::numeric_limits<long double>::infinity();
      return o.outside == OutsideValue::lowest ? -infinite : infinite;
    }
    sum = sum * bound + i;
  }
  return t.values.at(at(sum));
}

inline bool next(std::vector<Extent>& index, const std::vector<Extent>& bound) {
  for (std::size_t k = bound.size(); k-- > 0;) {
    if (++index[k] < bound[k]) return true;
    index[k] = 0;
  }
  return false;
}

/// Whether a join of whole numbers gives whole numbers without rounding.
inline bool keeps_whole(std::string_view join, bool of_complex) {
  for (const char* name :
       {"div", "exp", "log", "sqrt", "tanh", "sin", "gelu", "pow", "mod", "scaled_mul", "."}) {
    if (join.find(name) != std::string_view::npos) return false;
  }
  return !of_complex || join.find("abs") == std::string_view::npos;
}

/// The scalar of a scaled_mul from the bits that the graph keeps of it. Whole numbers that the
/// tests use are small, so bits alone tell them from floating-point numbers.
inline Number factor_from(std::uint64_t bits) {
  const auto whole = static_cast<std::int64_t>(bits);
  if (whole > -0x100000 && whole < 0x100000) return {Kind::int32, static_cast<long double>(whole)};
  if (bits >> 32 != 0) return {Kind::float64, std::bit_cast<double>(bits)};
  const auto half = static_cast<std::uint32_t>(bits);
  if (half > 0xFFF00000U) {
    return {Kind::int32, static_cast<long double>(static_cast<std::int32_t>(half))};
  }
  return {Kind::float32, std::bit_cast<float>(half)};
}

inline long double magnitude(Wide z) { return std::max(std::abs(z.real()), std::abs(z.imag())); }

/// Whether index tensors, the first operands, hold the values of their labels.
inline bool holds(const Vertex& v, const Operands& operands, const std::vector<Extent>& index) {
  bool all = true;
  for (std::size_t k = 0; k < at(v.op.index_tensors); ++k) {
    const std::size_t label = at(v.values.at(k));
    const auto value = static_cast<Extent>(operands.at(k).real());
    if (value < 0 || value >= v.extents[label]) throw std::out_of_range("an index tensor");
    all = all && value == index[label];
  }
  return all;
}

}  // namespace detail

/// One statement's result from its operands'.
/// \throws std::out_of_range if an element of an index tensor is no value of its label
[[nodiscard]] inline Tensor evaluate_statement(const Vertex& v, const std::vector<Tensor>& tensors,
                                               const UserOperators& user) {
  Extent size = 1;
  for (Extent b : v.bound) size *= b;
  std::vector<std::vector<Term>> terms(detail::at(size));
  Tensor result;
  result.bound = v.bound;
  const auto lookups = static_cast<std::ptrdiff_t>(v.op.index_tensors);
  std::string_view join = v.op.join.view();
  if (lookups > 0) join.remove_prefix(std::string_view("where ").size());
  const Kind last = tensors.at(detail::at(v.operands.back().vertex)).kind;
  result.exact = detail::keeps_whole(join, is_complex(last)) && v.op.aggregate != "log_sum_exp";
  std::vector<Extent> index(v.extents.size(), 0);
  Kind joined = Kind::float64;
  do {
    Operands operands;
    bool counts = true;  // the least and the greatest number are what ⊕ ignores
    for (const eindecomp::Operand& o : v.operands) {
      const Tensor& t = tensors.at(detail::at(o.vertex));
      operands.push_back({t.kind, detail::read(o, t, index)});
      counts = counts && std::isfinite(operands.back().real());
      result.exact = result.exact && t.exact;
      if (counts) result.scale = std::max(result.scale, detail::magnitude(operands.back().value));
    }
    if (!counts) continue;
    const bool holds = detail::holds(v, operands, index);
    operands.erase(operands.begin(), operands.begin() + lookups);
    for (std::size_t k = detail::at(v.op.index_tensors); k < v.values.size(); ++k) {
      operands.push_back({Kind::int64, static_cast<long double>(index[detail::at(v.values[k])])});
    }
    Number term;
    if (join == "scaled_mul") {
      operands.insert(operands.begin(), detail::factor_from(v.op.state.at(0)));
      term = apply("mul", operands, user);
    } else {
      term = Formula(join, operands, user).value();
    }
    joined = term.kind;
    if (!holds) continue;
    result.scale = std::max(result.scale, detail::magnitude(term.value));
    const Extent place = v.aggregated.empty() ? 0 : index[detail::at(v.aggregated[0])];
    terms[detail::place(v.output, v.bound, index)].push_back({term, place});
  } while (detail::next(index, v.extents));

  result.kind = joined;
  for (std::vector<Term>& list : terms) {
    if (list.empty() && lookups > 0) {
      const Number value = neutral(v.op.aggregate.view(), joined, user);
      result.kind = value.kind;
      result.values.push_back(value.value);
      continue;
    }
    if (list.empty()) list.push_back({{joined, std::numeric_limits<long double>::infinity()}, 0});
    const Number value = aggregate(v.op.aggregate.view(), list, user);
    result.kind = value.kind;
    result.values.push_back(value.value);
    long double sum = 0;
    long double product = 1;
    for (const Term& term : list) {
      sum += 2 * detail::magnitude(term.number.value);
      product *= std::max(1.0L, 2 * detail::magnitude(term.number.value));
    }
    if (v.op.aggregate == "sum") result.scale = std::max(result.scale, sum);
    if (v.op.aggregate == "prod") result.scale = std::max(result.scale, product);
    result.scale = std::max(result.scale, detail::magnitude(value.value));
  }
  result.exact = result.exact && result.scale < exact_limit(joined);
  return result;
}

/// All tensors of a graph. `inputs` has an entry per vertex, used for inputs only.
[[nodiscard]] inline std::vector<Tensor> evaluate(const EinGraph& graph,
                                                  const std::vector<Tensor>& inputs,
                                                  const UserOperators& user = {}) {
  std::vector<Tensor> tensors;
  for (VertexId v = 0; v < graph.size(); ++v) {
    if (graph[v].is_input()) {
      tensors.push_back(inputs.at(detail::at(v)));
    } else {
      tensors.push_back(evaluate_statement(graph[v], tensors, user));
    }
  }
  return tensors;
}

/// How far a value may be from the reference's: nothing where no order of evaluation rounds.
[[nodiscard]] inline long double tolerance(const Tensor& tensor, long double scale) {
  if (tensor.exact) return 0;
  if (computed(tensor.kind) != tensor.kind) return 0x1p-7L * std::max(1.0L, scale);
  const bool single = tensor.kind == Kind::float32 || tensor.kind == Kind::complex64;
  const long double epsilon = single ? 0x1p-23L : 0x1p-52L;
  return 1000 * epsilon * std::max(1.0L, scale);
}

/// Whether a value is further from the reference's, which may be infinite.
[[nodiscard]] inline bool differs(Wide got, Wide expected, long double tolerance) {
  return got != expected && !(std::abs(got - expected) <= tolerance);
}

}  // namespace reference
