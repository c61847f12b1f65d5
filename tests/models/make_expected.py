# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What networks say and how a step of training changes them, by JAX, for training_test.cpp:
python3 make_expected.py > expected.inc"""

import math

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def numbers(shape, seed, least, most):
    """As training_test.cpp has them."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    step = (i * 7919 + seed * 104729) % 1009
    return jnp.array((least + (most - least) * (step + 0.5) / 1009).reshape(shape))


def emit(name, array):
    values = ", ".join(repr(float(v)) for v in np.asarray(array).ravel())
    print('{"%s", {%s}},' % (name, values))


def conv(features, window, stride=1, pad=0):
    return "conv", features, window, stride, pad


def pool(window, stride):
    return "pool", 0, window, stride, 0


def dense(features):
    return "dense", features, 0, 1, 0


def say(layers, weights, x):
    weights = iter(weights)
    for n, (kind, _, window, stride, pad) in enumerate(layers):
        if kind == "pool":
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, window, window),
                                      (1, 1, stride, stride), "VALID")
            continue
        if kind == "conv":
            x = jax.lax.conv_general_dilated(x, next(weights), (stride, stride), [(pad, pad)] * 2)
        else:
            w = next(weights)
            x = jnp.tensordot(x, w, w.ndim - 1)
        if n + 1 < len(layers):
            x = jax.nn.relu(x)
    return x


def network(name, batch, channels, image, layers, rate=0.01):
    weights = []
    shape = (batch, channels, image, image)
    x = numbers(shape, 1, -1, 1)
    for n, (kind, features, window, stride, pad) in enumerate(layers):
        if kind == "dense":
            weights.append(shape[1:] + (features,))
            shape = (batch, features)
        else:
            side = (shape[2] + 2 * pad - window) // stride + 1
            if kind == "conv":
                weights.append((features, shape[1], window, window))
            shape = (batch, features or shape[1], side, side)
    # So large that what the layers say neither grows nor dies.
    fan_in = [math.prod(w[1:]) if len(w) == 4 and w[2] == w[3] else math.prod(w[:-1]) for w in weights]
    weights = [numbers(w, 2 + n, -math.sqrt(6 / f), math.sqrt(6 / f))
               for n, (w, f) in enumerate(zip(weights, fan_in))]
    target = numbers(shape, 99, -1, 1)
    said = say(layers, weights, x).ravel()
    emit(name, said[::max(1, said.size // 100)])
    emit_step(name, lambda w: say(layers, w, x) - target, weights, rate)


def emit_step(name, error, weights, rate):
    gradients = jax.grad(lambda w: jnp.sum(error(w) ** 2) / 2)(weights)
    # Of every weight's next value, a sum that no two elements enter alike.
    emit(name + ".step", [jnp.sum((w - rate * g) * numbers(w.shape, 7, -1, 1))
                          for w, g in zip(weights, gradients)])


def transformer(name, layers, batch, sequence, model, heads, pairs, hidden, rate):
    shapes = [(model,), (model,), (model, heads, pairs, 2), (model, heads, pairs, 2),
              (model, heads, 2 * pairs), (heads, 2 * pairs, model), (model, hidden),
              (hidden, model), (model, hidden)] * layers + [(model,)]
    weights = [numbers(s, 2 + n, 0.5, 1.5) if len(s) == 1 else numbers(s, 2 + n, -0.5, 0.5)
               for n, s in enumerate(shapes)]
    x = numbers((batch, sequence, model), 1, -1, 1)
    target = numbers(x.shape, 99, -1, 1)
    rotary = numbers((sequence, pairs, 2, 2), 98, -1, 1)
    rms = lambda v, gain: gain * v / jnp.sqrt(jnp.mean(v * v, axis=-1, keepdims=True) + 1e-6)

    def says(weights):
        y = x
        for l in range(layers):
            g1, g2, wq, wk, wv, wo, w1, w2, w3 = weights[9 * l:9 * l + 9]
            n = rms(y, g1)
            q, k = (jnp.einsum("bsa,ahru,sruw->bshrw", n, w, rotary) for w in (wq, wk))
            scores = jnp.einsum("bshrw,bthrw->bhst", q, k) / math.sqrt(2 * pairs)
            scores = jnp.where(jnp.tri(sequence, dtype=bool), scores, -jnp.inf)
            y = y + jnp.einsum("bhst,bta,ahd,hde->bse", jax.nn.softmax(scores), n, wv, wo)
            n = rms(y, g2)
            y = y + (jax.nn.silu(n @ w1) * (n @ w3)) @ w2
        return rms(y, weights[-1])

    emit(name, says(weights))
    emit_step(name, lambda w: says(w) - target, weights, rate)


network("alexnet", 2, 3, 67,
        [conv(6, 11, 4), pool(3, 2), conv(16, 5, 1, 2), pool(3, 2), conv(24, 3, 1, 1),
         conv(24, 3, 1, 1), conv(16, 3, 1, 1), pool(3, 2), dense(32), dense(32), dense(10)])
network("vgg16", 2, 3, 32,
        sum([[conv(f, 3, 1, 1)] * n + [pool(2, 2)]
             for f, n in ((4, 2), (8, 2), (16, 3), (32, 3), (32, 3))], [])
        + [dense(32), dense(32), dense(10)])
network("soybean.6", 3, 8, 6, [conv(8, 3, 1, 1)] * 5)
network("soybean.24", 2, 4, 24, [conv(4, 3, 1, 1)] * 5)
transformer("transformer", layers=2, batch=3, sequence=5, model=8, heads=2, pairs=3, hidden=7,
            rate=0.5)
