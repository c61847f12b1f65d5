# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""However one rank fails or leaves, all processes end within seconds, and say which rank and why.

    faults_test.py WAYS EXAMPLE MPIEXEC [MPIEXEC_OPTION...]
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid

SECONDS = 10  # from the start of the program to the end of its last process

LEFT = r"rank \d of {n} waits in {call} \[.*ways.cpp:\d+\] for rank {last}, which {how}; the program ends on all ranks"
ENDED = r"rank {{last}} of {{n}} {} while others went on; the program ends on all ranks"
RUN, MAKE, GATHER = "run", "the construction of an Executor", "gather of D"
BY_EXCEPTION = r"left the scope of its ScopedRuntime by an exception"
BY_RETURN = r"left the scope of its ScopedRuntime"
EXITED = r"exited in the scope of its ScopedRuntime"
ABSENT = (r"rank \d of {n} has waited longer than the time limit of 1 s in {call} \[.*ways.cpp:\d+\]"
          r".*ranks? (\d( |, |and )*)*{last} does not answer and was {seen}.*; the program ends on all ranks")
ELSEWHERE = "different calls, where they wait for each other"
SEEN_IN = r"last seen in {} \[.*ways.cpp:\d+\]"
# What the launcher says of a process that is no more.
KILLED = (r"(rank {last} with PID \d+|rank 0 with PID 0|PMIX|process rank {last}|\[\[\d+,1\],{last}\]"
          r"|BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES)")  # MPICH's names no rank

# (way, how it is called, processes, what all of it says; None for the exit code 0)
WAYS = [
    ("well", "", 3, None),
    ("well", "own-mpi", 3, None),
    ("posted", "own-mpi", 3, None),
    ("threads", "own-mpi", 2, None),
    # A time limit that one rank alone has.
    ("well", "first-limited", 3, None),
    ("halves", "first-limited", 4, None),
    # By an exception that the program catches around its ScopedRuntime.
    ("throw.before", "", 3, [ENDED.format(BY_EXCEPTION), "caught: the disk is full"]),
    ("throw.between", "", 2, [ENDED.format(BY_EXCEPTION), "caught: the disk is full"]),
    ("throw.between", "", 4, [ENDED.format(BY_EXCEPTION), "caught: the disk is full"]),
    ("throw.after", "", 3, [ENDED.format(BY_EXCEPTION), "caught: the disk is full"]),
    ("throw-int.between", "", 2, [ENDED.format(BY_EXCEPTION), "caught something"]),
    ("group", "", 3, [ENDED.format(BY_EXCEPTION), "caught: the disk is full"]),
    # The program goes on after it, or inside.
    ("throw.before", "lingers", 2, [LEFT, "caught: the disk is full", MAKE, BY_EXCEPTION]),
    ("throw.between", "lingers", 3, [LEFT, "caught: the disk is full", RUN, BY_EXCEPTION]),
    ("throw.after", "lingers", 4, [LEFT, "caught: the disk is full", GATHER, BY_EXCEPTION]),
    ("swallow", "", 2, [LEFT, "caught, and on we go", MAKE, BY_RETURN]),
    # By one that nobody catches.
    ("throw.before", "uncaught", 3, ["rank {last} of {n} threw .*nobody caught .the disk is full"]),
    ("throw.between", "uncaught", 2, ["rank {last} of {n} threw .*nobody caught .the disk is full"]),
    ("throw-int.after", "uncaught", 3, ["rank {last} of {n} threw an exception that nobody caught"]),
    ("thread.between", "", 2, ["rank {last} of {n} threw .*nobody caught .the disk is full"]),
    ("terminate.between", "", 2, ["rank {last} of {n} called std::terminate"]),
    # By return and exit.
    ("return", "", 3, [LEFT, "", MAKE, BY_RETURN]),
    ("exit.before", "", 2, [ENDED.format(EXITED)]),
    ("exit.between", "", 3, [ENDED.format(EXITED)]),
    ("exit-3.after", "", 2, [ENDED.format(EXITED)]),
    ("quick-exit.between", "", 2, [ENDED.format(EXITED)]),
    # By what no program can hear of itself; the launcher ends the others.
    ("_Exit.between", "", 3, [KILLED]),
    ("abort.between", "", 2, [KILLED]),
    ("kill.between", "", 3, [KILLED]),
    ("segv.before", "", 2, [KILLED]),
    ("term.after", "", 2, [KILLED]),
    # Functors of the user's.
    ("generator", "", 3, ["caught: EinDecomp: rank {last} of {n}: the generator of input A failed .no file"]),
    ("generator", "uncaught", 2, ["nobody caught .EinDecomp: rank {last} of {n}: the generator of input A failed .no file"]),
    ("functor", "", 1, ["rank 0 of 1 failed in run \\[.*\\], in statement D .the functor broke"]),
    ("functor", "", 3, ["rank {last} of {n} failed in run .*, in statement D .the functor broke"]),
    ("functor-large", "", 2, ["rank {last} of {n} failed in run .*, in statement D .the functor br"]),
    ("functor-int", "", 2, ["rank {last} of {n} failed in run .*, in statement D .unknown excepti"]),
    ("functor-alloc", "", 3, ["rank {last} of {n} failed in run .*, in statement D .std::bad_alloc"]),
    ("functor-kill", "", 3, [KILLED]),
    ("progress", "", 2, ["rank {last} of {n} failed in run .*, in statement [CD] .the disk is full"]),
    # By a disk that is full.
    ("trace-full", "", 3, [ENDED.format(BY_EXCEPTION),
                           "caught: EinDecomp: cannot write the trace to /dev/full .No space left"]),
    ("trace-full", "uncaught", 2, ["nobody caught .EinDecomp: cannot write the trace to /dev/full"]),
    # By one call more or less than the others.
    ("once-more", "", 2, ["ranks are in different calls .*rank 0: gather of D .*; rank 1: run "]),
    ("once-less", "", 3, ["ranks are in different calls .*rank 2: gather of D"]),
    ("more-solvers", "", 3, [r"rank 2 of 3 waits in " + MAKE + r" .* for rank \d, which " + BY_RETURN]),
    # By a call of something else, which waits for the others as they wait for it.
    ("executor-more", "", 2, [ELSEWHERE, "rank 0: " + RUN, "rank 1: " + MAKE]),
    ("executor-more", "", 4, [ELSEWHERE, "ranks 0, 1 and 2: " + RUN, "rank 3: " + MAKE]),
    ("executor-more", "own-mpi", 3, [ELSEWHERE, "ranks 0 and 1: " + RUN, "rank 2: " + MAKE]),
    ("share-plan", "", 3, [ELSEWHERE, "ranks 0 and 1: " + MAKE, "rank 2: share_plan"]),
    ("share-plan", "own-mpi", 2, [ELSEWHERE, "rank 0: " + MAKE, "rank 1: share_plan"]),
    ("pair", "", 4, [ELSEWHERE, "(in MPI_COMM_WORLD rank|ranks 0, 1 and) 2: " + RUN, "rank 3: " + MAKE]),
    ("other-run", "", 3, [ELSEWHERE, "ranks 0 and 1: " + RUN, "rank 2: " + RUN]),
    ("other-order", "", 3, [r"ranks wait for each other in the same call of different executors "
                            r"\(run \[.*ways.cpp:\d+\]\)"]),
    ("reversed", "own-mpi", 3, [ELSEWHERE, "ranks 0 and 1: " + RUN, "rank 2: " + MAKE]),
    # By standing still, which a time limit ends.
    ("still.before", "", 3, [ABSENT, MAKE, "in no call of this executor before"]),
    ("still.between", "", 2, [ABSENT, RUN, SEEN_IN.format(RUN)]),
    ("still.between", "", 4, [ABSENT, RUN, SEEN_IN.format(RUN)]),
    ("still.after", "", 3, [ABSENT, GATHER, SEEN_IN.format(RUN)]),
    ("still-functor", "", 2, [ABSENT, RUN, SEEN_IN.format(RUN)]),
    # In a program that starts and ends MPI itself.
    ("throw.between", "own-mpi", 3, [LEFT, "caught: the disk is full", RUN, "called MPI_Finalize"]),
    ("throw.after", "own-mpi", 2, [LEFT, "caught: the disk is full", GATHER, "called MPI_Finalize"]),
    ("more-solvers", "own-mpi", 3,
     [r"rank 2 of 3 waits in " + MAKE + r" .* for rank \d, which called MPI_Finalize"]),
    ("early-half", "own-mpi", 4,
     [r"rank 0 of 2 waits in run \[.*ways.cpp:\d+\] for rank 1, which called MPI_Finalize"]),
    ("reversed-throw", "own-mpi", 3,
     [r"rank \d of 3 waits in run \[.*ways.cpp:\d+\] for rank 0, which called MPI_Finalize"]),
    ("three-still", "first-limited", 4,
     [r"rank 0 of 3 has waited longer than the time limit of 1 s in run",
      r"rank 1 does not answer and was last seen in run", r"rank 2 waits in run"]),
    ("throw.before", "limited", 2, [ABSENT, MAKE, "in no call of this executor before"]),
    ("throw.between", "limited", 3, [LEFT, "caught: the disk is full", RUN, "called MPI_Finalize"]),
    ("still.before", "limited", 3, [ABSENT, MAKE, "in no call of this executor before"]),
    ("halves-still", "limited", 4,
     ["rank 0 of 2 has waited longer than the time limit of 1 s in " + MAKE,
      "rank 1 does not answer and was in no call of this executor before"]),
    ("still.after", "limited", 2, [ABSENT, GATHER, SEEN_IN.format(RUN)]),
    # Kokkos says so itself from version 4 on, where a space is made.
    ("no-kokkos", "own-mpi", 2,
     ["(caught: EinDecomp: rank {last} of {n}: Kokkos is not running|Kokkos.* has not been init)"]),
    ("no-mpi", "own-mpi", 1, [r"caught: EinDecomp: MPI is not running \(it was not initialised\)"]),
    ("late", "own-mpi", 2, [r"caught: EinDecomp: MPI is not running \(it was finalised already\)"]),
    # All alike: an orderly end, which none is blamed for.
    ("all-throw", "", 3, ["caught: the disk is full"]),
    ("all-exit", "", 3, ["Exit code: +3"]),
]


def expectations(way, how, ranks, said):
    """The regular expressions of one row of the table."""
    values = {"n": ranks, "last": ranks - 1}
    if said[0] == LEFT:
        pattern, caught, call, left = said
        return [pattern.format(call=call, how=left, **values), caught]
    if said[0] == ABSENT:
        pattern, call, seen = said
        return [pattern.format(call=call, seen=seen, **values)]
    if said[0] == ELSEWHERE:
        where = r" \[.*ways.cpp:\d+\]"
        return [rf"{ELSEWHERE} \({said[1]}{where}; {said[2]}{where}\); make the same calls"]
    return [re.sub(r"{(n|last)}", lambda m: str(values[m[1]]), pattern) for pattern in said]


def processes_with(marker, but=None):
    """The processes whose environment has the marker, but for one."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if pid == but or marker.encode() not in file.read():
                    continue
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(pid)
        except OSError:
            pass
    return found


def start(command, folder):
    """Runs a command in a folder. Returns its exit code, what it said, the time it took, and the
    processes that outlived it; the exit code is None if it did not end."""
    marker = "EINDECOMP_FAULTS_TEST=" + uuid.uuid4().hex
    name, value = marker.split("=")
    begin = time.monotonic()
    # Launchers of Open MPI that begin and end at a time trip over each other's common folder.
    with tempfile.TemporaryFile("w+", errors="replace") as output, \
            tempfile.TemporaryDirectory(prefix="ed", ignore_cleanup_errors=True) as session:
        launcher = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
            env={**os.environ, name: value, "OMPI_MCA_orte_tmpdir_base": session})
        alone = None  # since when the launcher is all that is left
        while time.monotonic() - begin < SECONDS:
            time.sleep(0.05)
            if launcher.poll() is not None and not processes_with(marker):
                break
            if processes_with(marker, launcher.pid):
                alone = None
            elif alone is None:
                alone = time.monotonic()
            elif time.monotonic() - alone > 3:
                # mpiexec of Open MPI 4.1 may wait for itself where MPI_Abort met MPI_Finalize.
                launcher.kill()
                launcher.wait()
        code = launcher.poll()
        took = time.monotonic() - begin
        left = processes_with(marker)
        for pid in left:
            os.kill(pid, 9)
        launcher.wait()
        output.seek(0)
        return code, output.read(), took, left


def check(name, command, folder, wanted):
    """What is wrong with how a command ends; empty if nothing. `wanted` None: all goes well."""
    code, said, took, left = start(command, folder)
    said = re.sub(r"\s*\n\s*", " ", said) if wanted is not None else said
    said += f" Exit code: {code}"  # not every launcher says so
    faults = []
    if code is None:
        faults.append(f"it did not end within {SECONDS} s")
    elif left:
        faults.append(f"processes {left} outlived it")
    if wanted is None:
        if code != 0:
            faults.append(f"exit code {code}")
    else:
        if code == 0:
            faults.append("exit code 0")
        faults += [f"it does not say '{p}'" for p in wanted if not re.search(p, said)]
        if re.search("all-", name) and "EinDecomp" in said:
            faults.append("the library blames somebody")
        if said.count("the program ends on all ranks") > 2:
            faults.append("it says so many times")
    print(f"{'FAILED' if faults else 'ok':6} {took:5.1f} s  {name}", flush=True)
    return "".join(f"\n  {name}: {fault}" for fault in faults) + (f"\n{said}\n" if faults else "")


def main():
    ways, example, mpiexec, *options = sys.argv[1:]
    jobs = []
    for way, how, ranks, said in WAYS:
        command = [mpiexec, "-n", str(ranks), *options, ways, way] + ([how] if how else [])
        wanted = None if said is None else expectations(way, how, ranks, said)
        if way.startswith("_Exit") and "mpich" in mpiexec:
            wanted = [f"({wanted[0]}|Exit code: 5)"]  # of which that launcher may say nothing more
        jobs.append((f"{way} {how} ({ranks} ranks)", command, None, wanted))
    # An example of which one rank alone is told something wrong.
    for wrong, wanted in [(["--images", "/dev/null"], "rank 1 of 2: .*/dev/null"),
                          (["--images", "/nowhere"], "File does not exist: /nowhere"),
                          (["--nonsense"], "--nonsense"), (["--runs", "0"], "--runs")]:
        if example == ways:
            break  # the build has no examples
        jobs.append((f"{os.path.basename(example)} {' '.join(wrong)} (rank 1 of 2)",
                     [mpiexec, *options, "-n", "1", example, ":", "-n", "1", example, *wrong],
                     os.path.dirname(os.path.dirname(example)), [wanted]))
    if os.environ.get("WAY"):  # only those, by hand
        jobs = [job for job in jobs if os.environ["WAY"] in job[0]]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda job: check(*job), jobs))
    print(f"{len(jobs)} ways, {sum(map(bool, found))} failed")
    sys.exit("".join(found) or 0)


if __name__ == "__main__":
    main()
