#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes functions_expected.hpp: what NumPy and SciPy say of the functions of elements.

    pip install numpy scipy && tests/expr/make_functions_expected.py > tests/expr/functions_expected.hpp
"""
import numpy as np
from scipy import special

REAL = [-3.75, -2.5, -1.0, -0.5, -0.25, -0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.5, 20.0]
UNIT = [-1.0, -0.75, -0.5, -0.0, 0.125, 0.5, 0.875, 1.0]
POSITIVE = [0.0, 1e-300, 0.125, 0.5, 1.0, 2.0, 10.0, 1000.0]
FROM_ONE = [1.0, 1.25, 2.0, 100.0]
SMALL = [-0.5, -1e-12, 0.0, 1e-12, 0.5, 3.0]
NOT_NUMBERS = [float("nan"), float("inf"), -float("inf"), 1.0]

UNARY = [
    ("Sin", np.sin, REAL), ("Cos", np.cos, REAL), ("Tan", np.tan, REAL),
    ("Asin", np.arcsin, UNIT), ("Acos", np.arccos, UNIT), ("Atan", np.arctan, REAL),
    ("Sinh", np.sinh, REAL), ("Cosh", np.cosh, REAL), ("Asinh", np.arcsinh, REAL),
    ("Acosh", np.arccosh, FROM_ONE), ("Atanh", np.arctanh, UNIT[1:-1]),
    ("Exp2", np.exp2, REAL), ("Expm1", np.expm1, SMALL), ("Log2", np.log2, POSITIVE[1:]),
    ("Log10", np.log10, POSITIVE[1:]), ("Log1p", np.log1p, SMALL), ("Cbrt", np.cbrt, REAL),
    ("Erf", special.erf, REAL), ("Erfc", special.erfc, REAL),
    ("Floor", np.floor, REAL), ("Ceil", np.ceil, REAL), ("Trunc", np.trunc, REAL),
    ("Round", np.round, REAL), ("Sign", np.sign, REAL + NOT_NUMBERS),
    ("Square", np.square, REAL), ("IsNan", np.isnan, NOT_NUMBERS), ("IsInf", np.isinf, NOT_NUMBERS),
    ("IsFinite", np.isfinite, NOT_NUMBERS), ("Sigmoid", special.expit, REAL + [-800.0, 800.0]),
    ("Silu", lambda x: x * special.expit(x), REAL),
    ("Gelu", lambda x: x * special.ndtr(x), REAL),
]
BINARY = [
    ("Pow", np.power, [(2.0, 10.0), (0.5, -3.0), (-2.0, 3.0), (2.0, 0.5), (0.0, 0.0), (10.0, -2.0)]),
    ("Mod", np.mod, [(7.0, 3.0), (-7.0, 3.0), (7.0, -3.0), (-7.0, -3.0), (0.75, 0.5), (-0.25, 1.0)]),
    ("Atan2", np.arctan2, [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (0.0, -1.0)]),
    ("Hypot", np.hypot, [(3.0, 4.0), (1e200, 1e200), (-5.0, 12.0)]),
]
WHOLE = [
    ("Pow", np.power, [(2, 10), (-3, 3), (0, 0), (1, 100), (-1, 7), (7, 1), (-2, 31)]),
    ("Mod", np.mod, [(7, 3), (-7, 3), (7, -3), (-7, -3), (6, 3), (-6, -1), (-2147483648, 10)]),
]
CLIP = [(-2.0, -1.0, 1.0), (0.5, -1.0, 1.0), (7.0, -1.0, 1.0), (0.5, 2.0, 1.0)]


def text(x):
    x = float(x)
    if np.isnan(x):
        return "NAN"
    if np.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return float.hex(x)


def main():
    print("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print("// Written by make_functions_expected.py with "
          f"NumPy {np.__version__} and SciPy {__import__('scipy').__version__}.")
    print("#pragma once\n\n#include <cmath>\n#include <cstdint>\n")
    print("// clang-format off")
    print("// f(functor, element, expected)\n#define EINDECOMP_UNARY_EXPECTED(f) \\")
    for name, f, values in UNARY:
        for x in values:
            print(f"  f({name}, {text(x)}, {text(f(np.float64(x)))}) \\")
    print("\n// f(functor, a, b, expected)\n#define EINDECOMP_BINARY_EXPECTED(f) \\")
    for name, f, pairs in BINARY:
        for a, b in pairs:
            print(f"  f({name}, {text(a)}, {text(b)}, {text(f(a, b))}) \\")
    print("\n// f(functor, a, b, expected), of integers\n#define EINDECOMP_WHOLE_EXPECTED(f) \\")
    for name, f, pairs in WHOLE:
        for a, b in pairs:
            print(f"  f({name}, {a}L, {b}L, {int(f(np.int64(a), np.int64(b)))}L) \\")
    print("\n// f(a, least, most, expected)\n#define EINDECOMP_CLIP_EXPECTED(f) \\")
    for a, low, high in CLIP:
        print(f"  f({text(a)}, {text(low)}, {text(high)}, {text(np.clip(a, low, high))}) \\")
    print("\n// clang-format on")


main()
