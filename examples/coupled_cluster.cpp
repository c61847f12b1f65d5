// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file
/// Coupled cluster with single and double excitations (CCSD): the correlation energy of a molecule
/// of water. The equations are those of Stanton, Gauss, Watts and Bartlett, J. Chem. Phys. 94, 4334
/// (1991), in spin orbitals, written as they stand in the paper. An iteration is one run of a
/// program that is planned once; the amplitudes it computes are the next one's where they lie.
///
/// Then the energy of triple excitations by perturbation theory, (T), of Raghavachari, Trucks,
/// Pople and Head-Gordon, Chem. Phys. Lett. 157, 479 (1989): a second program, whose tensors of six
/// labels, o^3 v^3, exist as one block of their occupied labels at a time.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/example.hpp"
#include "support/npy.hpp"

namespace ein = eindecomp;
using ein::antisymmetrize;
using ein::let;
// Occupied orbitals, and virtual ones.
using ein::labels::a, ein::labels::b, ein::labels::c, ein::labels::e, ein::labels::f;
using ein::labels::i, ein::labels::j, ein::labels::k, ein::labels::m, ein::labels::n;

namespace {

/// A molecule after Hartree and Fock's method: orbital energies, and integrals (pq|rs) of pairs of
/// orbitals. A spin orbital is an orbital with a spin, up where its number is even.
class Molecule {
 public:
  explicit Molecule(ein::Extent electrons)
      : m_occupied(electrons),
        m_energies(examples::load<double*>(examples::data_file("water_orbital_energies.npy"))),
        m_integrals(examples::load<double****>(examples::data_file("water_integrals.npy"))) {}

  /// How many spin orbitals a letter stands for: o for the occupied ones, v for the others.
  [[nodiscard]] ein::Extent count(char space) const {
    const auto all = 2 * static_cast<ein::Extent>(m_energies.size());
    return space == 'o' ? m_occupied : all - m_occupied;
  }
  [[nodiscard]] ein::Extent first(char space) const { return space == 'o' ? 0 : m_occupied; }

  [[nodiscard]] double energy(ein::Extent p) const { return m_energies(p / 2); }

  /// An input of integrals <pq||rs>, named by the spaces of their orbitals.
  [[nodiscard]] auto integrals(ein::Program& g, std::string_view spaces) const {
    return g.input<double>(std::string(spaces), {count(spaces[0]), count(spaces[1]),
                                                 count(spaces[2]), count(spaces[3])});
  }
  /// What such an input is bound to.
  template <class Tensor>
  [[nodiscard]] auto bind_integrals(const Tensor& tensor) const {
    const std::string spaces(tensor.name());
    std::array<ein::Extent, 4> begin{};
    for (std::size_t d = 0; d < 4; ++d) begin[d] = first(spaces[d]);
    return ein::bind_generator(
        tensor, [this, begin](ein::Extent p, ein::Extent q, ein::Extent r, ein::Extent s) {
          return antisymmetrized(begin[0] + p, begin[1] + q, begin[2] + r, begin[3] + s);
        });
  }
  /// What an input of orbital energies, of occupied orbitals or the others, is bound to.
  template <class Tensor>
  [[nodiscard]] auto bind_energies(const Tensor& tensor, char space) const {
    return ein::bind_generator(
        tensor, [this, begin = first(space)](ein::Extent p) { return energy(begin + p); });
  }

  /// <pq||rs> = <pq|rs> - <pq|sr>, where <pq|rs> is (pr|qs) if the spins of p and r agree and
  /// those of q and s do.
  [[nodiscard]] double antisymmetrized(ein::Extent p, ein::Extent q, ein::Extent r,
                                       ein::Extent s) const {
    const auto integral = [&](ein::Extent t, ein::Extent u) {
      const bool spins = p % 2 == t % 2 && q % 2 == u % 2;
      return spins ? m_integrals(p / 2, t / 2, q / 2, u / 2) : 0.0;
    };
    return integral(r, s) - integral(s, r);
  }

 private:
  ein::Extent m_occupied;
  examples::HostView<double*> m_energies;
  examples::HostView<double****> m_integrals;
};

/// The energy of triple excitations from CCSD's amplitudes t1(i, a) and t2(i, j, a, b): at once,
/// and looped over i, j and k, by hand and by the planner. \returns whether it is what is expected
/// each time, with the words and bytes that are predicted,
///   and loops hold less than a tensor of six labels.
template <class T1, class T2>
[[nodiscard]] bool check_triples(const examples::Context& context, const Molecule& water,
                                 const T1& singles, const T2& doubles, double expected) {
  const ein::Extent occupied = water.count('o');
  const ein::Extent others = water.count('v');
  ein::Program g;
  auto ooov = water.integrals(g, "ooov");
  auto oovv = water.integrals(g, "oovv");
  auto ovvv = water.integrals(g, "ovvv");
  auto eo = g.input<double>("eo", {occupied});
  auto ev = g.input<double>("ev", {others});
  auto t1 = g.input<double>("t1", {occupied, others});
  auto t2 = g.input<double>("t2", {occupied, occupied, others, others});

  // P(i/jk) f(i, j, k) and P(a/bc) f(a, b, c): less f with the first label and each other
  // exchanged.
  const auto P_i_jk = [](const auto& of) { return of(i, j, k) - of(j, i, k) - of(k, j, i); };
  const auto P_a_bc = [](const auto& of) { return of(a, b, c) - of(b, a, c) - of(c, b, a); };

  auto occupied_sum = let<"occupied">(i, j, k) = eo(i) + eo(j) + eo(k);
  auto virtual_sum = let<"virtuals">(a, b, c) = ev(a) + ev(b) + ev(c);
  // Disconnected triples, and connected ones, times their denominators D(i, j, k, a, b, c).
  auto u = let<"u">(i, j, k, a, b, c) =
      P_i_jk([&](auto x, auto y, auto z) { return t1(x, a) * oovv(y, z, b, c); });
  auto U = let<"U">(i, j, k, a, b, c) =
      P_a_bc([&](auto x, auto y, auto z) { return u(i, j, k, x, y, z); });
  auto w = let<"w">(i, j, k, a, b, c) = P_i_jk([&](auto x, auto y, auto z) {
    return -sum(e)(t2(y, z, a, e) * ovvv(x, e, b, c)) - sum(m)(t2(x, m, b, c) * ooov(y, z, m, a));
  });
  auto W = let<"W">(i, j, k, a, b, c) =
      P_a_bc([&](auto x, auto y, auto z) { return w(i, j, k, x, y, z); });
  // All orders of i, j and k have one value, so that i < j < k is enough; blocks without such are
  // not computed, nor what is read there alone.
  auto energy = let<"E(T)">() = sum(i, j, k, a, b, c)(
      (i < j && j < k) * W(i, j, k, a, b, c) * (W(i, j, k, a, b, c) + U(i, j, k, a, b, c)) /
      (6.0 * (occupied_sum(i, j, k) - virtual_sum(a, b, c))));

  // A tensor of six labels has so many bytes. A plan for less than that runs the statements from
  // the first one with i, j and k on in steps along them: those that are given, or that it chooses.
  const std::int64_t six_labels = 8 * occupied * occupied * occupied * others * others * others;
  const ein::DecomposeOptions at_once{.workers = context.workers, .ranks = context.ranks};
  ein::DecomposeOptions planned = at_once;
  planned.memory = six_labels / 4;
  ein::DecomposeOptions by_hand = planned;
  by_hand.steps = {{"u", "E(T)", {{"i", occupied}, {"j", occupied}, {"k", occupied}}}};

  bool all_right = true;
  for (const auto& [how, options] :
       {std::pair("at once", at_once), {"by hand", by_hand}, {"planned", planned}}) {
    const auto plan = ein::share_plan(
        g, context.comm, [&, &options = options] { return ein::decompose(g, options); });
    if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
    double found = 0;
    const auto check = [&, &energy = energy](const auto& run) {
      found = examples::on_host(run.gather(energy))();
      return examples::Verdict{std::abs(found - expected) < 1e-10, ""};
    };
    const examples::Measurement m = examples::measure(
        context, plan, check, water.bind_integrals(ooov), water.bind_integrals(oovv),
        water.bind_integrals(ovvv), water.bind_energies(eo, 'o'), water.bind_energies(ev, 'v'),
        ein::bind_global(t1, singles), ein::bind_global(t2, doubles));
    const bool fits = options.memory == 0 || m.predicted_bytes <= options.memory;
    const bool right = m.verdict.correct && m.counted_words == m.predicted_words &&
                       m.allocated_bytes <= m.predicted_bytes && fits;
    all_right = all_right && right;
    if (context.rank == 0) {
      fmt::print(
          "(T) {:10} energy {:.12f} in {:.2f} ms, {} words ({} predicted), {} bytes held "
          "(six labels: {}){}\n",
          how, found, 1e3 * m.seconds, m.counted_words, m.predicted_words, m.allocated_bytes,
          six_labels, right ? "" : ": WRONG");
    }
  }
  return all_right;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("CCSD(T) of water in the basis STO-3G");
  double tolerance = 1e-10;
  int most = 100;
  app.add_option("--tolerance", tolerance, "of the energy's change in an iteration")
      ->capture_default_str();
  app.add_option("--iterations", most, "the most")
      ->check(examples::positive)
      ->capture_default_str();

  return examples::run(app, argc, argv, MPI_COMM_WORLD, [&](const examples::Context& context) {
    const Molecule water(10);
    const auto energies =  // SCF, MP2, CCSD, (T)
        examples::load<double*>(examples::data_file("water_energies.npy"));

    // Integrals <pq||rs>, named by the spaces of their orbitals, energies of orbitals, amplitudes.
    // To exchange p and q, or r and s, changes the sign, to exchange both pairs nothing, so that
    // six blocks hold all integrals that the equations read: <ab||ej> is -ovvv(j, e, a, b).
    ein::Program g;
    const ein::Extent occupied = water.count('o');
    const ein::Extent others = water.count('v');
    auto oooo = water.integrals(g, "oooo");
    auto ooov = water.integrals(g, "ooov");
    auto oovv = water.integrals(g, "oovv");
    auto ovvo = water.integrals(g, "ovvo");
    auto ovvv = water.integrals(g, "ovvv");
    auto vvvv = water.integrals(g, "vvvv");
    auto eo = g.input<double>("eo", {occupied});
    auto ev = g.input<double>("ev", {others});
    auto t1 = g.input<double>("t1", {occupied, others});
    auto t2 = g.input<double>("t2", {occupied, occupied, others, others});

    // P(ij) and P(ab): an expression less itself with both labels exchanged.
    const auto P_ij = antisymmetrize(i, j);
    const auto P_ab = antisymmetrize(a, b);

    // Effective double excitations, equations 9 and 10.
    auto tau = let<"tau">(i, j, a, b) = t2(i, j, a, b) + P_ij(t1(i, a) * t1(j, b));
    auto tau_ = let<"tau~">(i, j, a, b) = t2(i, j, a, b) + 0.5 * P_ij(t1(i, a) * t1(j, b));

    // Intermediates, equations 3 to 8.
    auto Fae = let<"Fae">(a, e) = sum(m, f)(t1(m, f) * ovvv(m, a, f, e)) -
                                  0.5 * sum(m, n, f)(tau_(m, n, a, f) * oovv(m, n, e, f));
    auto Fmi = let<"Fmi">(m, i) = sum(n, e)(t1(n, e) * ooov(m, n, i, e)) +
                                  0.5 * sum(n, e, f)(tau_(i, n, e, f) * oovv(m, n, e, f));
    auto Fme = let<"Fme">(m, e) = sum(n, f)(t1(n, f) * oovv(m, n, e, f));
    auto Wmnij = let<"Wmnij">(m, n, i, j) = oooo(m, n, i, j) +
                                            P_ij(sum(e)(t1(j, e) * ooov(m, n, i, e))) +
                                            0.25 * sum(e, f)(tau(i, j, e, f) * oovv(m, n, e, f));
    auto Wabef = let<"Wabef">(a, b, e, f) = vvvv(a, b, e, f) +
                                            P_ab(sum(m)(t1(m, b) * ovvv(m, a, e, f))) +
                                            0.25 * sum(m, n)(tau(m, n, a, b) * oovv(m, n, e, f));
    auto Wmbej = let<"Wmbej">(m, b, e, j) =
        ovvo(m, b, e, j) + sum(f)(t1(j, f) * ovvv(m, b, e, f)) +
        sum(n)(t1(n, b) * ooov(m, n, j, e)) -
        sum(n, f)((0.5 * t2(j, n, f, b) + t1(j, f) * t1(n, b)) * oovv(m, n, e, f));

    // Single excitations, equation 1. Hartree and Fock's orbitals leave it without f(i, a).
    auto r1 = let<"r1">(i, a) = sum(e)(t1(i, e) * Fae(a, e)) - sum(m)(t1(m, a) * Fmi(m, i)) +
                                sum(m, e)(t2(i, m, a, e) * Fme(m, e)) +
                                sum(n, f)(t1(n, f) * ovvo(n, a, f, i)) -
                                0.5 * sum(m, e, f)(t2(i, m, e, f) * ovvv(m, a, e, f)) +
                                0.5 * sum(m, n, e)(t2(m, n, a, e) * ooov(n, m, i, e));
    auto next_t1 = let<"t1'">(i, a) = r1(i, a) / (eo(i) - ev(a));

    // Double excitations, equation 2.
    auto Gbe = let<"Gbe">(b, e) = Fae(b, e) - 0.5 * sum(m)(t1(m, b) * Fme(m, e));
    auto Gmj = let<"Gmj">(m, j) = Fmi(m, j) + 0.5 * sum(e)(t1(j, e) * Fme(m, e));
    auto ladders = let<"ladders">(i, j, a, b) =
        oovv(i, j, a, b) + 0.5 * sum(m, n)(tau(m, n, a, b) * Wmnij(m, n, i, j)) +
        0.5 * sum(e, f)(tau(i, j, e, f) * Wabef(a, b, e, f));
    auto rings = let<"rings">(i, j, a, b) =
        P_ij(P_ab(sum(m, e)(t2(i, m, a, e) * Wmbej(m, b, e, j)) -
                  sum(m, e)(t1(i, e) * t1(m, a) * ovvo(m, b, e, j))));
    auto singles = let<"singles">(i, j, a, b) =
        P_ab(sum(e)(t2(i, j, a, e) * Gbe(b, e)) - sum(m)(t1(m, a) * ooov(i, j, m, b))) -
        P_ij(sum(m)(t2(i, m, a, b) * Gmj(m, j)) + sum(e)(t1(i, e) * ovvv(j, e, a, b)));
    auto next_t2 = let<"t2'">(i, j, a, b) =
        (ladders(i, j, a, b) + rings(i, j, a, b) + singles(i, j, a, b)) /
        (eo(i) + eo(j) - ev(a) - ev(b));

    auto energy = let<"E">() =
        0.25 * sum(i, j, a, b)(oovv(i, j, a, b) * next_t2(i, j, a, b)) +
        0.5 * sum(i, j, a, b)(oovv(i, j, a, b) * next_t1(i, a) * next_t1(j, b));
    g.keep(next_t1);
    g.keep(next_t2);

    using Bindings = std::vector<ein::Binding<examples::Space>>;
    const Bindings constants{
        water.bind_integrals(oooo).constant(),   water.bind_integrals(ooov).constant(),
        water.bind_integrals(oovv).constant(),   water.bind_integrals(ovvo).constant(),
        water.bind_integrals(ovvv).constant(),   water.bind_integrals(vvvv).constant(),
        water.bind_energies(eo, 'o').constant(), water.bind_energies(ev, 'v').constant()};
    const std::vector<ein::Text> constant_names{"oooo", "ooov", "oovv", "ovvo",
                                                "ovvv", "vvvv", "eo",   "ev"};

    bool all_right = true;
    for (const std::string& strategy : context.chosen(g)) {
      const auto plan = ein::decompose(g, {.workers = context.workers,
                                           .ranks = context.ranks,
                                           .strategy = strategy,
                                           .carry = {{"t1'", "t1"}, {"t2'", "t2"}}});
      if (context.rank == 0 && context.report) fmt::print("{}\n", ein::report(plan));
      ein::Executor executor(plan, context.comm, examples::Space{});
      const auto run_with = [&](Bindings amplitudes) {
        amplitudes.insert(amplitudes.end(), constants.begin(), constants.end());
        return executor.run(amplitudes);
      };
      // Without amplitudes, an iteration gives those of second-order perturbation theory.
      auto run = run_with({ein::bind_generator(t1, [](auto...) { return 0.0; }),
                           ein::bind_generator(t2, [](auto...) { return 0.0; })});
      double found = examples::on_host(run.gather(energy))();
      bool right = std::abs(found - energies(1)) < 1e-8;
      int iterations = 1;
      double change = found;
      double seconds = 0;
      ein::Extent words = 0;
      const auto show = [&] {
        if (context.rank == 0 && context.report) {
          fmt::print("iteration {:2}: energy {:.10f}, change {:8.1e}\n", iterations, found, change);
        }
      };
      show();
      for (; std::abs(change) > tolerance && iterations < most; ++iterations, show()) {
        run = run_with(run.carry());
        change = examples::on_host(run.gather(energy))() - found;
        found += change;
        seconds += run.statistics().seconds;
        words = run.statistics().words_received + run.statistics().inputs.words_received;
      }
      words = examples::reduced(words, MPI_INT64_T, MPI_SUM, context.comm);
      ein::Extent predicted = 0;
      for (const ein::Extent repeated : plan.repeated_words(constant_names)) predicted += repeated;
      for (const ein::Extent carried : plan.carried_words()) predicted += carried;
      right = right && std::abs(found - energies(2)) < 1e-8 && words == predicted;
      all_right = all_right && right;
      if (context.rank == 0) {
        fmt::print(
            "{:14} energy {:.10f} after {} iterations of {:.2f} ms, {} words each ({} predicted)"
            "{}\n",
            strategy, found, iterations, 1e3 * seconds / std::max(1, iterations - 1), words,
            predicted, right ? "" : ": WRONG");
      }
      const bool triples_right =
          check_triples(context, water, run.gather(next_t1), run.gather(next_t2), energies(3));
      all_right = all_right && triples_right;
    }
    return all_right;
  });
}
