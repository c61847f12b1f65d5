// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of random programs, derivatives along tangents and gradients of gradients, against
// central differences of the programs evaluated in plain loops.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gradient/random_gradients.hpp"
#include "support/cases.hpp"

using namespace random_gradients;

namespace {

using Once = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend>>;
using Twice = ein::BasicProgram<ein::Differentiable<eindecomp_tests::LoopBackend, 2>>;

/// ab + a²b, with its derivatives.
struct Blend {
  static constexpr std::string_view name = "blend";
  double operator()(double a, double b) const { return a * b + a * a * b; }
  template <int Operand>
  [[nodiscard]] double derivative(double a, double b) const {
    return Operand == 0 ? b + 2 * a * b : a + a * a;
  }
};
/// √Σx².
struct RootOfSquares {
  static constexpr std::string_view name = "root_of_squares";
  static constexpr bool commutative_monoid = true;
  static double identity() { return 0; }
  double operator()(double a, double b) const { return std::hypot(a, b); }
  [[nodiscard]] double derivative(double x, double length) const { return x / length; }
};

/// Gathers and scatters.
template <class Backend>
void add_lookups(std::vector<Signature<Backend>>& to) {
  using Label = std::int64_t;
  using Index = std::int32_t;
  using ein::expr::Where;
  add<ein::Sum, Index, double, Label>(to, Where<1, ein::Identity, ein::Sum>{});
  add<ein::Sum, Index, Index, double, Label, Label>(to, Where<2, ein::Identity, ein::Sum>{});
  add<ein::Sum, Index, double, double, Label>(to, Where<1, ein::Mul, ein::Sum>{});
}

template <class Backend>
std::vector<Signature<Backend>> all_signatures() {
  using None = ein::NoAggregation;
  using ein::expr::node;
  std::vector<Signature<Backend>> all = few_signatures<Backend>();
  add<None, double, double>(all, ein::Div{}, true);
  add<None, double, double>(all, ein::Max{});
  add<None, double, double>(all, Blend{});
  add<None, double>(all, ein::Exp{});
  add<None, double>(all, ein::ScaledMul<double>{-0.75});
  add<ein::Sum, double, double>(all, ein::SqDiff{});
  add<ein::Sum, double, double>(all, ein::Add{});
  add<ein::Sum, double, double, double>(all, ein::Mul{});
  add<ein::Sum, double>(all, ein::Relu{});
  add<ein::Min, double, double>(all, ein::Add{});
  add<ein::Max, double, double>(all, ein::Mul{});
  add<ein::Min, double>(all, node(ein::Exp{}, node(ein::Sin{}, ein::Arg<0>{})));
  add<ein::Prod, double, double>(all, ein::Add{});
  add<ein::LogSumExp, double, double>(all, ein::Mul{});
  add<RootOfSquares, double>(all, ein::Identity{}, true);
  add<None, double, double, double>(
      all, node(ein::Select{}, node(ein::Less{}, ein::Arg<0>{}, ein::Arg<1>{}),
                node(ein::Mul{}, ein::Arg<1>{}, ein::Arg<2>{}), ein::Arg<0>{}));
  add_lookups(all);
  using Label = std::int64_t;
  using Index = std::int32_t;
  using ein::expr::Where;
  add<ein::Sum, Index, double, double, Label>(all, Where<1, ein::SqDiff, ein::Sum>{});
  add<ein::Sum, Index, double, double, double, Label>(all, Where<1, ein::Mul, ein::Sum>{});
  const auto exponential = node(ein::Exp{}, node(ein::Mul{}, ein::Arg<0>{}, ein::Arg<1>{}));
  using Exponential = std::remove_const_t<decltype(exponential)>;
  add<ein::Sum, Index, double, double, Label>(all,
                                              Where<1, Exponential, ein::Sum>{exponential, {}});
  // Values of labels.
  add<ein::Sum, double, Label>(all, ein::Mul{});
  add<ein::Max, double, double, Label>(
      all, node(ein::Add{}, node(ein::Mul{}, ein::Arg<0>{}, ein::Arg<2>{}), ein::Arg<1>{}));
  return all;
}

std::string described(std::uint64_t seed, const ein::EinGraph& graph, const Values& values) {
  std::string text = "seed " + std::to_string(seed) + "\n" + ein::to_text(graph).str();
  for (const auto& [name, numbers] : values) {
    text += name + ":";
    for (const double x : numbers) text += " " + std::to_string(x);
    text += "\n";
  }
  return text;
}

/// A random step of each element, or of one.
std::vector<double> direction(Random& random, std::size_t size, bool of_one) {
  std::vector<double> step(size, 0);
  const auto only = static_cast<std::size_t>(draw(random, 0, static_cast<Extent>(size) - 1));
  for (std::size_t n = 0; n < size; ++n) {
    if (!of_one || n == only) step[n] = of_one ? 1 : real(random, -1, 1);
  }
  return step;
}
double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}
/// The gradients by each tensor asked for; nothing where a gradient is 0 everywhere.
template <class Program, class Loss>
std::optional<ein::VertexId> gradient_by(Program& program, const Loss& loss, ein::VertexId by) {
  std::optional<ein::VertexId> found;
  with_symbol(program, by, [&](const auto& tensor) {
    try {
      found = ein::gradient(loss, tensor).vertex();
    } catch (const ein::Error& error) {
      if (std::string(error.what()).find("is 0 everywhere") == std::string::npos) throw;
    }
  });
  return found;
}

/// The derivative of the loss along the tangents V0 of one tensor and V1 of another.
template <class Program, class Loss>
ein::VertexId derivative_along(Program& program, const Loss& loss, ein::VertexId one,
                               std::optional<ein::VertexId> other) {
  ein::VertexId found = -1;
  const auto tangent_of = [&]<class S>(const S& tensor, const char* name) {
    const Input input{name, program.graph()[tensor.vertex()].bound};
    write_input(program, input);
    return S(program.state(), program.graph().find(name));
  };
  with_symbol(program, one, [&](const auto& x) {
    const auto v = tangent_of(x, "V0");
    if (!other.has_value()) {
      found = ein::jvp(loss, x, v).vertex();
      return;
    }
    with_symbol(program, *other, [&](const auto& y) {
      found = ein::jvp(loss, x, v, y, tangent_of(y, "V1")).vertex();
    });
  });
  return found;
}

struct Tally {
  int checked = 0;
  int along = 0;  ///< along tangents
  int kinks = 0;
  int refused = 0;
};

/// Whether a program may be refused with these words: a derivative has its limits too.
bool is_refusal(const std::string& what) {
  return what.find("computed from more than 4 labels") != std::string::npos ||
         what.find("(the limit is 8") != std::string::npos;
}

/// A random program, and one that its gradients are written to.
template <class Program>
struct Written {
  Drawing<Program> drawn;
  Program forward, program;
  std::string text;  ///< of the forward program, for a failure
  ein::VertexId at;  ///< the loss

  template <class Signatures>
  Written(std::uint64_t seed, const Signatures& signatures) : drawn(seed, signatures) {
    write(forward, signatures, drawn.recipe);
    write(program, signatures, drawn.recipe);
    add_checkpoints(program, seed);
    text = described(seed, forward.graph(), drawn.values);
    at = program.graph().find(drawn.recipe.loss);
  }
  ein::Symbol<double, 0, typename Program::Backend> loss() { return {program.state(), at}; }
};

void run_once(std::uint64_t seed, Tally& tally) {
  static const auto signatures = all_signatures<Once::Backend>();
  Written<Once> written(seed, signatures);
  const auto& drawn = written.drawn;
  const auto& forward = written.forward;
  auto& program = written.program;
  INFO(written.text);
  std::map<std::string, std::optional<ein::VertexId>> gradients;
  for (const Input& input : drawn.recipe.inputs) {
    if (input.indices) continue;
    try {
      gradients[input.name] =
          gradient_by(program, written.loss(), program.graph().find(input.name));
    } catch (const ein::Error& error) {
      const std::string what = error.what();
      CAPTURE(what);
      CHECK(is_refusal(what));
      ++tally.refused;
      return;
    }
  }
  // Along one tensor or two that the loss depends on.
  std::vector<std::string> along;
  Values numbers = drawn.values;
  Random directions(seed + 1);
  for (const auto& [name, gradient] : gradients) {
    if (!gradient.has_value() || along.size() == 2) continue;
    numbers["V" + std::to_string(along.size())] =
        direction(directions, drawn.values.at(name).size(), false);
    along.push_back(name);
  }
  ein::VertexId derivative = -1;
  if (!along.empty()) {
    const ein::EinGraph& graph = program.graph();
    derivative =
        derivative_along(program, written.loss(), graph.find(along[0]),
                         along.size() == 2 ? std::optional(graph.find(along[1])) : std::nullopt);
  }
  const LoopRun run(program, numbers);
  if (!along.empty()) {
    Values moved = drawn.values;
    const auto loss_at = [&](double length) {
      for (std::size_t k = 0; k < along.size(); ++k) {
        const std::vector<double>& step = numbers.at("V" + std::to_string(k));
        for (std::size_t i = 0; i < step.size(); ++i) {
          moved[along[k]][i] = drawn.values.at(along[k])[i] + length * step[i];
        }
      }
      return LoopRun(forward, moved).of_vertex(written.at)[0];
    };
    const double slope = run.of_vertex(derivative)[0];
    double by_gradients = 0;
    for (std::size_t k = 0; k < along.size(); ++k) {
      by_gradients +=
          product(run.of_vertex(*gradients.at(along[k])), numbers.at("V" + std::to_string(k)));
    }
    CAPTURE(slope);
    CHECK(std::abs(slope - by_gradients) <= 1e-9 * std::max(1.0, std::abs(by_gradients)));
    if (const auto expected = central_difference(loss_at, 2e-4); expected.has_value()) {
      ++tally.along;
      CAPTURE(expected->slope);
      CAPTURE(expected->tolerance);
      CHECK(std::abs(slope - expected->slope) <= expected->tolerance);
    }
  }
  Random random(seed);
  for (const auto& [name, gradient] : gradients) {
    const std::size_t size = drawn.values.at(name).size();
    const std::vector<double> zeros(size, 0);
    const std::vector<double>& by = gradient.has_value() ? run.of_vertex(*gradient) : zeros;
    REQUIRE(by.size() == size);
    for (int n = 0; n < 2; ++n) {
      const std::vector<double> step = direction(random, size, n == 1);
      Values moved = drawn.values;
      const auto loss_at = [&](double length) {
        for (std::size_t i = 0; i < size; ++i) {
          moved[name][i] = drawn.values.at(name)[i] + length * step[i];
        }
        return LoopRun(forward, moved).of_vertex(written.at)[0];
      };
      const auto expected = central_difference(loss_at, 2e-4);
      if (!expected.has_value()) {
        ++tally.kinks;
        continue;
      }
      ++tally.checked;
      CAPTURE(name);
      CAPTURE(expected->slope);
      CAPTURE(expected->tolerance);
      CAPTURE(product(by, step));
      CHECK(std::abs(product(by, step) - expected->slope) <= expected->tolerance);
    }
  }
}

/// Those whose derivatives are compiled twice.
template <class Backend>
std::vector<Signature<Backend>> twice_signatures() {
  std::vector<Signature<Backend>> all = few_signatures<Backend>();
  add<ein::NoAggregation, double, double>(all, ein::Div{}, true);
  add<ein::Sum, double, double>(all, ein::SqDiff{});
  add_lookups(all);
  return all;
}

/// The gradient of Σ V · (the gradient by one input) by another input.
void run_twice(std::uint64_t seed, Tally& tally) {
  static const auto signatures = twice_signatures<Twice::Backend>();
  Written<Twice> written(seed, signatures);
  const auto& drawn = written.drawn;
  const auto& forward = written.forward;
  auto& program = written.program;
  INFO(written.text);
  Random random(seed);
  std::vector<Input> numbers_of;
  for (const Input& input : drawn.recipe.inputs) {
    if (!input.indices) numbers_of.push_back(input);
  }
  const Input first = pick(random, numbers_of);
  const Input second = pick(random, numbers_of);
  std::optional<ein::VertexId> twice;
  std::optional<ein::VertexId> along;
  try {
    const auto once = gradient_by(program, written.loss(), program.graph().find(first.name));
    if (!once.has_value()) return;
    ein::Builder<Twice::Backend> builder(program);
    const ein::AnySymbol weights = builder.input<double>("V", first.bound);
    ein::LabelStrings labels;
    for (std::size_t k = 0; k < first.bound.size(); ++k) {
      labels.emplace_back(1, static_cast<char>('a' + k));
    }
    const ein::AnySymbol by_one(program.graph(), *once);
    const ein::AnySymbol product =
        labels.empty() ? builder.statement<ein::Mul, ein::NoAggregation, double, double>(
                             "P", {{by_one, labels}, {weights, labels}}, ein::LabelStrings{})
                       : builder.statement<ein::Mul, ein::Sum, double, double>(
                             "P", {{by_one, labels}, {weights, labels}}, ein::LabelStrings{});
    const ein::Symbol<double, 0, Twice::Backend> sum(program.state(), product.vertex());
    twice = gradient_by(program, sum, program.graph().find(second.name));
    // Forwards through the gradient's statements.
    if (twice.has_value()) {
      (void)builder.input<double>("W", second.bound);
      with_symbol(program, *once, [&](const auto& gradient) {
        with_symbol(program, program.graph().find(second.name), [&]<class S>(const S& tensor) {
          const S tangent(program.state(), program.graph().find("W"));
          along = ein::jvp(gradient, tensor, tangent).vertex();
        });
      });
    }
  } catch (const ein::Error& error) {
    const std::string what = error.what();
    CAPTURE(what);
    CHECK(is_refusal(what));
    ++tally.refused;
    return;
  }
  const std::size_t size = drawn.values.at(second.name).size();
  const std::vector<double> step = direction(random, size, false);
  Values numbers = drawn.values;
  numbers["V"] = direction(random, drawn.values.at(first.name).size(), false);
  if (along.has_value()) numbers["W"] = step;
  const std::vector<double> zeros(size, 0);
  const LoopRun run(program, numbers);
  const std::vector<double>& by = twice.has_value() ? run.of_vertex(*twice) : zeros;
  REQUIRE(by.size() == size);
  if (along.has_value()) {
    const double forwards = product(run.of_vertex(*along), numbers.at("V"));
    const double backwards = product(by, step);
    CAPTURE(forwards);
    CAPTURE(backwards);
    CHECK(std::abs(forwards - backwards) <= 1e-9 * std::max(1.0, std::abs(backwards)));
  }
  // The slope along V, itself by central differences, along the step.
  const auto loss_at = [&](double along_first, double along_second) {
    Values moved = drawn.values;
    for (std::size_t i = 0; i < numbers["V"].size(); ++i) {
      moved[first.name][i] += along_first * numbers["V"][i];
    }
    for (std::size_t i = 0; i < size; ++i) moved[second.name][i] += along_second * step[i];
    return LoopRun(forward, moved).of_vertex(written.at)[0];
  };
  const double there = 0.005;
  bool smooth = true;
  const auto slope_at = [&](double along_second) {
    const auto slope =
        central_difference([&](double h) { return loss_at(h, along_second); }, there);
    smooth = smooth && slope.has_value();
    return slope.has_value() ? slope->slope : 0;
  };
  const auto expected = central_difference(slope_at, there);
  if (!smooth || !expected.has_value()) {
    ++tally.kinks;
    return;
  }
  ++tally.checked;
  CAPTURE(first.name);
  CAPTURE(second.name);
  CAPTURE(expected->slope);
  CAPTURE(product(by, step));
  CHECK(std::abs(product(by, step) - expected->slope) <= 100 * expected->tolerance);
}

}  // namespace

TEST_CASE("gradients of random programs are their central differences") {
  Tally tally;
  const int cases = eindecomp_tests::random_cases(2000);
  for (int n = 0; n < cases; ++n) run_once(static_cast<std::uint64_t>(n), tally);
  MESSAGE(cases, " programs: ", tally.checked, " slopes compared, ", tally.along,
          " along tangents, ", tally.kinks, " at kinks, ", tally.refused, " programs refused");
  CHECK(tally.checked > 2 * cases);
  CHECK(10 * tally.along > 8 * cases);
  CHECK(20 * tally.kinks <= tally.checked);
  CHECK(20 * tally.refused <= cases);
}

TEST_CASE("gradients of gradients of random programs are central differences of those") {
  Tally tally;
  const int cases = eindecomp_tests::random_cases(300);
  for (int n = 0; n < cases; ++n) run_twice(static_cast<std::uint64_t>(n), tally);
  MESSAGE(cases, " programs: ", tally.checked, " slopes compared, ", tally.kinks, " at kinks, ",
          tally.refused, " programs refused");
  CHECK(3 * tally.checked > 2 * cases);
  CHECK(10 * tally.kinks <= cases);
  CHECK(20 * tally.refused <= cases);
}
