# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes windows.hpp: what NumPy, SciPy and JAX give for slices, windows, convolutions, masks and blocks.

    python -m venv env && env/bin/pip install numpy scipy jax && env/bin/python make_windows.py

Inputs are the whole numbers of numpy_check.hpp, those of make_expected.py.
"""

import jax
import numpy
import scipy.linalg
import scipy.ndimage
import scipy.signal

from make_expected import values


def convolution(x, w, stride, padding, dilation, groups=1):
    """Images N, C, H, W under filters O, I, H, W."""
    return jax.lax.conv_general_dilated(
        x.astype("float32"), w.astype("float32"), stride, padding, rhs_dilation=dilation,
        feature_group_count=groups, dimension_numbers=("NCHW", "OIHW", "NCHW"))


def transposed(x, w, stride):
    """The gradient of a convolution without padding with respect to its images."""
    def forward(images):
        return jax.lax.conv_general_dilated(images, w.astype("float32"), (stride, stride), "VALID")
    height = stride * (x.shape[2] - 1) + w.shape[2]
    width = stride * (x.shape[3] - 1) + w.shape[3]
    images = jax.numpy.zeros((x.shape[0], w.shape[1], height, width), "float32")
    return jax.vjp(forward, images)[1](x.astype("float32"))[0]


def cases():
    x = values((9,), 0)
    w = values((3,), 1)
    yield "convolve_same", numpy.convolve(x, w, "same")
    yield "convolve_full", numpy.convolve(x, w, "full")
    yield "correlate_valid", numpy.correlate(x, w, "valid")
    m = values((6, 8), 0)
    k = values((3, 3), 1)
    yield "slices", m[1::2, ::-1]
    yield "row", m[4]
    yield "diff", numpy.diff(m, axis=0)
    yield "correlate2d_same", scipy.signal.correlate2d(m, k, "same")
    yield "convolve2d_valid", scipy.signal.convolve2d(m, k, "valid")
    yield "grey_dilation", scipy.ndimage.grey_dilation(
        m, structure=k, mode="constant", cval=-numpy.inf)
    yield "grey_erosion", scipy.ndimage.grey_erosion(
        m, structure=k, mode="constant", cval=numpy.inf)
    yield "maximum_filter", scipy.ndimage.maximum_filter(
        m, size=(3, 5), mode="constant", cval=-numpy.inf)
    yield "laplace", scipy.ndimage.laplace(m, mode="constant", cval=0)
    yield "sliding_sums", numpy.lib.stride_tricks.sliding_window_view(x, 4).sum(axis=1)
    image = values((2, 3, 9, 8), 0)
    # The stem of ResNet, the first layer of AlexNet, dilation, padding wider than the filter.
    yield "conv_7_2_3", convolution(image, values((2, 3, 7, 7), 1), (2, 2), ((3, 3), (3, 3)), (1, 1))
    yield "conv_5_4_2", convolution(image, values((2, 3, 5, 5), 1), (4, 4), ((2, 2), (2, 2)), (1, 1))
    # That layer's own window, on an image as wide as none of the sizes above divides.
    yield "conv_11_4_2", convolution(
        values((1, 1, 65, 11), 0), values((2, 1, 11, 11), 1), (4, 4), ((2, 2), (2, 2)), (1, 1))
    yield "conv_dilated", convolution(
        image, values((2, 3, 3, 3), 1), (1, 1), ((2, 2), (2, 2)), (2, 2))
    yield "conv_wide_padding", convolution(
        image, values((2, 3, 2, 2), 1), (1, 1), ((3, 3), (3, 3)), (1, 1))
    yield "conv_asymmetric", convolution(
        image, values((2, 3, 3, 3), 1), (2, 1), ((0, 1), (2, 0)), (1, 1))
    yield "conv_depthwise", convolution(
        image, values((3, 1, 3, 3), 1), (1, 1), ((1, 1), (1, 1)), (1, 1), 3)
    yield "conv_grouped", convolution(
        values((2, 4, 5, 5), 0), values((6, 2, 3, 3), 1), (1, 1), ((1, 1), (1, 1)), (1, 1), 2)
    yield "conv_transposed", transposed(values((1, 2, 4, 3), 0), values((2, 3, 3, 3), 1), 1)
    yield "conv_transposed_2", transposed(values((1, 2, 4, 3), 0), values((2, 3, 3, 3), 1), 2)
    yield "conv_transposed_3", transposed(values((1, 2, 4, 3), 0), values((2, 3, 2, 2), 1), 3)
    spread = numpy.zeros((11, 8))
    spread[::2] = m
    yield "spread", spread
    for mode in ("wrap", "edge", "reflect"):
        yield "pad_" + mode, numpy.pad(m, ((2, 3), (1, 8)), mode)
    for mode in ("wrap", "nearest", "mirror"):
        yield "correlate_" + mode, scipy.ndimage.correlate(m, k, mode=mode)
    yield "roll", numpy.roll(m, 2, axis=1)
    yield "tril", numpy.tril(m, 1)
    yield "triu", numpy.triu(m)
    yield "ramp", m * numpy.arange(8) + numpy.arange(6)[:, None]
    yield "eye", m + numpy.eye(6, 8)
    yield "one_hot", jax.nn.one_hot(numpy.asarray(x, "int32"), 4)
    yield "taken", m[numpy.arange(9) % 6]
    yield "cumsum", numpy.cumsum(m, axis=0)
    # Times the number of elements, so that they are whole.
    yield "average_pooling", 4 * m.reshape(3, 2, 4, 2).mean(axis=(1, 3))
    yield "var", 64 * m.var(axis=1)
    yield "sliding_windows", numpy.lib.stride_tricks.sliding_window_view(m, 3, axis=0)
    yield "cumprod", numpy.cumprod(m, axis=1)
    yield "cumsum_flat", numpy.cumsum(m).reshape(m.shape)
    yield "cumsum_flat_transposed", numpy.cumsum(m.T).reshape(8, 6).T
    yield "maximum_flat", numpy.maximum.accumulate(m.reshape(-1)).reshape(m.shape)
    cube = values((3, 2, 5), 0)
    yield "cumsum_flat_cube", numpy.cumsum(cube).reshape(cube.shape)
    yield "minimum_flat_of_cube", numpy.minimum.accumulate(
        cube.reshape(3, 10), axis=1).reshape(cube.shape)
    yield from index_tensors()
    yield from blocks()


def index_tensors():
    """What is read and written at indices that another tensor has."""
    m = values((6, 8), 0)
    along = values((6, 5), 1).astype(int)
    rows = values((9,), 0).astype(int)
    to = values((6,), 0).astype(int)
    yield "gathered", m[rows % 6]
    yield "take_along_axis", numpy.take_along_axis(m, along % 8, axis=1)
    added = numpy.zeros((5, 8))
    numpy.add.at(added, to % 5, m)
    yield "added_at", added
    most = numpy.full((5, 8), -9)
    numpy.maximum.at(most, to % 5, m.astype(int))
    yield "maximum_at", most
    yield "bincount", numpy.bincount(rows % 6, minlength=7)


def blocks():
    """Tensors put together from others."""
    m = values((6, 8), 0)
    n = values((4, 8), 1)
    k = values((3, 3), 1)
    c = values((6, 3), 1)
    x, y = values((8,), 0), values((8,), 1)
    yield "concatenate_0", numpy.concatenate([m, n])
    yield "concatenate_1", numpy.concatenate([m, c, 2 * m], axis=1)
    yield "block", numpy.block([[m, c], [n, numpy.full((4, 3), 9)]])
    yield "block_diag", scipy.linalg.block_diag(m, c, k)
    yield "stack_0", numpy.stack([x, y, x])
    yield "stack_1", numpy.stack([x, y], axis=1)
    yield "pad_constant", numpy.pad(m, ((1, 2), (0, 3)), constant_values=7)
    yield "rolled", numpy.roll(m, 2, axis=0)
    yield "filtered", scipy.signal.correlate2d(numpy.pad(m, 2, constant_values=7), k, "valid")
    interleaved = numpy.empty((12, 8))
    interleaved[::2], interleaved[1::2] = m, m[::-1]
    yield "interleaved", interleaved
    assigned = numpy.full((9, 16), 5)
    assigned[1:7, ::2] = m
    assigned[1:5, 1::2] = n + 1
    assigned[8, 3:11] = y
    assigned[:6, 15] = m.sum(axis=1)
    yield "assigned", assigned
    added = numpy.zeros((9, 8))
    added[:6] = m
    added[2:6] += n
    added[3:9] += 2 * m
    added[4, ::3] += k[0]
    yield "added", added
    frames = values((5, 8), 0)
    overlapping = numpy.zeros(8 + 4 * 3)
    for frame in range(5):
        overlapping[3 * frame:3 * frame + 8] += frames[frame]
    yield "overlapping", overlapping


def main():
    lines = []
    for name, result in cases():
        result = numpy.asarray(result, dtype=float)
        assert numpy.array_equal(result, numpy.round(result)), name
        numbers = ", ".join(str(int(number)) for number in result.ravel())
        bound = ", ".join(map(str, result.shape))
        lines.append(f"  {{\"{name}\", {{{{{bound}}}, {{{numbers}}}}}}},")
    with open("windows.hpp", "w") as file:
        file.write("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
                   "//\n// Written by make_windows.py.\n#pragma once\n\n"
                   "#include <map>\n#include <string>\n#include <vector>\n\n"
                   "namespace property::numpy {\n\n"
                   "struct Expected {\n  std::vector<long> bound;\n  std::vector<double> values;\n};\n\n"
                   "// clang-format off\n"
                   "inline const std::map<std::string, Expected> windows{\n")
        file.write("\n".join(lines))
        file.write("\n};\n// clang-format on\n\n}  // namespace property::numpy\n")


if __name__ == "__main__":
    main()
