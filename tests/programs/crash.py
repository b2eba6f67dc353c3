#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""crash.py MPIEXEC PROGRAM: what a rank leaves when a signal ends it.
What could go wrong: text that it printed is lost, or comes only at the end; no backtrace; the summary of mpiexec stands
before it, or names another signal; no timeline of the rank, or of those that mpiexec ends then."""
import os
import re
import signal
import subprocess
import sys
import tempfile

MPIEXEC, PROGRAM = sys.argv[1:3]
LIMIT = 100


def expect(condition, what, output):
    if not condition:
        sys.exit(f"failed: {what} in:\n{output}")


def run(case, **variables):
    job = subprocess.run([MPIEXEC, "-n", "2", PROGRAM, case], capture_output=True, text=True, timeout=LIMIT,
                         env=os.environ | variables)
    return job, job.stdout + job.stderr


def test_crash(case, number, name):
    job, output = run(case)
    expect("a whole line\nlast words" in job.stdout, "not all that rank 1 printed", output)
    expect(re.search(rf"herald: rank 1 on \S+: signal {number} \({name}\).*; backtrace:\n(?:.*\n)*.*/crash\(", job.stderr),
           f"no backtrace of signal {number}", output)
    expect(re.fullmatch(rf"mpiexec: rank 1 .*ended by signal {number} .*", job.stderr.splitlines()[-1]),
           "mpiexec's summary is not the last line", output)
    expect(job.returncode == 128 + number, f"exit code {job.returncode}", output)


def test_timelines():
    with tempfile.TemporaryDirectory() as folder:
        _, output = run("segv", HERALD_TRACE=folder + "/%r.json")
        for rank in (0, 1):
            path = f"{folder}/{rank}.json"
            expect(os.path.exists(path) and "MPI" in open(path).read(), f"no timeline of rank {rank}", output)


def test_lines_come_at_once():
    job = subprocess.Popen([MPIEXEC, "-n", "2", PROGRAM, "wait"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    signal.alarm(LIMIT)  # without the line there is nothing to read until the end
    expect(job.stdout.readline() == "a whole line\n", "no line of a rank that waits", "")
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=LIMIT)


test_crash("segv", signal.SIGSEGV, "Segmentation fault")
test_crash("abort", signal.SIGABRT, "Aborted")
test_timelines()
test_lines_come_at_once()
print("passed")
