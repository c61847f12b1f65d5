#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs eindecomp-measure on one rank and on four, and plans for the machine that it writes.

    eindecomp_measure_test.py MEASURE PLAN MPIEXEC [MPIEXEC_OPTION...]
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

MEASURE, PLAN, *MPIEXEC = sys.argv[1:]
PROGRAM = pathlib.Path(__file__).resolve().parent / "programs" / "matmul.json"
QUICK = ("--seconds", "0.005", "--extent", "64", "--message", "65536")


def measure(ranks, *arguments):
    return subprocess.run([*MPIEXEC, "-n", str(ranks), MEASURE, *arguments], capture_output=True,
                          text=True, timeout=100, check=False)


class Measure(unittest.TestCase):
    def test_one_rank_has_no_links(self):
        done = measure(1, *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        machine = json.loads(done.stdout)
        self.assertEqual(list(machine), ["operations_per_second", "memory_bandwidth", "axes"])
        self.assertEqual(machine["axes"], [])
        self.assertTrue(1e6 < machine["operations_per_second"] < 1e14)
        self.assertTrue(1e7 < machine["memory_bandwidth"] < 1e13)

    def test_what_is_written_is_planned_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "machine.json"
            done = measure(4, *QUICK, "--memory", "1000000", "--output", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            machine = json.loads(path.read_text())
            self.assertEqual(machine["memory"], 1000000)
            self.assertEqual([axis["size"] for axis in machine["axes"]], [4])
            axis = machine["axes"][0]
            self.assertTrue(1e-8 < axis["latency"] < 1)
            self.assertTrue(1e5 < axis["bandwidth"] < 1e12)
            planned = subprocess.run([PLAN, PROGRAM, "--workers", "4", "--machine", path, "--cost",
                                      "time"], capture_output=True, text=True, check=False)
            self.assertEqual(planned.returncode, 0, planned.stderr)
            self.assertIn("A run takes", planned.stdout)

    def test_errors_are_one_line(self):
        for arguments, code, message in ((("--extent", "1"), 2, "--extent"),
                                         (("--nonsense",), 2, "--nonsense"),
                                         ((*QUICK, "--output", "/dev/full"), 1,
                                          "cannot write the machine to /dev/full (No space")):
            done = measure(2, *arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count("eindecomp-measure: "), 1, done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
