#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of this library beside JAX, in one run.

    attention.py PATH/TO/attention [--threads N] [--runs N]

Takes the program that attention.cpp builds and, where jax is installed, times JAX's own attention and
softmax(QK^T)V as two einsums, each compiled, on the same sizes and as many threads. Prints the
ratio to the best of them.
"""

import argparse
import json
import os
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("program")
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--runs", type=int, default=20)
options = parser.parse_args()

cores = sorted(os.sched_getaffinity(0))[: options.threads]
os.sched_setaffinity(0, cores)  # JAX takes a thread per core that it may use
environment = os.environ | {
    "OMP_NUM_THREADS": str(options.threads),
    "OPENBLAS_NUM_THREADS": str(options.threads),
    "OMP_WAIT_POLICY": "active",
    "OMP_PROC_BIND": "true",
    "KOKKOS_DISABLE_WARNINGS": "1",  # they go where the figures go
}
ours = json.loads(
    subprocess.run(
        [options.program, "--json", "--runs", str(options.runs)],
        env=environment, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout
)
print(f"in steps      {ours['in_steps']['milliseconds']:8.2f} ms, beside inputs and result "
      f"{ours['in_steps']['extra_bytes'] / ours['scores_bytes']:.3f} of the scores' memory")
print(f"whole         {ours['whole']['milliseconds']:8.2f} ms, "
      f"{ours['whole']['extra_bytes'] / ours['scores_bytes']:.3f}")

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise SystemExit("jax is not installed; nothing to compare with") from None

batch, length, heads, width = 4, 512, 16, 64
keys = jax.random.split(jax.random.PRNGKey(0), 3)
q, k, v = (jax.random.normal(key, (batch, length, heads, width), jnp.float32) for key in keys)


@jax.jit
def two_einsums(q, k, v):
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / width**0.5
    return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, axis=-1), v)


@jax.jit
def heads_first(q, k, v):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = jnp.matmul(q, k.transpose(0, 1, 3, 2)) / width**0.5
    return jnp.matmul(jax.nn.softmax(scores, axis=-1), v).transpose(0, 2, 1, 3)


forms = {
    "jax.nn": jax.jit(jax.nn.dot_product_attention),
    "two einsums": two_einsums,
    "heads first": heads_first,
}
best = float("inf")
for name, form in forms.items():
    form(q, k, v).block_until_ready()
    fastest = float("inf")
    for _ in range(options.runs):
        begin = time.perf_counter()
        form(q, k, v).block_until_ready()
        fastest = min(fastest, time.perf_counter() - begin)
    print(f"{name:<13} {1e3 * fastest:8.2f} ms")
    best = min(best, 1e3 * fastest)
print(f"JAX's best takes {best / ours['in_steps']['milliseconds']:.2f} times as long as in steps")
