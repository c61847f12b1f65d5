# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a .npy file of zeros, without NumPy: zeros_npy.py FILE TYPE EXTENT...

TYPE is as NumPy writes it, "<i4" or "|u1".
"""

import math
import sys

file, element, *extents = sys.argv[1:]
header = f"{{'descr': '{element}', 'fortran_order': False, 'shape': ({', '.join(extents)},), }}"
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(file, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    out.write(bytes(int(element[-1]) * math.prod(map(int, extents))))
