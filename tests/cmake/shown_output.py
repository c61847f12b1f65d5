# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a program prints what a page of the documentation shows.

    shown_output.py README.md "Plan by" command...

The block of the Markdown file that begins with these words must be part of the command's output.
"""

import pathlib
import re
import subprocess
import sys

page, beginning, *command = sys.argv[1:]
blocks = re.findall(r"^```\w*\n(.*?)^```$", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL)
shown = [block for block in blocks if block.startswith(beginning)]
if len(shown) != 1:
    sys.exit(f"{page} has {len(shown)} blocks that begin with '{beginning}'")
ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
if ran.returncode != 0:
    sys.exit(f"the command failed with code {ran.returncode}")
if shown[0] not in ran.stdout:
    sys.exit(f"{page} shows another output than this:\n{ran.stdout}")
