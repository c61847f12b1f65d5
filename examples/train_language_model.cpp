// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// A small transformer learns to write like Lewis Carroll, one character at a time. Embeddings,
/// attention with heads, layer norms, their gradients and AdamW are one program, planned as a
/// whole. The last tenth of the book is kept for the test: the network must foretell its characters
/// better than a table of pairs of characters does. In the end it writes on, by itself.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <eindecomp/train/batches.hpp>
#include <eindecomp/train/fit.hpp>
#include <fstream>
#include <iterator>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/checkpoint.hpp"
#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::extent;
using ein::let;
using namespace ein::labels;

namespace {

using Program = ein::DifferentiableProgram;
using Bindings = std::vector<ein::Binding<examples::Space>>;
template <int Rank>
using Tensor = ein::Symbol<float, Rank, Program::Backend>;
using Tokens = ein::Symbol<std::int32_t, 2, Program::Backend>;

/// A book as numbers, one per character.
class Text {
 public:
  explicit Text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    m_text.assign(std::istreambuf_iterator<char>(file), {});
    m_characters = m_text;
    std::ranges::sort(m_characters);
    m_characters.erase(std::unique(m_characters.begin(), m_characters.end()), m_characters.end());
  }
  /// How many characters it has.
  [[nodiscard]] ein::Extent size() const { return static_cast<ein::Extent>(m_text.size()); }
  /// Where the part that is kept for the test begins.
  [[nodiscard]] ein::Extent test() const { return size() - size() / 10; }
  /// How many different ones there are.
  [[nodiscard]] ein::Extent characters() const {
    return static_cast<ein::Extent>(m_characters.size());
  }
  /// The number of the one at a place.
  [[nodiscard]] std::int32_t operator[](ein::Extent place) const {
    const char c = m_text[static_cast<std::size_t>(place)];
    const auto found = std::ranges::lower_bound(m_characters, c);
    return static_cast<std::int32_t>(found - m_characters.begin());
  }
  /// The character that has a number.
  [[nodiscard]] char character(std::int64_t number) const {
    return m_characters[static_cast<std::size_t>(number)];
  }

 private:
  std::string m_text;
  std::string m_characters;
};

/// How badly a table foretells the test's characters from the one before each, in nats: the table
/// counts the pairs in the rest of the book, and every pair once more.
[[nodiscard]] double loss_of_pairs(const Text& text) {
  const auto n = static_cast<std::size_t>(text.characters());
  std::vector<double> pairs(n * n, 1.0);
  std::vector<double> firsts(n, static_cast<double>(n));
  const auto first = [&](ein::Extent place) { return static_cast<std::size_t>(text[place - 1]); };
  const auto pair = [&](ein::Extent place) {
    return n * first(place) + static_cast<std::size_t>(text[place]);
  };
  for (ein::Extent place = 1; place < text.test(); ++place) {
    pairs[pair(place)] += 1;
    firsts[first(place)] += 1;
  }
  double loss = 0;
  for (ein::Extent place = text.test(); place < text.size(); ++place) {
    loss -= std::log(pairs[pair(place)] / firsts[first(place)]);
  }
  return loss / static_cast<double>(text.size() - text.test());
}

constexpr std::size_t texts = 2;  // written in the end

/// Sizes of a transformer.
struct Sizes {
  ein::Extent characters = 0;  ///< that there are
  ein::Extent window = 64;     ///< that it sees at once
  ein::Extent layers = 2;
  ein::Extent heads = 4;
  ein::Extent per_head = 16;
  [[nodiscard]] ein::Extent width() const { return heads * per_head; }
};

/// A decoder (Vaswani et al. 2017) whose norms come first (Xiong et al. 2020). b is the sequence in
/// a batch, s and t are places in it, d is an attribute, h a head, e one of its attributes, f a
/// neuron and v a character.
class Transformer {
 public:
  Transformer(Program& g, const Sizes& sizes, std::uint64_t seed)
      : m_program(&g), m_sizes(sizes), m_seed(seed) {}

  /// What it says of the character behind each: a number for every character that there is.
  [[nodiscard]] Tensor<3> operator()(const Tokens& I) {
    const ein::Extent width = m_sizes.width();
    const double spread = 1 / std::sqrt(static_cast<double>(width));
    auto E = weight("E", {m_sizes.characters, width}, 0.02);
    auto P = weight("P", {m_sizes.window, width}, 0.02);
    auto M = m_program->input<float>("M", {m_sizes.window, m_sizes.window});
    Tensor<3> X = let<"X">(b, s, d) = E(I(b, s), d) + P(s, d);
    for (ein::Extent layer = 0; layer < m_sizes.layers; ++layer) {
      const std::string of = std::to_string(layer);
      X = with_attention(X, M, of, spread);
      X = with_neurons(X, of, spread);
    }
    auto N = norm(X, "");
    auto U = weight("U", {width, m_sizes.characters}, spread);
    return let<"Z">(b, s, v) = sum(d)(N(b, s, d) * U(d, v));
  }

  /// A place sees itself and those before it.
  [[nodiscard]] static auto mask() {
    return ein::bind_generator_as<float, 2>(
               "M",
               [](ein::Extent place, ein::Extent seen) { return seen <= place ? 0.0F : -1e9F; })
        .constant();
  }
  /// All that is trained.
  [[nodiscard]] const std::vector<ein::Weight<float, Program::Backend>>& weights() const {
    return m_weights;
  }
  /// And what it is at first.
  [[nodiscard]] const Bindings& first() const { return m_first; }

 private:
  Tensor<3> with_attention(const Tensor<3>& X, const Tensor<2>& M, const std::string& of,
                           double spread) {
    const ein::Extent width = m_sizes.width();
    const ein::Extent heads = m_sizes.heads;
    const ein::Extent per_head = m_sizes.per_head;
    auto N = norm(X, ".attention" + of);
    auto WQ = weight("WQ" + of, {width, heads, per_head}, spread);
    auto WK = weight("WK" + of, {width, heads, per_head}, spread);
    auto WV = weight("WV" + of, {width, heads, per_head}, spread);
    auto WO = weight("WO" + of, {heads, per_head, width}, spread / 2);
    auto Q = let("Q" + of)(b, h, s, e) = sum(d)(N(b, s, d) * WQ(d, h, e));
    auto K = let("K" + of)(b, h, t, e) = sum(d)(N(b, t, d) * WK(d, h, e));
    auto V = let("V" + of)(b, h, t, e) = sum(d)(N(b, t, d) * WV(d, h, e));
    const double scale = 1 / std::sqrt(static_cast<double>(per_head));
    auto A = let("A" + of)(b, h, s, t) =
        ein::softmax(t)(scale * sum(e)(Q(b, h, s, e) * K(b, h, t, e)) + M(s, t));
    auto O = let("O" + of)(b, h, s, e) = sum(t)(A(b, h, s, t) * V(b, h, t, e));
    return let("R" + of)(b, s, d) = X(b, s, d) + sum(h, e)(O(b, h, s, e) * WO(h, e, d));
  }

  Tensor<3> with_neurons(const Tensor<3>& X, const std::string& of, double spread) {
    const ein::Extent width = m_sizes.width();
    auto N = norm(X, ".neurons" + of);
    auto W1 = weight("W1" + of, {width, 4 * width}, spread);
    auto W2 = weight("W2" + of, {4 * width, width}, spread / 4);
    auto H = let("H" + of)(b, s, f) = ein::gelu(sum(d)(N(b, s, d) * W1(d, f)));
    return let("Y" + of)(b, s, d) = X(b, s, d) + sum(f)(H(b, s, f) * W2(f, d));
  }

  Tensor<3> norm(const Tensor<3>& X, const std::string& of) {
    auto G = weight("G" + of, {m_sizes.width()}, 0);
    return let("N" + of)(b, s, d) = ein::layer_norm(d)(X(b, s, d), 1e-5) * (1.0 + G(d));
  }

  /// One that is trained, normally distributed at first.
  template <std::size_t Rank>
  Tensor<static_cast<int>(Rank)> weight(const std::string& name, const ein::Extent (&extents)[Rank],
                                        double deviation) {
    auto W = m_program->input<float>(name, extents);
    m_weights.push_back(W);
    m_first.push_back(ein::bind_generator(
        W, [scale = static_cast<float>(deviation),
            of = ein::normal_numbers(W, m_seed)](auto... index) { return scale * of(index...); }));
    return W;
  }

  Program* m_program;
  Sizes m_sizes;
  std::uint64_t m_seed;
  std::vector<ein::Weight<float, Program::Backend>> m_weights;
  Bindings m_first;
};

/// The mean of what the characters D behind those of a batch cost, given Z.
[[nodiscard]] Tensor<0> cross_entropy(const Tensor<3>& Z, const Tokens& D) {
  auto S = let<"S">(b, s, v) = ein::log_softmax(v)(Z(b, s, v));
  auto own = let<"own">(b, s) = S(b, s, D(b, s));
  return let<"loss">() = -1.0 * ein::mean(b, s)(own(b, s));
}

/// A program that says how well the next characters are foretold.
struct Foretelling {
  Program g;
  Transformer network;
  Tokens I;        // characters of a batch
  Tokens D;        // and those behind them
  Tensor<0> loss;  // nats per character

  Foretelling(const Sizes& sizes, ein::Extent batch, std::uint64_t seed)
      : network(g, sizes, seed),
        I(g.input<std::int32_t>("I", {batch, sizes.window})),
        D(g.input<std::int32_t>("D", {batch, sizes.window})),
        loss(cross_entropy(network(I), D)) {
    g.role(b, "batch");
    g.role(h, "head");
    g.role(f, "hidden");
  }
  /// Windows of a text; place(n) is where the n-th begins.
  template <class Place>
  [[nodiscard]] Bindings data(const Text& text, const Place& place) const {
    return {Transformer::mask(),
            ein::bind_generator(I, [&text, place](auto n, auto at) { return text[place(n) + at]; }),
            ein::bind_generator(
                D, [&text, place](auto n, auto at) { return text[place(n) + at + 1]; })};
  }
};

/// Characters drawn by what Z says of them at a place: the greatest of sums with numbers that have
/// Gumbel's distribution, made from uniform ones.
[[nodiscard]] auto drawn(const Tensor<3>& Z, const Tensor<2>& U, ein::Extent place,
                         double temperature) {
  return let<"next">(b) =
             argmax(v)(Z(b, ein::at(place), v) * (1 / temperature) - log(-log(U(b, v))));
}

/// A program that draws the character behind each window from those that the network holds for
/// likely, the more boldly the higher the temperature.
struct Writing {
  Program g;
  Transformer network;
  Tokens I;
  Tensor<2> U;  // random numbers
  ein::Symbol<std::int64_t, 1, Program::Backend> next;

  Writing(const Sizes& sizes, ein::Extent texts, double temperature)
      : network(g, sizes, 0),
        I(g.input<std::int32_t>("I", {texts, sizes.window})),
        U(g.input<float>("uniform", {texts, sizes.characters})),
        next(drawn(network(I), U, sizes.window - 1, temperature)) {
    g.role(b, "batch");
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A transformer that learns to write, character by character");
  Sizes sizes;
  ein::Extent batch = 16;
  ein::Extent steps = 1000;
  ein::Extent length = 300;
  std::uint64_t seed = 1;
  double rate = 0.003;
  double temperature = 0.7;
  std::optional<double> most;
  std::string file;
  app.add_option("--batch", batch, "windows per step")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--window", sizes.window, "characters seen at once")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--layers", sizes.layers)->check(examples::positive)->capture_default_str();
  app.add_option("--heads", sizes.heads)->check(examples::positive)->capture_default_str();
  app.add_option("--per-head", sizes.per_head, "attributes of a head")
      ->check(examples::positive)
      ->capture_default_str();
  app.add_option("--steps", steps, "of training")->check(examples::positive)->capture_default_str();
  app.add_option("--rate", rate, "of learning at most; rises at first, then falls by a cosine")
      ->capture_default_str();
  app.add_option("--seed", seed,
                 "of the first weights, of the order of windows, and of what is "
                 "written");
  app.add_option("--length", length, "characters to write in the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--temperature", temperature, "how boldly")->capture_default_str();
  app.add_option("--most", most,
                 "the loss that is allowed on the test, in nats per character; that of a table of "
                 "pairs if not given");
  app.add_option("--checkpoint", file,
                 "go on from this file where it exists, and write it in the end (safetensors)");

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const Text text(examples::data_file("alice.txt"));
    sizes.characters = text.characters();
    const ein::Extent tested = text.size() - 1 - text.test();
    if (batch * sizes.window > tested ||
        5000 * static_cast<ein::Extent>(texts - 1) + sizes.window > tested) {
      throw std::runtime_error("the text has " + std::to_string(tested) +
                               " characters to test on, fewer than windows take; ask for a smaller "
                               "--window or --batch");
    }
    const double pairs = loss_of_pairs(text);

    Foretelling learning(sizes, batch, seed);
    const auto updates =
        ein::minimise(learning.loss, learning.network.weights(), ein::Adam{.decay = 0.01});
    const ein::Batches batches(text.test() - sizes.window, batch, seed);
    const auto step = [&](ein::Extent n) {
      return learning.data(text, [windows = batches.samples(n)](ein::Extent row) {
        return windows[static_cast<std::size_t>(row)];
      });
    };
    const auto rates = [&](ein::Extent n) {
      const double done = static_cast<double>(n) / static_cast<double>(steps);
      return rate * std::min(10 * done, 0.5 + 0.5 * std::cos(std::numbers::pi * done));
    };

    const Foretelling test(sizes, batch, 0);
    ein::Executor foretell(examples::shared_plan(context, test.g), context.comm, examples::Space{});
    const Writing writing(sizes, texts, temperature);
    ein::Executor write(examples::shared_plan(context, writing.g), context.comm, examples::Space{});

    bool all_right = true;
    for (const std::string& strategy : context.chosen(learning.g)) {
      const auto plan = examples::shared_plan(context, learning.g, strategy, updates.carry());
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Trainer trainer(plan, context.comm, examples::Space{}, updates);
      examples::start_or_resume(context, trainer, file, learning.network.first(), steps);
      const double begin = MPI_Wtime();
      ein::FitOptions fit{.steps = steps, .rate = rates, .report_every = steps / 20 + 1};
      fit.report = [&](const ein::FitProgress& p) {
        if (p.rank != 0) return;
        fmt::print("step {:5} of {}, loss {:.3f}, {:.1f} steps/s\n", p.step, p.steps, p.loss,
                   static_cast<double>(p.here) / p.seconds);
      };
      if (!file.empty()) {
        fit.checkpoint = [&](const ein::Checkpoint& made) { ein::write_checkpoint(file, made); };
      }
      if (!ein::fit(trainer, fit, step)) return true;  // a signal came
      const double seconds = MPI_Wtime() - begin;
      std::uint64_t bits = 0;
      for (const ein::StoredTensor& tensor : trainer.checkpoint().tensors) {
        for (const char byte : tensor.bytes) bits = 31 * bits + static_cast<unsigned char>(byte);
      }

      // Other programs, and the same weights: they are exchanged once.
      Bindings learned;
      for (const auto& weight : trainer.weights()) learned.push_back(weight.constant());
      const auto with = [&learned](Bindings others) {
        others.insert(others.end(), learned.begin(), learned.end());
        return others;
      };
      double loss = 0;
      const ein::Extent runs = tested / (batch * sizes.window);
      for (ein::Extent n = 0; n < runs; ++n) {
        const auto place = [&, n](ein::Extent row) {
          return text.test() + (n * batch + row) * sizes.window;
        };
        const auto run = foretell.run(with(test.data(text, place)));
        loss += examples::on_host(run.gather(test.loss))() / static_cast<double>(runs);
      }
      const bool right = loss <= most.value_or(pairs);
      all_right = all_right && right;
      if (context.rank == 0) {
        fmt::print(
            "{:14} {} steps in {:.1f} s, {:.3f} nats per character of the test ({:.3f} by a table "
            "of pairs){}, weights {:016x}\n",
            strategy, steps, seconds, loss, pairs, right ? "" : ": TOO MANY", bits);
      }

      // It goes on behind two windows that it has not learned.
      std::vector<std::vector<std::int32_t>> written(texts);
      for (std::size_t n = 0; n < texts; ++n) {
        const ein::Extent begin = text.test() + static_cast<ein::Extent>(n) * 5000;
        for (ein::Extent at = 0; at < sizes.window; ++at) {
          written[n].push_back(text[begin + at]);
        }
      }
      for (ein::Extent n = 0; n < length; ++n) {
        const auto seen = [&written, n](ein::Extent row, ein::Extent at) {
          return written[static_cast<std::size_t>(row)][static_cast<std::size_t>(n + at)];
        };
        const auto random =
            ein::uniform_numbers(writing.U, seed + 1 + static_cast<std::uint64_t>(n));
        const auto run = write.run(with({Transformer::mask(), ein::bind_generator(writing.I, seen),
                                         ein::bind_generator(writing.U, random)}));
        const auto next = examples::on_host(run.gather(writing.next));
        for (std::size_t m = 0; m < texts; ++m) {
          written[m].push_back(static_cast<std::int32_t>(next(m)));
        }
      }
      for (const auto& one : written) {
        std::string shown;
        for (const std::int32_t number : one) shown += text.character(number);
        shown.insert(static_cast<std::size_t>(sizes.window), " >>> ");
        if (context.rank == 0) fmt::print("\n{}\n", shown);
      }
    }
    return all_right;
  });
}
