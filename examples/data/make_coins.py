#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes coins.npy, a photograph of 100 x 128 grey values, and what SciPy's filters make of it:
coins_edges.npy, the steepness of the photograph blurred, and coins_background.npy, its opening by a
ball that is larger than the coins, as it is on a torus.

    pip install numpy scipy scikit-image && examples/data/make_coins.py
"""
import pathlib

import numpy as np
from scipy import ndimage
from skimage import data

folder = pathlib.Path(__file__).parent

# Every pixel the mean of 3 x 3.
photograph = data.coins()[:300].astype(np.uint32).reshape(100, 3, 128, 3).sum(axis=(1, 3))
photograph = ((photograph + 4) // 9).astype(np.uint8)

blurred = ndimage.gaussian_filter(photograph.astype(float), sigma=1.5, mode="nearest")
edges = np.hypot(ndimage.sobel(blurred, axis=0, mode="nearest"),
                 ndimage.sobel(blurred, axis=1, mode="nearest"))

distance = np.arange(19) - 9
ball = -(distance[:, None] ** 2 + distance ** 2) // 4
background = ndimage.grey_opening(photograph.astype(np.int32), structure=ball, mode="wrap")
assert background.min() >= 0 and background.max() <= 255

np.save(folder / "coins.npy", photograph)
np.save(folder / "coins_edges.npy", edges.astype(np.float32))
np.save(folder / "coins_background.npy", background.astype(np.uint8))
