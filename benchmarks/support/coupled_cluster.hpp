// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One iteration of coupled-cluster singles and doubles over spin orbitals (Stanton, Gauss, Watts,
// Bartlett, J. Chem. Phys. 94, 4334, 1991), a contraction or a sum a statement, as a computational
// chemist writes it: small tensors of two and four labels, most of them read many times.
#pragma once

#include <string_view>

#include "eindecomp/core/types.hpp"
#include "eindecomp/graph/builder.hpp"
#include "eindecomp/graph/program.hpp"

namespace eindecomp_benchmarks {

/// Writes the iteration for so many occupied and virtual spin orbitals.
inline void coupled_cluster(eindecomp::PlanProgram& program, eindecomp::Extent occupied,
                            eindecomp::Extent virtuals) {
  using eindecomp::Add;
  using eindecomp::AnySymbol;
  using eindecomp::Mul;
  using eindecomp::NoAggregation;
  using eindecomp::Sum;
  eindecomp::Builder builder(program);
  const auto o = occupied;
  const auto v = virtuals;
  const auto product = [&](std::string_view name, std::string_view einsum, AnySymbol x,
                           AnySymbol y) {
    return builder.einsum<Mul, Sum, double, double>(name, einsum, {x, y});
  };
  const auto sum2 = [&](std::string_view name, std::string_view einsum, AnySymbol x, AnySymbol y) {
    return builder.einsum<Add, NoAggregation, double, double>(name, einsum, {x, y});
  };

  const AnySymbol t1 = builder.input<double>("T1", {o, v});
  const AnySymbol t2 = builder.input<double>("T2", {o, o, v, v});
  const AnySymbol foo = builder.input<double>("Foo", {o, o});
  const AnySymbol fov = builder.input<double>("Fov", {o, v});
  const AnySymbol fvv = builder.input<double>("Fvv", {v, v});
  const AnySymbol oooo = builder.input<double>("Woooo", {o, o, o, o});
  const AnySymbol ooov = builder.input<double>("Wooov", {o, o, o, v});
  const AnySymbol oovv = builder.input<double>("Woovv", {o, o, v, v});
  const AnySymbol ovov = builder.input<double>("Wovov", {o, v, o, v});
  const AnySymbol ovvv = builder.input<double>("Wovvv", {o, v, v, v});
  const AnySymbol vvvv = builder.input<double>("Wvvvv", {v, v, v, v});
  const AnySymbol d1 = builder.input<double>("D1", {o, v});
  const AnySymbol d2 = builder.input<double>("D2", {o, o, v, v});

  // Effective doubles.
  const AnySymbol pair = product("T1T1", "ia,jb->ijab", t1, t1);
  const AnySymbol anti = sum2("A(T1T1)", "ijab,ijba->ijab", pair, pair);
  const AnySymbol half = sum2("tau~", "ijab,ijab->ijab", t2, anti);
  const AnySymbol tau = sum2("tau", "ijab,ijab->ijab", t2, anti);

  // One-particle intermediates.
  const AnySymbol fae1 = product("Fae.1", "me,ma->ae", fov, t1);
  const AnySymbol fae2 = product("Fae.2", "mf,mafe->ae", t1, ovvv);
  const AnySymbol fae3 = product("Fae.3", "mnaf,mnef->ae", half, oovv);
  const AnySymbol fae4 = sum2("Fae.4", "ae,ae->ae", fae1, fae2);
  const AnySymbol fae5 = sum2("Fae.5", "ae,ae->ae", fae4, fae3);
  const AnySymbol fae = sum2("Fae", "ae,ae->ae", fae5, fvv);
  const AnySymbol fmi1 = product("Fmi.1", "ie,me->mi", t1, fov);
  const AnySymbol fmi2 = product("Fmi.2", "ne,mnie->mi", t1, ooov);
  const AnySymbol fmi3 = product("Fmi.3", "inef,mnef->mi", half, oovv);
  const AnySymbol fmi4 = sum2("Fmi.4", "mi,mi->mi", fmi1, fmi2);
  const AnySymbol fmi5 = sum2("Fmi.5", "mi,mi->mi", fmi4, fmi3);
  const AnySymbol fmi = sum2("Fmi", "mi,mi->mi", fmi5, foo);
  const AnySymbol fme1 = product("Fme.1", "nf,mnef->me", t1, oovv);
  const AnySymbol fme = sum2("Fme", "me,me->me", fme1, fov);

  // Two-particle intermediates.
  const AnySymbol mnij1 = product("Wmnij.1", "je,mnie->mnij", t1, ooov);
  const AnySymbol mnij2 = product("Wmnij.2", "ijef,mnef->mnij", tau, oovv);
  const AnySymbol mnij3 = sum2("Wmnij.3", "mnij,mnji->mnij", mnij1, mnij1);
  const AnySymbol mnij4 = sum2("Wmnij.4", "mnij,mnij->mnij", mnij3, mnij2);
  const AnySymbol mnij = sum2("Wmnij", "mnij,mnij->mnij", mnij4, oooo);
  const AnySymbol abef1 = product("Wabef.1", "mb,maef->abef", t1, ovvv);
  const AnySymbol abef2 = product("Wabef.2", "mnab,mnef->abef", tau, oovv);
  const AnySymbol abef3 = sum2("Wabef.3", "abef,baef->abef", abef1, abef1);
  const AnySymbol abef4 = sum2("Wabef.4", "abef,abef->abef", abef3, abef2);
  const AnySymbol abef = sum2("Wabef", "abef,abef->abef", abef4, vvvv);
  const AnySymbol mbej1 = product("Wmbej.1", "jf,mbef->mbej", t1, ovvv);
  const AnySymbol mbej2 = product("Wmbej.2", "nb,mnje->mbej", t1, ooov);
  const AnySymbol mbej3 = product("Wmbej.3", "jnfb,mnef->mbej", half, oovv);
  const AnySymbol mbej4 = sum2("Wmbej.4", "mbej,mbej->mbej", mbej1, mbej2);
  const AnySymbol mbej5 = sum2("Wmbej.5", "mbej,mbej->mbej", mbej4, mbej3);
  const AnySymbol mbej = sum2("Wmbej", "mbej,mbje->mbej", mbej5, ovov);

  // Singles.
  const AnySymbol r1a = product("R1.1", "ie,ae->ia", t1, fae);
  const AnySymbol r1b = product("R1.2", "ma,mi->ia", t1, fmi);
  const AnySymbol r1c = product("R1.3", "imae,me->ia", t2, fme);
  const AnySymbol r1d = product("R1.4", "nf,naif->ia", t1, ovov);
  const AnySymbol r1e = product("R1.5", "imef,maef->ia", t2, ovvv);
  const AnySymbol r1f = product("R1.6", "mnae,nmie->ia", t2, ooov);
  AnySymbol r1 = sum2("R1.7", "ia,ia->ia", r1a, r1b);
  r1 = sum2("R1.8", "ia,ia->ia", r1, r1c);
  r1 = sum2("R1.9", "ia,ia->ia", r1, r1d);
  r1 = sum2("R1.10", "ia,ia->ia", r1, r1e);
  r1 = sum2("R1", "ia,ia->ia", r1, r1f);
  product("T1'", "ia,ia->ia", r1, d1);

  // Doubles.
  const AnySymbol ring = product("R2.1", "imae,mbej->ijab", t2, mbej);
  const AnySymbol dress = product("R2.2", "ijae,be->ijab", t2, fae);
  const AnySymbol undress = product("R2.3", "imab,mj->ijab", t2, fmi);
  const AnySymbol holes = product("R2.4", "mnab,mnij->ijab", tau, mnij);
  const AnySymbol particles = product("R2.5", "ijef,abef->ijab", tau, abef);
  AnySymbol r2 = sum2("R2.6", "ijab,ijba->ijab", ring, ring);
  r2 = sum2("R2.7", "ijab,ijab->ijab", r2, dress);
  r2 = sum2("R2.8", "ijab,ijab->ijab", r2, undress);
  r2 = sum2("R2.9", "ijab,ijab->ijab", r2, holes);
  r2 = sum2("R2.10", "ijab,ijab->ijab", r2, particles);
  r2 = sum2("R2", "ijab,ijab->ijab", r2, oovv);
  product("T2'", "ijab,ijab->ijab", r2, d2);
}

}  // namespace eindecomp_benchmarks
