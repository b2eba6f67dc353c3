#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""p2p_killed.py MPIEXEC PROGRAM: what could go wrong when a rank is killed in the middle of a push, of a pull, of a
copy by the kernel or in mapped memory, or between two: the others hang, the message does not name rank and signal,
the exit code hides it, or something is left in /dev/shm."""
import glob
import os
import re
import subprocess
import sys
import time

MPIEXEC, PROGRAM = sys.argv[1:3]
LIMIT = 60  # generous: only a hang exceeds it
CASES = (('push', {}), ('receiver', {}), ('sender', {}), ('receiver', {'HERALD_CMA': 'off'}),
         ('sender', {'HERALD_CMA': 'off'}), ('sender', {'HERALD_PROGRESS': 'thread'}), ('mapped', {}), ('between', {}))

failed = 0
for what, setting in CASES:
    begin = time.monotonic()
    job = subprocess.run([MPIEXEC, '-n', '3', PROGRAM, what], capture_output=True, text=True, timeout=LIMIT, check=False,
                         stdin=subprocess.DEVNULL, env={**os.environ, **setting})
    took = time.monotonic() - begin
    name = re.search(r'^job (\S+)$', job.stdout, re.M)
    complaints = []
    if job.returncode != 128 + 9:
        complaints.append(f'exit code {job.returncode}')
    if not re.search(r'rank 1 .*signal 9', job.stderr):
        complaints.append(f'it says {job.stderr!r}')
    if name is None or glob.glob(f'/dev/shm/*{name.group(1)}*'):
        complaints.append('something is left in /dev/shm, or the job has no name')
    print(f'{what} {setting or ""}: {took:.2f} s, ' + ('; '.join(complaints) or 'good'))
    failed += bool(complaints)
sys.exit(failed)
