#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""job_stopped.py MPIEXEC PROGRAM: what could go wrong when all ranks of a job on several hosts are stopped for longer
than the detection time and then go on (a queue that suspends jobs, a machine that sleeps): the first to run declares the
others dead."""
import contextlib
import os
import signal
import subprocess
import sys
import time

MPIEXEC, PROGRAM = sys.argv[1:3]
SETTING = {'HERALD_IF': 'lo', 'HERALD_DETECT_MS': '3000'}  # far longer than the first to run waits for the last


def ranks_of(pid):
    """The processes below mpiexec that run the program."""
    found = []
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        for child in file.read().split():
            if os.path.realpath(f'/proc/{child}/exe') == os.path.realpath(PROGRAM):
                found.append(int(child))
            found += ranks_of(child)
    return found


with subprocess.Popen([MPIEXEC, '-n', '4', '--pretend-hosts', '1', PROGRAM, '9', '20000'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      text=True, stdin=subprocess.DEVNULL, env={**os.environ, **SETTING}) as job:
    begun = job.stdout.readline()
    ranks = ranks_of(job.pid)
    for rank in ranks:
        os.kill(rank, signal.SIGSTOP)
    time.sleep(6)
    for rank in ranks:  # one begins long before the last
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank, signal.SIGCONT)
        time.sleep(0.2)
    output = job.communicate(timeout=100)[0]
print(begun + output)
if 'started' not in begun or len(ranks) != 4:
    sys.exit(f'{len(ranks)} ranks were stopped')
sys.exit(job.returncode)
