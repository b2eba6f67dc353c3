#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run MPI programs under a launcher.

    run.py --launcher openmpi|hydra|hydra-port|slurm-pmix|slurm-pmi2|herald -n N [--timeout S] -- PROGRAM ARGS
        one job; returns its output and exit code; 124 after a timeout
    run.py --launcher NAME --suite FILE.json
        every job of a file that the CMake function herald_launcher_tests() wrote
    run.py --launcher NAME --probe BOOT_PROBE
        start and end of processes: exchange, repetition, failures

Slurm and munge are started for this run in a private directory and ended with it. Exit code 77, with the
reason, if the launcher is not available. Needs only Python's standard library.
"""
import argparse
import sys

sys.dont_write_bytecode = True  # no files in the source tree

import cases  # noqa: E402
import session  # noqa: E402
from launchers import LAUNCHERS, CannotStart  # noqa: E402

SKIPPED = 77
TIMED_OUT = 124


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launcher", required=True, choices=LAUNCHERS)
    parser.add_argument("--mpiexec", help="Herald's mpiexec, for --launcher herald")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="ranks")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds that a single job may take")
    parser.add_argument("--repeats", type=int, default=20, help="repetitions in --probe")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--suite", metavar="FILE")
    what.add_argument("--probe", metavar="PROGRAM")
    parser.add_argument("program", nargs="*", metavar="PROGRAM ARGS", help="after --")
    options = parser.parse_args(arguments)
    if bool(options.program) == bool(options.suite or options.probe):
        parser.error("give one of --suite, --probe, or a program after --")
    if options.n < 1:
        parser.error(f"-n {options.n}: the number of ranks is at least 1")
    return options


def run_one(launcher, directory, options):
    result = session.run_job(launcher.command(options.n, options.program), launcher.environment, directory,
                             options.timeout, stdin=None, echo=True)
    for left in result.leftovers:
        print(f"run.py: processes that remained and were killed: {left}", file=sys.stderr)
    if result.timed_out:
        print(f"run.py: stopped after {options.timeout:g} s", file=sys.stderr)
        return TIMED_OUT
    return result.code if result.code >= 0 else 128 - result.code


def main(options, directory):
    try:
        with LAUNCHERS[options.launcher](directory, options.mpiexec) as launcher:
            if options.suite:
                return cases.run_cases(launcher, directory, cases.suite_cases(options.suite))
            if options.probe:
                return cases.run_cases(launcher, directory, cases.probe_cases(options.probe, repeats=options.repeats))
            return run_one(launcher, directory, options)
    except CannotStart as reason:
        print(f"skipped: {options.launcher}: {reason}", flush=True)
        return SKIPPED


if __name__ == "__main__":
    chosen = parse(sys.argv[1:])
    sys.exit(session.guarded(lambda directory: main(chosen, directory)))
