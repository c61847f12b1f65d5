#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's, opt_einsum's and JAX's times for what benchmarks/contractions measured, JAX's for what
benchmarks/semirings did.

    contractions --json ours.json && benchmarks/compare_python.py ours.json

Reads cases and our times from the JSON, measures what of the three is installed on the same cases
and the same number of threads, and prints our speed over the best of them that gives the result in
the same layout, case by case. Of semirings' file those of --threads are taken.
"""

import argparse
import importlib.util
import json
import math
import os
import re
import sys
import time

# Not the names themselves: NumPy's "float" is a double.
DTYPES = {"float": "float32", "double": "float64"}


def extents_by_text(header):
    """The cases of contraction_cases.hpp: {"bda,dc->abc": {"a": 216, …}}."""
    source = open(header, encoding="utf-8").read()
    found = {}
    for text, numbers in re.findall(r'\{"([a-z,>-]+->[a-z]+)", \{([0-9, ]+)\}\}', source):
        found[text] = [int(n) for n in numbers.split(",")]
    loops = r'for \(const char\* operands :\s*\{([^}]*)\}\).*?"->([a-z]+)", \{([0-9, ]+)\}'
    for operands, output, numbers in re.findall(loops, source, re.DOTALL):
        for pair in re.findall(r'"([a-z,]+)"', operands):
            found[f"{pair}->{output}"] = [int(n) for n in numbers.split(",")]
    return {text: dict(zip("abcdefgh", sizes)) for text, sizes in found.items()}


def shortest(call, seconds):
    call()
    best = math.inf
    begin = time.perf_counter()
    repeats = 0
    while repeats < 2 or (time.perf_counter() - begin < seconds and repeats < 50):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        repeats += 1
    return best


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def contenders(text, a, b, order):
    """Name and call of every way that is installed.

    All but "strided" give the result in the layout that ours has; NumPy by itself returns its
    matrix product under permuted strides and leaves the transposition to whoever reads it.
    """
    import numpy

    yield "strided", lambda: numpy.einsum(text, a, b, optimize=True)
    out = numpy.array(numpy.einsum(text, a, b, optimize=True), order=order)
    yield "numpy", lambda: numpy.einsum(text, a, b, out=out, optimize=True)
    if importlib.util.find_spec("opt_einsum"):
        import opt_einsum

        yield "opt_einsum", lambda: opt_einsum.contract(text, a, b, out=out)
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        # JAX's arrays are row-major: the same memory has its labels reversed if column-major.
        if order == "F":
            text = re.sub("[a-z]+", lambda labels: labels[0][::-1], text)
            a, b = a.T, b.T
        compiled = jax.jit(lambda x, y: jax.numpy.einsum(text, x, y))
        x, y = jax.numpy.asarray(a), jax.numpy.asarray(b)
        yield "jax", lambda: compiled(x, y).block_until_ready()


def use_threads(threads):
    """Before any of the three is loaded."""
    # NumPy brings an OpenBLAS of its own, which knows processors better than what is preset for another's.
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(variable, None)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = threads
    if threads == "1":
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    # XLA makes a thread per core all the same.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])


def compare_semirings(cases, threads, seconds):
    """Products over other algebras as JAX writes them: broadcast, join, reduce."""
    import jax
    import jax.numpy as jnp
    import numpy

    jax.config.update("jax_enable_x64", True)
    algebras = {
        "min-plus": (lambda x, y: x + y, jnp.min),
        "max-plus": (lambda x, y: x + y, jnp.max),
        "max-times": (lambda x, y: x * y, jnp.max),
        "squared-distance": (lambda x, y: (x - y) * (x - y), jnp.sum),
        "chebyshev": (lambda x, y: jnp.abs(x - y), jnp.max),
        "max (a-b)(a+b)": (lambda x, y: (x - y) * (x + y), jnp.max),
    }
    random = numpy.random.default_rng(1)
    for case in cases:
        if case["threads"] != threads:
            continue
        join, aggregate = algebras[case["algebra"]]
        m, k, n = case["m"], case["k"], case["n"]
        a = jnp.asarray(random.random((m, k)), DTYPES[case["type"]])
        b = jnp.asarray(random.random((k, n)), DTYPES[case["type"]])
        # Both ways round; XLA fuses join and reduction, so that nothing of three labels is stored.
        forms = (
            jax.jit(lambda x, y: aggregate(join(x[:, :, None], y[None, :, :]), axis=1)),
            jax.jit(lambda x, y: aggregate(join(x[:, None, :], y.T[None, :, :]), axis=2)),
        )
        best = min(shortest(lambda: form(a, b).block_until_ready(), seconds) for form in forms)
        theirs = m * k * n / best
        ours = case["einsum_joins_per_second"]
        print(
            f"{case['algebra']:<16} {case['type']:<6} {m}x{k}x{n}  ours {ours * 1e-9:7.2f}  "
            f"JAX {theirs * 1e-9:7.2f} 10^9 joins/s  ratio {ours / theirs:6.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ours", help="what contractions or semirings --json wrote")
    parser.add_argument("--threads", type=int, default=1, help="of semirings' cases")
    parser.add_argument("--seconds", type=float, default=0.3, help="to repeat a case")
    options = parser.parse_args()
    ours = json.load(open(options.ours, encoding="utf-8"))
    if isinstance(ours, list):
        use_threads(str(options.threads))
        compare_semirings(ours, options.threads, options.seconds)
        return
    use_threads(str(ours["threads"]))
    if not importlib.util.find_spec("numpy"):
        sys.exit("NumPy is needed: pip install numpy (and opt_einsum, jax)")
    import numpy

    here = os.path.dirname(os.path.abspath(__file__))
    sizes = extents_by_text(os.path.join(here, "contraction_cases.hpp"))
    order = "F" if ours["layout"] == "left" else "C"
    random = numpy.random.default_rng(1)
    in_order, at_all = [], []
    for case in ours["cases"]:
        text = case["contraction"]
        operands = [
            numpy.asarray(
                random.random([sizes[text][label] for label in labels]), DTYPES[ours["type"]], order
            )
            for labels in text.split("->")[0].split(",")
        ]
        times = {
            name: shortest(call, options.seconds) for name, call in contenders(text, *operands, order)
        }
        in_order.append(min(t for name, t in times.items() if name != "strided") / case["seconds"])
        at_all.append(min(times.values()) / case["seconds"])
        shown = "  ".join(f"{name} {seconds * 1e3:9.3f} ms" for name, seconds in times.items())
        print(f"{text:<20} ours {case['seconds'] * 1e3:9.3f} ms  {shown}  ratio {in_order[-1]:6.2f}", flush=True)
    print(
        f"geometric mean {geometric_mean(in_order):.2f} over {len(in_order)}; "
        f"{geometric_mean(at_all):.2f} where NumPy's result may have any strides"
    )


if __name__ == "__main__":
    main()
