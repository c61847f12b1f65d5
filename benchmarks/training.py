#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of training of AlexNet and of VGG-16 of this library beside JAX, in one run.

    training.py PATH/TO/training [--threads N] [--steps N] [--turns N]

Takes the program that training.cpp builds and times JAX's compiled step of the same network, the
same batch, and as many threads, by turns. Prints the ratios of the fastest steps.
"""

import argparse
import json
import os
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("program")
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--turns", type=int, default=2)
parser.add_argument("--alexnet", type=int, default=16)
parser.add_argument("--vgg", type=int, default=2)
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
if options.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp


def layers(net):
    """Features, window, stride and padding of convolutions; window and stride of pools; neurons."""
    if net == "alexnet":
        return 227, [("conv", 96, 11, 4, 0), ("pool", 3, 2), ("conv", 256, 5, 1, 2), ("pool", 3, 2),
                     ("conv", 384, 3, 1, 1), ("conv", 384, 3, 1, 1), ("conv", 256, 3, 1, 1),
                     ("pool", 3, 2), ("dense", 4096), ("dense", 4096), ("dense", 1000)]
    convolutions = sum([[("conv", f, 3, 1, 1)] * n + [("pool", 2, 2)]
                        for f, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))], [])
    return 224, convolutions + [("dense", 4096), ("dense", 4096), ("dense", 1000)]


def say(net, weights, x):
    weights = iter(weights)
    for n, (kind, *sizes) in enumerate(net):
        if kind == "pool":
            window, stride = sizes
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, window, window),
                                      (1, 1, stride, stride), "VALID")
            continue
        if kind == "conv":
            _, _, stride, pad = sizes
            x = jax.lax.conv_general_dilated(x, next(weights), (stride, stride), [(pad, pad)] * 2)
        else:
            w = next(weights)
            x = x.reshape(x.shape[0], -1) @ w.reshape(-1, w.shape[-1])
        if n + 1 < len(net):
            x = jax.nn.relu(x)
    return x


def step_of(net, batch):
    """JAX's step, and its first weights."""
    image, net = layers(net)
    shape = (batch, 3, image, image)
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 40))
    x = jax.random.normal(next(keys), shape, jnp.float32)
    weights = []
    for kind, *sizes in net:
        if kind == "dense":
            weights.append(shape[1:] + (sizes[0],))
            shape = (batch, sizes[0])
            continue
        window, stride, pad = sizes[1:] if kind == "conv" else sizes + [0]
        side = (shape[2] + 2 * pad - window) // stride + 1
        if kind == "conv":
            weights.append((sizes[0], shape[1], window, window))
        shape = (batch, sizes[0] if kind == "conv" else shape[1], side, side)
    weights = [0.01 * jax.random.normal(next(keys), w, jnp.float32) for w in weights]
    target = jax.random.normal(next(keys), shape, jnp.float32)
    loss = lambda w: jnp.sum((say(net, w, x) - target) ** 2) / 2

    def step(w):
        return [a - 1e-4 * g for a, g in zip(w, jax.grad(loss)(w))]

    return jax.jit(step, donate_argnums=0), weights


batches = {"alexnet": options.alexnet, "vgg16": options.vgg}
for net, batch in batches.items():
    if batch == 0:
        continue
    step, weights = step_of(net, batch)
    weights = step(weights)
    ours = theirs = float("inf")
    for _ in range(options.turns):
        jax.block_until_ready(weights)
        for _ in range(options.steps):
            begin = time.perf_counter()
            weights = jax.block_until_ready(step(weights))
            theirs = min(theirs, time.perf_counter() - begin)
        others = [f"--{name[:3] if name == 'vgg16' else name}" for name in batches if name != net]
        mine = "--vgg" if net == "vgg16" else "--alexnet"
        printed = subprocess.run(
            [options.program, "--json", "--steps", str(options.steps), mine, str(batch), others[0], "0"],
            env=environment, check=True, stdout=subprocess.PIPE, text=True,
        ).stdout
        ours = min(ours, json.loads(printed)[net])
    print(f"{net:<8} batch {batch:>3}  ours {1e3 * ours:9.1f} ms  JAX {1e3 * theirs:9.1f} ms  "
          f"JAX / ours {theirs / ours:.2f}", flush=True)
