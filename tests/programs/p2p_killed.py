#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""p2p_killed.py MPIEXEC PROGRAM: what could go wrong when a rank is killed in the middle of a push, of a pull, of a
copy by the kernel or in mapped memory, or between two: the others hang, the message does not name rank and signal,
the exit code hides it, it takes longer than a second, or something is left in /dev/shm."""
import glob
import os
import re
import subprocess
import sys
import time

MPIEXEC, PROGRAM = sys.argv[1:3]
LIMIT = 60  # generous: only a hang exceeds it
NOTICED = 1.0  # seconds from the death to the end of the job
TRIES = 3  # a machine may be busy once
CASES = (('push', {}), ('receiver', {}), ('sender', {}), ('receiver', {'HERALD_CMA': 'off'}),
         ('sender', {'HERALD_CMA': 'off'}), ('sender', {'HERALD_PROGRESS': 'thread'}), ('mapped', {}), ('between', {}))


def complaints(job, took):
    if job.returncode != 128 + 9:
        yield f'exit code {job.returncode}'
    if not re.search(r'rank 1 .*signal 9', job.stderr):
        yield f'it says {job.stderr!r}'
    name = re.search(r'^job (\S+)$', job.stdout, re.M)
    if name is None or glob.glob(f'/dev/shm/*{name.group(1)}*'):
        yield 'something is left in /dev/shm, or the job has no name'
    if took is None:
        yield f'no rank printed when it died: {job.stdout!r}'


def run(what, setting):
    """Complaints, and the seconds from the death to the end of the job."""
    job = subprocess.run([MPIEXEC, '-n', '3', PROGRAM, what], capture_output=True, text=True, timeout=LIMIT, check=False,
                         stdin=subprocess.DEVNULL, env={**os.environ, **setting})
    over = time.monotonic()
    died = re.search(r'^died (\S+)$', job.stdout, re.M)
    took = over - float(died.group(1)) if died else None
    return list(complaints(job, took)), took


def case(what, setting):
    for _ in range(TRIES):
        wrong, took = run(what, setting)
        print(f'{what} {setting or ""}: ' + ('; '.join(wrong) or f'over after {took:.3f} s'))
        if wrong:
            return False
        if took < NOTICED:
            return True
    print(f'{what} {setting or ""}: noticed too late, {TRIES} times')
    return False


sys.exit(sum(not case(what, setting) for what, setting in CASES))
