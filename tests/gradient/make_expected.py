# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives by JAX, and losses of training by Optax, for the tests of this folder:
pip install jax==0.10.2 optax==0.2.8 numpy==2.4.6
python3 make_expected.py > expected.inc"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import erf, erfc

jax.config.update("jax_enable_x64", True)


def numbers(shape, seed, least, most):
    """As jax.hpp has them."""
    count = int(np.prod(shape))
    i = np.arange(count, dtype=np.int64)
    step = (i * 7919 + seed * 104729) % 1009
    return jnp.array((least + (most - least) * (step + 0.5) / 1009).reshape(shape))


def emit(name, array):
    values = ", ".join(repr(float(v)) for v in np.asarray(array).ravel())
    print('{"%s", {%s}},' % (name, values))


n = 6
C, V = numbers(n, 2, -1, 1), numbers(n, 3, -1, 1)

one = {
    "exp": (jnp.exp, -2, 2), "log": (jnp.log, 0.1, 3), "sqrt": (jnp.sqrt, 0.1, 3),
    "tanh": (jnp.tanh, -2, 2), "sin": (jnp.sin, -3, 3), "cos": (jnp.cos, -3, 3),
    "tan": (jnp.tan, -1, 1), "asin": (jnp.arcsin, -0.9, 0.9), "acos": (jnp.arccos, -0.9, 0.9),
    "atan": (jnp.arctan, -3, 3), "sinh": (jnp.sinh, -2, 2), "cosh": (jnp.cosh, -2, 2),
    "asinh": (jnp.arcsinh, -3, 3), "acosh": (jnp.arccosh, 1.1, 4),
    "atanh": (jnp.arctanh, -0.9, 0.9), "exp2": (jnp.exp2, -2, 2), "expm1": (jnp.expm1, -2, 2),
    "log2": (jnp.log2, 0.1, 3), "log10": (jnp.log10, 0.1, 3), "log1p": (jnp.log1p, -0.5, 3),
    "cbrt": (jnp.cbrt, 0.2, 3), "erf": (erf, -2, 2), "erfc": (erfc, -2, 2),
    "square": (jnp.square, -2, 2), "sigmoid": (jax.nn.sigmoid, -3, 3), "silu": (jax.nn.silu, -3, 3),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), -3, 3),
}
for name, (f, least, most) in one.items():
    x = numbers(n, 1, least, most)
    first = lambda x: jax.vjp(f, x)[1](C)[0]
    emit(name + ".1", first(x))
    emit(name + ".2", jax.grad(lambda x: jnp.sum(first(x) * V))(x))

two = {
    "mul": (lambda a, b: a * b, -2, 2), "sub": (lambda a, b: a - b, -2, 2),
    "div": (lambda a, b: a / b, 0.5, 2), "sq_diff": (lambda a, b: (a - b) ** 2, -2, 2),
    "abs_diff": (lambda a, b: jnp.abs(a - b), -2, 2), "min": (jnp.minimum, -2, 2),
    "max": (jnp.maximum, -2, 2), "pow": (jnp.power, 0.2, 3), "mod": (jnp.mod, 0.3, 2),
    "atan2": (jnp.arctan2, -2, 2), "hypot": (lambda a, b: jnp.sqrt(a * a + b * b), -2, 2),
    "composed": (lambda a, b: jnp.exp(a * 0.5) * jnp.log(b) - jnp.sqrt(a + 2 * b), 0.2, 2),
}
for name, (f, least, most) in two.items():
    x, z = numbers(n, 1, least, most), numbers(n, 4, least, most)
    first = lambda x, z: jax.vjp(f, x, z)[1](C)
    second = lambda x, z: jnp.sum(first(x, z)[0] * V + first(x, z)[1] * V * V)
    emit(name + ".X", first(x, z)[0])
    emit(name + ".Z", first(x, z)[1])
    if name in ("sub", "min", "max", "abs_diff", "mod"):
        continue
    dx, dz = jax.grad(second, (0, 1))(x, z)
    emit(name + ".XX", dx)
    emit(name + ".ZZ", dz)


def structure(name, f, *arguments):
    """The products of the derivatives of f with a cotangent, and with tangents."""
    y, back = jax.vjp(f, *arguments)
    cotangents = back(numbers(y.shape, 9, -1, 1))
    for number, cotangent in enumerate(cotangents):
        emit("%s.%d" % (name, number), cotangent)
    tangents = [numbers(x.shape, 10 + k, -1, 1) for k, x in enumerate(arguments)]
    emit(name + ".jvp", jax.jvp(f, arguments, tuple(tangents))[1])


A, B, D, S = (numbers((3, 4), 1, -1, 1), numbers((4, 5), 2, -1, 1), numbers((3, 5), 3, -1, 1),
              numbers((4, 4), 4, -1, 1))
v = numbers((4,), 5, -1, 1)
structure("matmul", lambda a, b: a @ b, A, B)
structure("diagonal", lambda s: jnp.einsum("ii->i", s), S)
structure("trace", lambda s: jnp.einsum("ii->", s * s), S)
structure("outer", lambda a, b: jnp.einsum("i,j->ij", a[:, 0], b[0]), A, B)
structure("sum_ac", lambda t: jnp.einsum("abcd->bd", t), numbers((2, 3, 2, 2), 6, -1, 1))
structure("broadcast", lambda v: jnp.broadcast_to((v * v)[:, None], (4, 3)), v)
structure("twice", lambda s: s * s.T, S)
structure("min_plus", lambda a, b: jnp.min(a[:, :, None] + b[None], axis=1), A, B)
structure("distances", lambda a, d: jnp.sum((a[:, None, :] - d[None, :, :4]) ** 2, axis=2), A, D)
structure("manhattan", lambda a, d: jnp.sum(jnp.abs(a[:, None, :] - d[None, :, :4]), axis=2), A, D)
structure("ties", lambda t: jnp.max(t, axis=1),
          jnp.array([[1.0, 2, 2, 2], [0, 1, 0, 0], [3, 3, 3, 3]]))
structure("ties_min", lambda t: jnp.min(t, axis=1),
          jnp.array([[1.0, 2, 2, 2], [0, 1, 0, 0], [3, 3, 3, 3]]))
structure("prod", lambda t: jnp.prod(t, axis=1),
          jnp.array([[1.5, 2, -2, 3], [0, 1.5, 2, 3], [0, 3, 0, 2]]))


def product_twice(t):
    """The products of the second derivatives of products with numbers."""
    y = lambda t: jnp.prod(t, axis=(1, 2))
    first = lambda t: jax.vjp(y, t)[1](numbers(t.shape[:1], 8, -1, 1))[0]
    return jnp.sum(first(t) * numbers(t.shape, 7, -1, 1))


# Rows with no factor that is 0, with one, with two and with three.
zeros = numbers((4, 2, 6), 6, -2, 2)
zeros = zeros.at[1, 0, 3].set(0).at[2, 0, 5].set(0).at[2, 1, 0].set(0)
zeros = zeros.at[3, 0, 1].set(0).at[3, 0, 2].set(0).at[3, 1, 4].set(0)
emit("prod_twice.0", jax.grad(product_twice)(zeros))
structure("lse", lambda a: jax.nn.logsumexp(a, axis=1), A)
structure("softmax", lambda a: jax.nn.softmax(a, axis=1), A)
structure("log_softmax", lambda a: jax.nn.log_softmax(a, axis=1), A)


def layer_norm(a):
    m = jnp.mean(a, axis=1, keepdims=True)
    return (a - m) / jnp.sqrt(jnp.mean((a - m) ** 2, axis=1, keepdims=True) + 1e-3)


structure("layer_norm", layer_norm, A)
structure("rms_norm", lambda a: a / jnp.sqrt(jnp.mean(a * a, axis=1, keepdims=True) + 1e-3), A)
structure("var", lambda a: jnp.var(a, axis=1), A)
structure("norm", lambda a: jnp.linalg.norm(a), A)
structure("attention",
          lambda q, k, w: jax.nn.softmax(0.5 * q @ k.T, axis=1) @ w,
          A, numbers((5, 4), 7, -1, 1), numbers((5, 2), 8, -1, 1))
structure("max_of_exp", lambda a, v: jnp.max(jnp.exp(a) * v + a, axis=1), A, v)
L = numbers((3, 21), 1, -1, 1)
structure("cumsum", lambda a: jnp.cumsum(a, axis=1), L)
structure("cumsum_of_exp", lambda a: jnp.cumsum(jnp.exp(a), axis=0) * a, L)
structure("cumsum_flat", lambda a: jnp.cumsum(jnp.exp(a)).reshape(a.shape) * a, L)
structure("cumprod_flat", lambda a: jnp.cumprod(a).reshape(a.shape), L)
structure("cumprod", lambda a: jnp.cumprod(a, axis=1), L)
structure("cumprod_of_few", lambda a: jnp.cumprod(a, axis=0).T, L)
structure("cummax", lambda a: jax.lax.cummax(a, axis=1).T, L)
structure("cumlogsumexp", lambda a: jax.lax.cumlogsumexp(a, axis=1), L)


def twice(name, f, x):
    """The product of the second derivatives of f with a cotangent and a tangent."""
    first = lambda x: jax.vjp(f, x)[1](numbers(f(x).shape, 8, -1, 1))[0]
    emit(name + ".twice", jax.grad(lambda x: jnp.sum(first(x) * numbers(x.shape, 7, -1, 1)))(x))


few = L[:, :4]
# Rows with no factor that is 0, with one and with two.
holes = L.at[1, 5].set(0).at[2, 3].set(0).at[2, 9].set(0)
twice("cumsum_of_exp", lambda a: jnp.cumsum(jnp.exp(a), axis=0) * a, L)
twice("cumsum_of_square", lambda a: jnp.cumsum(a * a, axis=1) ** 2, L)
twice("cumprod", lambda a: jnp.cumprod(a, axis=1), L)
twice("cumprod_of_holes", lambda a: jnp.cumprod(a, axis=1), holes)
twice("cumprod_of_few", lambda a: jnp.cumprod(a, axis=1), few)
twice("cumprod_of_few_holes", lambda a: jnp.cumprod(a, axis=1), holes[:, 2:6])
twice("cumprod_backwards", lambda a: jax.lax.cumprod(a, axis=1, reverse=True), holes)
twice("cummax", lambda a: jax.lax.cummax(jnp.exp(a), axis=1).T ** 2, L)
twice("cummin", lambda a: jax.lax.cummin(a ** 3, axis=0) * a, L)
twice("cumlogsumexp", lambda a: jax.lax.cumlogsumexp(a, axis=1), L)
twice("cumlogsumexp_of_few", lambda a: jax.lax.cumlogsumexp(a, axis=0), L)
twice("cumlogsumexp_backwards", lambda a: jax.lax.cumlogsumexp(a, axis=1, reverse=True) ** 2, L)
structure("three", lambda a, b, d: jnp.einsum("ij,jk,ik->i", a, b, d), A, B, D)
structure("select", lambda a: jnp.where(a > 0.2, jnp.exp(a), 3 * a), A)
structure("clip", lambda a: jnp.clip(a, -0.5, 0.4), A)
structure("relu_abs", lambda a: jax.nn.relu(a) + 2 * jnp.abs(a), A)

I, F = numbers((2, 3, 7, 7), 11, -1, 1), numbers((4, 3, 3, 3), 12, -1, 1)


def conv(stride, pad, dilation):
    return lambda i, f: jax.lax.conv_general_dilated(
        i, f, (stride, stride), ((pad, pad), (pad, pad)), rhs_dilation=(dilation, dilation))


for stride, pad, dilation in ((1, 0, 1), (1, 1, 1), (2, 1, 1), (2, 0, 2), (3, 1, 1)):
    structure("conv_%d_%d_%d" % (stride, pad, dilation), conv(stride, pad, dilation), I, F)
structure("conv_1d", lambda x, w: jnp.convolve(x, w, "same"), numbers((9,), 13, -1, 1),
          numbers((3,), 14, -1, 1))
structure("conv_groups", lambda i, f: jax.lax.conv_general_dilated(
    i, f, (1, 1), ((1, 1), (1, 1)), feature_group_count=3), I, numbers((3, 1, 3, 3), 15, -1, 1))
structure("conv_3d", lambda i, f: jax.lax.conv_general_dilated(
    i, f, (2, 1, 1), ((1, 1), (0, 0), (1, 1))), numbers((1, 2, 4, 3, 4), 16, -1, 1),
          numbers((2, 2, 3, 2, 3), 17, -1, 1))


def padded_conv(stride, pads, dilation, groups, mode):
    """A convolution of what np.pad makes of an image by that mode."""
    kind = {"zero": "constant", "periodic": "wrap", "clamp": "edge", "reflect": "reflect"}[mode]
    return lambda i, f: jax.lax.conv_general_dilated(
        jnp.pad(i, ((0, 0), (0, 0)) + pads, mode=kind), f, stride, "VALID", rhs_dilation=dilation,
        feature_group_count=groups)


# Paddings that differ before and behind, one of them wider than the image.
for mode in ("zero", "periodic", "clamp", "reflect"):
    structure("conv_1d_" + mode, padded_conv((2,), ((6, 3),), (3,), 1, mode),
              numbers((2, 2, 5), 18, -1, 1), numbers((3, 2, 3), 19, -1, 1))
    structure("conv_2d_" + mode, padded_conv((2, 1), ((2, 1), (0, 3)), (1, 2), 2, mode),
              numbers((2, 4, 5, 4), 20, -1, 1), numbers((4, 2, 3, 2), 21, -1, 1))
    structure("conv_3d_" + mode,
              padded_conv((1, 2, 1), ((1, 1), (2, 0), (4, 2)), (2, 1, 3), 2, mode),
              numbers((1, 4, 3, 4, 2), 22, -1, 1), numbers((2, 2, 2, 3, 2), 23, -1, 1))


def pool(i, window, stride, pad):
    return jax.lax.reduce_window(i, -jnp.inf, jax.lax.max, (1, 1, window, window),
                                 (1, 1, stride, stride),
                                 ((0, 0), (0, 0), (pad, pad), (pad, pad)))


structure("pool_3_2_1", lambda i: pool(i, 3, 2, 1), I)
structure("pool_2_2_0", lambda i: pool(i, 2, 2, 0), I)
structure("reversed", lambda s: s[::-1] * s, S)
structure("row", lambda s: jnp.exp(s[2]), S)
structure("every_second", lambda x: jnp.sin(x[::2]), numbers((9,), 13, -1, 1))
structure("shifted", lambda x: x[1:] - x[:-1] * x[1:], numbers((9,), 13, -1, 1))
structure("periodic", lambda x: jnp.roll(x, -1) * x - jnp.roll(x, 2), numbers((9,), 13, -1, 1))
structure("windows", lambda x: jnp.sum(jnp.stack([x[k:k + 7] ** 2 for k in range(3)]), axis=0).sum(),
          numbers((9,), 13, -1, 1))
structure("off_diagonal", lambda s: jnp.square(jnp.diagonal(s, 1)), S)
structure("mean", lambda a: jnp.mean(jnp.exp(a), axis=1), A)
structure("stddev", lambda a: jnp.std(a, axis=0), A)
structure("compensated_sum", lambda a: jnp.sum(jnp.exp(a), axis=1), A)
U = numbers((3, 4), 24, 0, 1)
structure("dropout", lambda a: jnp.where(U < 0.3, 0, jnp.exp(a) / 0.7), A)
structure("symmetrize", lambda s: jnp.exp(s) + jnp.exp(s).T, S)
structure("antisymmetrize", lambda s: jnp.exp(s) - jnp.exp(s).T, S)
structure("exchange", lambda s: jnp.exp(s).T * s, S)
structure("symmetric", lambda s: s @ s.T, S)
structure("antisymmetric", lambda s: s @ s - (s @ s).T, S)
structure("concat", lambda a, s: jnp.concatenate((a * a, jnp.exp(s))), A, S)
structure("pad", lambda a: jnp.pad(jnp.exp(a), ((1, 2), (0, 3)), constant_values=7), A)
structure("blocks", lambda a, s: jnp.zeros((6, 6)).at[1:4, 2:6].set(a * a).at[2:, :4].add(jnp.exp(s)),
          A, S)
i = jnp.array([3, 0, 3, 1])
structure("gather", lambda s: jnp.exp(s[i]), S)
structure("scatter", lambda s, v: jnp.zeros((5, 4)).at[i].add(s * v), S, v)


def multi_head_attention(x, q, o):
    k, v = numbers((4, 2, 3), 25, -1, 1), numbers((4, 2, 3), 26, -1, 1)
    q, k, v = (jnp.einsum("sa,ahd->hsd", x, w) for w in (q, k, v))
    weights = jax.nn.softmax(0.5 * jnp.einsum("hsd,htd->hst", q, k))
    return jnp.einsum("hst,htd,ahd->sa", weights, v, o)


structure("multi_head_attention", multi_head_attention, A, numbers((4, 2, 3), 27, -1, 1),
          numbers((4, 2, 3), 28, -1, 1))
structure("conv_transpose", lambda x, w: jax.lax.conv_general_dilated(
    x[None, None], w[None, None, ::-1], (1,), ((1, 2),), lhs_dilation=(2,))[0, 0],
          numbers((9,), 13, -1, 1), numbers((3,), 14, -1, 1))
for mode in ("wrap", "edge", "reflect"):
    structure("pool_" + mode,
              lambda i: pool(jnp.pad(i, ((0, 0), (0, 0), (1, 1), (1, 1)), mode=mode), 3, 2, 0),
              numbers((1, 2, 6, 5), 29, -1, 1))


def losses(name, loss, weights, optimiser):
    """The losses before each of 50 steps, in both precisions."""
    for type, suffix in ((jnp.float32, ".float"), (jnp.float64, ".double")):
        values = [w.astype(type) for w in weights]
        state = optimiser.init(values)
        found = []
        step = jax.jit(jax.value_and_grad(loss))
        for _ in range(50):
            value, gradients = step(values)
            found.append(value)
            updates, state = optimiser.update(gradients, state, values)
            values = optax.apply_updates(values, updates)
        emit(name + suffix, jnp.array(found))


def cross_entropy(logits, targets):
    return -jnp.mean(jnp.sum(targets.astype(logits.dtype) * jax.nn.log_softmax(logits), axis=1))


def perceptron(weights):
    w1, b1, w2 = weights
    x = numbers((12, 9), 1, -1, 1).astype(w1.dtype)
    return cross_entropy(jax.nn.relu(x @ w1 + b1) @ w2, numbers((12, 5), 2, 0, 0.4))


def convolutional(weights):
    f, b, w = weights
    x = numbers((6, 2, 6, 6), 1, -1, 1).astype(f.dtype)
    y = jax.nn.relu(conv(1, 1, 1)(x, f) + b[:, None, None])
    y = jnp.max(y.reshape(6, 4, 3, 2, 3, 2), axis=(3, 5))
    return cross_entropy(jnp.einsum("boyx,oyxk->bk", y, w), numbers((6, 5), 2, 0, 0.4))


def transformer(weights):
    """Two layers whose norms come first; tokens are the numbers rounded down."""
    e, p, *layers, u = weights
    x, d = (jnp.floor(numbers((4, 6), seed, 0, 7)).astype(int) for seed in (1, 2))
    y = e[x] + p
    for g, wq, wk, wv, wo, w1, w2 in (layers[:7], layers[7:]):
        n = normed(y) * g
        q, k, v = (jnp.einsum("bsd,dhe->bhse", n, w) for w in (wq, wk, wv))
        scores = jnp.where(jnp.tri(6, dtype=bool), 0.5 * jnp.einsum("bhse,bhte->bhst", q, k), -jnp.inf)
        o = jnp.einsum("bhst,bhte->bhse", jax.nn.softmax(scores), v)
        r = y + jnp.einsum("bhse,hed->bsd", o, wo)
        y = r + jax.nn.gelu(normed(r) @ w1, approximate=False) @ w2
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(y @ u), d[..., None], axis=2))


def normed(y):
    c = y - jnp.mean(y, axis=-1, keepdims=True)
    return c / jnp.sqrt(jnp.mean(c * c, axis=-1, keepdims=True) + 1e-5)


layers = [numbers((9, 8), 3, -1, 1), numbers((8,), 4, -1, 1), numbers((8, 5), 5, -1, 1)]
filters = [numbers((4, 2, 3, 3), 3, -0.5, 0.5), numbers((4,), 4, -1, 1),
           numbers((4, 3, 3, 5), 5, -0.5, 0.5)]
losses("sgd", perceptron, layers, optax.sgd(0.1))
losses("momentum", perceptron, layers, optax.sgd(0.1, momentum=0.8))
losses("adam", perceptron, layers, optax.adamw(0.02, weight_decay=0.03))
losses("clipped", perceptron, layers,
       optax.chain(optax.clip_by_global_norm(0.2), optax.sgd(0.1)))
losses("convolutional", convolutional, filters, optax.adam(0.003, eps=1e-4))

heads = [numbers((7, 8), 3, -1, 1), numbers((6, 8), 4, -1, 1)]
for seed in (10, 20):
    heads += [numbers((8,), seed, 0.5, 1.5)]
    heads += [numbers((8, 2, 4), seed + n, -0.5, 0.5) for n in (1, 2, 3)]
    heads += [numbers((2, 4, 8), seed + 4, -0.5, 0.5), numbers((8, 16), seed + 5, -0.5, 0.5),
              numbers((16, 8), seed + 6, -0.5, 0.5)]
heads += [numbers((8, 7), 5, -0.5, 0.5)]
losses("transformer", transformer, heads, optax.adamw(0.003, eps=1e-4, weight_decay=0.01))


def complex_numbers(shape, seed, least, most):
    return numbers(shape, seed, least, most) + 1j * numbers(shape, seed + 100, least, most)


def emit_complex(name, array):
    emit(name, np.asarray(array).astype(complex).view(float))


def modulus(x):
    return jnp.abs(x)


z, w, r = complex_numbers(n, 1, -1.5, 1.5), complex_numbers(n, 4, -1.5, 1.5), numbers(n, 7, -2, 2)
cases = {
    "product": lambda z, w, r: z * w * r,
    "quotient": lambda z, w, r: z * r / w,
    "functions": lambda z, w, r: jnp.exp(z) * jnp.sin(w) - jnp.sqrt(z) * jnp.log(w) + jnp.tanh(z) * r,
    "conj": lambda z, w, r: jnp.conj(z) * w * r,
    "inner": lambda z, w, r: jnp.conj(z * w) * jnp.exp(z) * r,
    "parts": lambda z, w, r: jnp.real(z) * w + 2j * jnp.imag(w * r) * z,
    "modulus": lambda z, w, r: modulus(z * w) * r,
    "square": lambda z, w, r: jnp.square(modulus(z)) + r * jnp.square(modulus(w)),
    "real": lambda z, w, r: jnp.real(jnp.conj(z) * w * w + r),
    "chosen": lambda z, w, r: jnp.where(r > 0, z * r, jnp.conj(w)),
    "rectified": lambda z, w, r: jax.nn.relu(jnp.real(z)) * w
    + jnp.clip(jnp.imag(w), -1, 1) * jnp.maximum(modulus(z), r),
    "scaled": lambda z, w, r: (0.5 - 2j) * jnp.conj(z) + (1 + 3j) * w + r,
}
c, t = complex_numbers(n, 9, -1, 1), complex_numbers(n, 12, -1, 1)
for name, f in cases.items():
    real = not jnp.iscomplexobj(f(z, w, r))
    for x, by in zip("zwr", jax.vjp(f, z, w, r)[1](jnp.real(c) if real else c)):
        emit_complex(f"complex.{name}.{x}", by)
    emit_complex(f"complex.{name}.t", jax.jvp(f, (z, w, r), (t, 2 * t, jnp.real(t)))[1])

for name, by in zip("zw", jax.vjp(lambda z, w: z / w, z, w)[1](c)):
    emit_complex(f"complex.divided.{name}", by)
emit_complex("complex.divided.t", jax.jvp(lambda z, w: z / w, (z, w), (t, 2 * t))[1])

A, x = complex_numbers((5, 3), 1, -1, 1), complex_numbers((3, 4), 4, -1, 1)
R, b = numbers((6, 5), 7, -1, 1), complex_numbers((6, 4), 9, -1, 1)


def least_squares(A, x, R):
    return jnp.sum(modulus(R @ (A @ jnp.conj(x)) - b) ** 2)


for name, by in zip("AxR", jax.grad(least_squares, (0, 1, 2))(A, x, R)):
    emit_complex(f"complex.least_squares.{name}", by)

loss = lambda z, w: jnp.sum(modulus(z * z * jnp.conj(w)) ** 2)
again = lambda z, w: jnp.sum(jnp.real(jnp.conj(t) * jax.grad(loss)(z, w)))
for name, by in zip("zw", jax.grad(again, (0, 1))(z, w)):
    emit_complex(f"complex.twice.{name}", by)
