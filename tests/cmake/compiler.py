# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a file as CMake would compile another one."""

import json
import os
import shlex
import subprocess
import sys


def add_arguments(parser):
    parser.add_argument("--database", required=True, help="compile_commands.json")
    parser.add_argument("--like", required=True, help="the source file whose flags are taken")


def command_like(database, like):
    """The compile command of a source file, without the file and its output."""
    with open(database) as file:
        entries = json.load(file)
    for entry in entries:
        if os.path.realpath(os.path.join(entry["directory"], entry["file"])) == os.path.realpath(like):
            break
    else:
        sys.exit(f"{database} has no entry for {like}: run CMake again")
    command, words = [], iter(shlex.split(entry["command"]))
    for word in words:
        if word == "-o":
            next(words)
        elif word != "-c" and word != entry["file"]:
            command.append(word)
    return command, entry["directory"]


def check_syntax(arguments, source, *flags):
    """Compiles without writing an object file; returns (accepted, what the compiler said)."""
    command, directory = command_like(arguments.database, arguments.like)
    result = subprocess.run(
        [*command, "-fsyntax-only", "-fdiagnostics-color=never", *flags, source],
        cwd=directory, env={**os.environ, "LC_ALL": "C"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return result.returncode == 0, result.stdout
