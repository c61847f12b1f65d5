#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes water_integrals.npy, water_orbital_energies.npy and water_energies.npy: a molecule of water
in the basis STO-3G, as Hartree and Fock's method by PySCF leaves it for coupled cluster.

    pip install pyscf && examples/data/make_water.py
"""
import pathlib

import numpy as np
from pyscf import ao2mo, cc, gto, mp, scf

# The geometry, in bohr, and the basis of the programming projects of T. D. Crawford's group,
# which state the energies to expect: SCF -74.942079928192, MP2 -0.049149636120,
# CCSD -0.070680088376, (T) -0.000099877272 (github.com/CrawfordGroup/ProgrammingProjects).
water = gto.M(
    atom="""O  0.000000000000 -0.143225816552  0.000000000000
            H  1.638036840407  1.136548822547 -0.000000000000
            H -1.638036840407  1.136548822547 -0.000000000000""",
    basis="sto-3g", unit="bohr", verbose=0)

field = scf.RHF(water).run(conv_tol=1e-14, conv_tol_grad=1e-11)
second_order = mp.MP2(field).run()
coupled_cluster = cc.CCSD(field)
coupled_cluster.conv_tol = 1e-13
coupled_cluster.conv_tol_normt = 1e-11
coupled_cluster.max_cycle = 200
coupled_cluster.run()
triples = coupled_cluster.ccsd_t()

orbitals = field.mo_energy.size
integrals = ao2mo.restore(1, ao2mo.kernel(water, field.mo_coeff), orbitals)
energies = np.array([field.e_tot, second_order.e_corr, coupled_cluster.e_corr, triples])
for name, energy in zip(("SCF", "MP2", "CCSD", "(T)"), energies):
    print(f"{name:5} {energy:.12f}")
expected = [-74.942079928192, -0.049149636120, -0.070680088376, -0.000099877272]
assert np.abs(energies - expected).max() < 1e-9

folder = pathlib.Path(__file__).parent
np.save(folder / "water_integrals.npy", np.ascontiguousarray(integrals))
np.save(folder / "water_orbital_energies.npy", field.mo_energy)
np.save(folder / "water_energies.npy", energies)
