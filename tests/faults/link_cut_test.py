# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A link that is cut ends the program on both sides of the cut, and its launcher.

    link_cut_test.py CLUSTER WAYS

Three nodes of an emulated cluster (CLUSTER is scripts/cluster); the last one's link is cut while the
program runs, and stays so. Needs root and Open MPI; the exit code is 77 where there is no cluster.
"""

import re
import subprocess
import sys
import tempfile
import time

NODES = 3
SECONDS = 40  # from the cut to the end of all processes
ATTEMPTS = 3  # of which one may not crash the launcher
# In mpirun of Open MPI 4.1, where what MPI_Abort says meets a connection that was lost.
LAUNCHER_CRASHED = "orte_rml_oob_send_buffer_nb"
ABSENT = (r"rank \d of 3 has waited longer than the time limit of 3 s in run \[.*ways.cpp:\d+\]"
          r".*ranks? (\d and )?2 does not answer.*; the program ends on all ranks")


def cut_a_link(cluster, ways):
    """What is wrong with how the program ends, and what it said."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        program = subprocess.Popen([cluster, "run", ways, "cut"], stdout=output,
                                   stderr=subprocess.STDOUT)
        time.sleep(4)
        faults = [] if program.poll() is None else ["it ended before the cut"]
        subprocess.run([cluster, "cut", str(NODES - 1)], check=True)
        begin = time.monotonic()
        try:
            program.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
            faults.append(f"it did not end within {SECONDS} s")
        took = time.monotonic() - begin
        left = subprocess.run(["pgrep", "-f", f"^{re.escape(ways)} cut"], capture_output=True,
                              text=True, check=False).stdout.split()
        if left:
            faults.append(f"processes {left} outlived it")
            subprocess.run(["kill", "-9", *left], check=False)
        output.seek(0)
        said = output.read()
    if program.returncode == 0:
        faults.append("exit code 0")
    if not re.search(ABSENT, said, re.DOTALL):
        faults.append(f"it does not say '{ABSENT}'")
    print(said)
    print(f"{took:.1f} s from the cut to the end")
    return faults, said


def main():
    cluster, ways = sys.argv[1:]
    for attempt in range(ATTEMPTS):
        up = subprocess.run([cluster, "up", str(NODES)], capture_output=True, text=True,
                            check=False)
        if up.returncode != 0:
            print(f"no cluster: {up.stdout}{up.stderr}")
            sys.exit(77)
        try:
            faults, said = cut_a_link(cluster, ways)
        finally:
            subprocess.run([cluster, "down"], check=False)
        if LAUNCHER_CRASHED not in said:
            break
        print(f"attempt {attempt + 1}: the launcher crashed")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
